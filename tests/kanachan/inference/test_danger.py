"""The danger of discards: the weight of waits against plain loops, safe tiles, and the estimate."""

from dataclasses import replace

import pytest
import torch

from annotate.annotation import Annotation
from annotate.vocabulary import FOUR_PLAYERS, NUM_TILES34, tile34_of
from kanachan.config import MODEL_SIZES, ObjectiveConfig
from kanachan.data.columns import columns_of_annotations
from kanachan.inference.danger import Danger, estimate_danger, predicts_danger, public_of, wait_weight
from kanachan.inference.policy import Policy
from kanachan.objectives.networks import build_network
from tests.support.random_annotations import altered, random_annotations, seat_of

V = FOUR_PLAYERS
DISCARD = V.progression["discard"]
HEADS = ObjectiveConfig(hidden_hands=1.0, round_winner=0.3)
MAN_5, MAN_8, EAST = 5, 8, 30


def policy_of(config: ObjectiveConfig = HEADS) -> Policy:
    torch.manual_seed(0)
    network, objective = build_network("imitation", MODEL_SIZES["tiny"], config, V)
    return Policy(network, objective)


def slow_weight(one: list[float], pair: list[float], kind: int) -> float:
    """The weight of the waits on one kind, shape by shape."""
    weight = pair[kind]
    if kind >= 27:
        return weight
    first = kind - kind % 9

    def held(rank: int) -> float:
        return one[first + rank] if 0 <= rank <= 8 else 0.0

    rank = kind % 9
    weight += held(rank + 1) * held(rank + 2) * (0.5 if rank == 6 else 1.0)
    weight += held(rank - 1) * held(rank - 2) * (0.5 if rank == 2 else 1.0)
    return weight + 0.5 * held(rank - 1) * held(rank + 1)


def discard(seat: int, tile: int, *, riichi: bool = False) -> int:
    return DISCARD.token(seat, tile, 0, int(riichi))


def seen(*events: int) -> Annotation:
    """A decision of seat 0 after these events."""
    annotation = next(a for a in random_annotations(40, seed=3) if seat_of(a) == 0)
    return altered(annotation, progression=(0, *events))


def safe_kinds(annotation: Annotation) -> list[set[int]]:
    """The kinds that are safe against the next, the opposite and the previous seat."""
    public = public_of(columns_of_annotations([annotation], V), V)
    return [set(kinds.nonzero().flatten().tolist()) for kinds in public.is_safe_BHK[0]]


def test_the_weight_of_waits_is_the_sum_over_the_shapes_that_wait_on_a_tile() -> None:
    held = torch.rand(5, 3, NUM_TILES34, 3, generator=torch.Generator().manual_seed(0))
    weights = wait_weight(held)
    for decision in range(5):
        for seat in range(3):
            one, pair = held[decision, seat, :, 0].tolist(), held[decision, seat, :, 1].tolist()
            expected = [slow_weight(one, pair, kind) for kind in range(NUM_TILES34)]
            assert weights[decision, seat].tolist() == pytest.approx(expected, rel=1e-5)


def test_a_discard_is_safe_against_its_seat_and_against_seats_without_a_turn_since_then() -> None:
    five, east = tile34_of(MAN_5), tile34_of(EAST)
    assert safe_kinds(seen(discard(1, MAN_5), discard(2, EAST))) == [{five, east}, {east}, {five, east}]


def test_every_discard_after_a_riichi_is_safe_against_the_riichi() -> None:
    found = safe_kinds(seen(discard(1, EAST), discard(2, EAST, riichi=True), discard(3, MAN_8), discard(2, MAN_5)))
    assert found[1] == {tile34_of(EAST), tile34_of(MAN_8), tile34_of(MAN_5)}


def test_safe_tiles_have_no_danger_and_the_others_a_probability() -> None:
    annotations = random_annotations(20, seed=5)
    columns = columns_of_annotations(annotations, V)
    found, safe = estimate_danger(policy_of(), columns), public_of(columns, V).is_safe_BHK
    assert (found.deal_in_BHK[safe] == 0).all()
    assert ((found.deal_in_BHK[~safe] > 0) & (found.deal_in_BHK[~safe] < 1)).all()
    assert (found.deal_in_BK >= found.deal_in_BHK.amax(dim=1) - 1e-6).all()
    assert found.win_BO.sum(dim=1).tolist() == pytest.approx([1.0] * 20)


def test_a_discard_deals_in_to_anybody() -> None:
    found = Danger(torch.tensor([[[0.1, 1e-9], [0.2, 0.0], [0.0, 0.0]]]), torch.ones(1, 5), torch.ones(1, 3))
    assert found.deal_in_BK.tolist() == [[pytest.approx(0.28), pytest.approx(1e-9)]]


def test_a_riichi_makes_unsafe_tiles_more_dangerous() -> None:
    quiet, declared = seen(discard(2, EAST)), seen(discard(2, EAST, riichi=True))
    policy = policy_of()
    policy.network.encoder.token_embedding.weight.data.zero_()  # the same hands and winner are predicted in both
    before, after = (estimate_danger(policy, columns_of_annotations([a], V)) for a in (quiet, declared))
    unsafe = tile34_of(MAN_8)
    assert after.deal_in_BHK[0, 1, unsafe] > before.deal_in_BHK[0, 1, unsafe]
    assert after.deal_in_BHK[0, 0, unsafe] <= before.deal_in_BHK[0, 0, unsafe]  # this seat wins less often


def test_melds_raise_the_chance_to_win_and_the_riichi_of_another_seat_lowers_it() -> None:
    policy = policy_of()
    policy.network.encoder.token_embedding.weight.data.zero_()  # the same hands and winner are predicted in all
    pon = V.progression["pon"].token(1, 0, EAST)
    quiet, called, declared = (
        estimate_danger(policy, columns_of_annotations([seen(discard(2, EAST, riichi=riichi), *more)], V))
        for riichi, more in ((False, ()), (False, (pon,)), (True, ()))
    )
    assert declared.win_BO[0, 1] < quiet.win_BO[0, 1] < called.win_BO[0, 1]
    assert declared.win_BO[0, 2] > quiet.win_BO[0, 2]
    assert quiet.tenpai_BH[0, 0] < called.tenpai_BH[0, 0] < declared.tenpai_BH[0, 1] == 1


@pytest.mark.parametrize("missing", ["hidden_hands", "round_winner"])
def test_a_network_without_one_of_the_heads_predicts_no_danger(missing: str) -> None:
    assert predicts_danger(policy_of())
    assert not predicts_danger(policy_of(replace(HEADS, **{missing: 0.0})))
