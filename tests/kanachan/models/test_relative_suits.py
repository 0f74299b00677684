"""Networks that know suits only by their relation to each other."""

from pathlib import Path

import numpy as np
import pytest
import torch

from annotate.vocabulary import FOUR_PLAYERS, THREE_PLAYERS, Vocabulary
from kanachan.data.batch import Batch, TokenLayout, with_varlen_layout
from kanachan.data.columns import columns_of_annotations
from kanachan.data.symmetry import suit_permutations
from kanachan.inference.policy import Policy
from kanachan.models.relative_suits import RelativeSuits, suits_of_candidates, suits_of_tokens
from kanachan.models.vocabulary_change import VocabularyChange
from tests.support.random_annotations import random_annotations
from tests.support.three_players import decisions_of_three
from tests.support.tiny_weights import written

VOCABULARIES = pytest.mark.parametrize("vocabulary", [FOUR_PLAYERS, THREE_PLAYERS], ids=lambda each: each.name)


@VOCABULARIES
@torch.inference_mode()
def test_outputs_are_the_same_in_every_permutation_of_the_suits(vocabulary: Vocabulary, tmp_path: Path) -> None:
    annotations = random_annotations(20, seed=1) if vocabulary is FOUR_PLAYERS else decisions_of_three(20)
    policy = Policy.load(written(tmp_path, "round_delta", vocabulary=vocabulary))
    columns, tables = columns_of_annotations(annotations, vocabulary), suit_permutations(vocabulary)
    outputs = [
        policy.network(policy.batch(tables.apply(columns, np.full(20, number))))
        for number in range(len(vocabulary.suit_orders))
    ]
    assert outputs[0].candidate_BAK[outputs[0].mask_BA].std() > 0.1
    for output in outputs[1:]:
        torch.testing.assert_close(output.candidate_BAK, outputs[0].candidate_BAK, rtol=0, atol=1e-6)
        torch.testing.assert_close(output.summary_BK, outputs[0].summary_BK, rtol=0, atol=1e-6)


@VOCABULARIES
def test_a_permutation_moves_all_tokens_of_a_suit_to_one_suit(vocabulary: Vocabulary) -> None:
    layout, tables = TokenLayout(vocabulary), suit_permutations(vocabulary)
    candidate_PN = np.pad(tables.action.astype(np.int64) + 1, ((0, 0), (1, 0)))
    for suits, moved_PN in (
        (suits_of_tokens(layout), layout.permuted(tables)),
        (suits_of_candidates(layout), candidate_PN),
    ):
        assert isinstance(suits, RelativeSuits) and suits.num_suits == (3 if vocabulary is FOUR_PLAYERS else 2)
        for moved_N in torch.from_numpy(moved_PN):
            pairs = {(int(a), int(b)) for a, b in zip(suits.suit_N, suits.suit_N[moved_N], strict=True)}
            assert len(pairs) == 1 + suits.num_suits
            assert torch.equal(suits.shared_N, suits.shared_N[moved_N])


@pytest.mark.parametrize("vocabularies", [(FOUR_PLAYERS, THREE_PLAYERS), (THREE_PLAYERS, FOUR_PLAYERS)])
def test_for_another_number_of_players_a_shared_row_is_the_mean_of_the_old_rows(
    vocabularies: tuple[Vocabulary, Vocabulary], tmp_path: Path
) -> None:
    old, new = (
        Policy.load(written(tmp_path / each.name, vocabulary=each, seed=seed)).network.encoder
        for seed, each in enumerate(vocabularies)
    )
    found = VocabularyChange(*vocabularies).tensors(old.state_dict(), new.state_dict())
    theirs, ours = (TokenLayout(each).meanings() for each in vocabularies)
    assert torch.equal(found["suits.suit_N"], new.suits.suit_N)
    row_of = {meaning: old.token_embedding.weight[row] for meaning, row in zip(theirs, old.suits.shared_N, strict=True)}
    for token in new.suits.shared_N.unique().tolist():
        sharing = (new.suits.shared_N == token).nonzero().flatten().tolist()
        known = [row_of[ours[each]] for each in sharing if ours[each] in row_of]
        if known:
            mean = torch.stack(known).mean(dim=0)
            torch.testing.assert_close(found["token_embedding.weight"][token], mean, rtol=0, atol=1e-6)


@VOCABULARIES
@torch.inference_mode()
def test_hidden_hands_are_permuted_with_the_suits_and_equal_when_padded_and_packed(
    vocabulary: Vocabulary, tmp_path: Path
) -> None:
    annotations = random_annotations(20, seed=1) if vocabulary is FOUR_PLAYERS else decisions_of_three(20)
    weights = written(tmp_path, vocabulary=vocabulary, hidden_hands=1.0, round_winner=1.0)
    policy = Policy.load(weights)
    columns, tables = columns_of_annotations(annotations, vocabulary), suit_permutations(vocabulary)
    targets = policy.objective.auxiliary

    def auxiliary(batch: Batch) -> torch.Tensor:
        found = policy.network.auxiliary(policy.network.encoded(batch))
        assert found is not None
        return found

    def outputs(number: int) -> dict[str, torch.Tensor]:
        return targets.outputs(auxiliary(policy.batch(tables.apply(columns, np.full(20, number)))))

    first = outputs(0)
    packed = auxiliary(with_varlen_layout(policy.batch(columns), TokenLayout(vocabulary)))
    torch.testing.assert_close(packed, torch.cat(tuple(first.values()), dim=1), rtol=0, atol=5e-5)
    held_BHKL = first["hidden_hands"].view(20, vocabulary.num_seats - 1, 34, -1)
    assert held_BHKL.std(dim=2).mean() > 0.01
    for number, order in enumerate(vocabulary.suit_orders):
        moved = outputs(number)
        kinds = [9 * order[kind // 9] + kind % 9 if kind < 27 else kind for kind in range(34)]
        moved_BHKL = moved["hidden_hands"].view_as(held_BHKL)[:, :, kinds]
        torch.testing.assert_close(moved_BHKL, held_BHKL, rtol=0, atol=5e-5)
        torch.testing.assert_close(moved["round_winner"], first["round_winner"], rtol=0, atol=5e-5)
