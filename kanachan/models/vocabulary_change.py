"""Starts a network for one vocabulary from weights for another.

An embedding row is copied if the other vocabulary has a row of the same meaning. Tensors that do not depend on the
vocabulary are copied unchanged.

Shapes: N rows of an embedding.
"""

from collections.abc import Hashable, Mapping, Sequence

import torch
from torch import Tensor

from annotate.vocabulary import Vocabulary
from kanachan.data.batch import TokenLayout
from kanachan.models.relative_suits import averaged

_TOKENS, _CANDIDATES = "token_embedding.weight", "candidate_embedding.weight"
_POSITIONS, _NUMBERS = "position_embedding.weight", "number_weight"
_SHARED = {_TOKENS: "suits.shared_N", _CANDIDATES: "candidate_suits.shared_N"}
"""tensors that map each token to its row of the embedding"""


class VocabularyChange:
    """Maps embedding rows for one vocabulary to rows of the same meaning for another, or for the same one. Seats are
    counted from the actor, so that the last of three has the same meaning as the last of four: to the actor's left."""

    def __init__(self, old: Vocabulary, new: Vocabulary) -> None:
        self.old, self.new = old, new

    def tensors(self, given: Mapping[str, Tensor], current: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Returns the tensors of an encoder or a decoder for the new vocabulary: the `given` ones for the old
        vocabulary, with rows of a new network (`current`) where the old vocabulary or `given` has no counterpart."""
        old_rows, new_rows = self._meanings(self.old), self._meanings(self.new)
        taken = dict(given) | {name: t for name, t in current.items() if name.endswith(("shared_N", "suit_N"))}
        for name in old_rows.keys() & given.keys() & current.keys():
            if len(given[name]) != len(old_rows[name]):
                continue  # contradicts the card: loading the tensors will fail
            shared, old = _SHARED.get(name, ""), given[name]
            if shared in given:
                if self.old is self.new and old.shape == current[name].shape:
                    continue
                old = old[given[shared].long()]
            source_N, rows = _sources(old_rows[name], new_rows[name]), current[name].detach().clone()
            rows[source_N >= 0] = old[source_N[source_N >= 0]].to(rows)
            if shared in current:
                rows = averaged(rows, current[shared].long(), source_N >= 0)
            taken[name] = rows
        return taken

    def _meanings(self, vocabulary: Vocabulary) -> dict[str, Sequence[Hashable]]:
        """Returns the meanings of the rows of all tensors that depend on the vocabulary, by the tensors' names in
        encoder and decoder."""
        layout = TokenLayout(vocabulary)
        seats = vocabulary.seat_meanings
        score_of = {f"score_{seat}": ("score", meaning) for seat, meaning in enumerate(seats)}
        numbers: list[Hashable] = [score_of.get(name, name) for name in vocabulary.numeric]
        return {
            _TOKENS: layout.meanings(),
            _CANDIDATES: layout.candidate_meanings(),
            _POSITIONS: range(vocabulary.max_progression),
            _NUMBERS: numbers,
            "scale_N": numbers,
            "place_embedding.weight": ["table", *seats],
        }


def _sources(old: Sequence[Hashable], new: Sequence[Hashable]) -> Tensor:
    """Returns source_N: the old row of each new row, -1 if there is none."""
    place = {meaning: row for row, meaning in enumerate(old)}
    return torch.tensor([place.get(meaning, -1) for meaning in new])
