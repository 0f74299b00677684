"""Suits as relations: a network sees which tiles have the same suit, but never which suit it is.

Exchanging suits changes only the names of tiles in a situation. Tokens that differ only in the suit therefore share an
embedding, and suits appear only in attention. The first numbers of a head's key are the one-hot suit of its token; the
first numbers of the query are the one-hot suit of its token times a learned factor. This shifts the attention scores
between tokens of the same suit. The network is exactly invariant, and each decision teaches it about all suits.

Shapes: P permutations of the suits, N tokens, C suits that can be exchanged, else as in kanachan.models.attention.
"""

from functools import cache

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from annotate.vocabulary import Vocabulary
from kanachan.data.batch import TokenLayout
from kanachan.data.symmetry import suit_permutations
from kanachan.models.attention import AttentionBackend

FACTOR = 8.0
"""multiplies the outputs of the factor layers, so that factors learn fast enough at the common learning rate"""
FIRST_FACTORS = (1.5, -0.75)
"""initial factors of the first and the last head: from attention mostly within the suit to attention to other suits"""


class RelativeSuits(nn.Module):
    """The suits of tokens. `table_PN`: the token that each token becomes in each permutation."""

    shared_N: Tensor
    """the token whose embedding is shared by all tokens that differ only in the suit"""
    suit_N: Tensor
    """0 ... C - 1; -1: none"""

    def __init__(self, table_PN: NDArray[np.int64], num_seats: int) -> None:
        super().__init__()
        sorted_PN = np.sort(table_PN, axis=0)
        is_first_PN = np.diff(sorted_PN, axis=0, prepend=-1) > 0  # of equal tokens
        num_distinct_N = is_first_PN.sum(axis=0)
        place_N = (is_first_PN & (sorted_PN < np.arange(table_PN.shape[1]))).sum(axis=0)
        # part of the weights, as `Encoder.scale_N`
        self.register_buffer("shared_N", torch.tensor(sorted_PN[0], dtype=torch.int32))
        self.register_buffer("suit_N", torch.tensor(np.where(num_distinct_N > 1, place_N, -1), dtype=torch.int32))
        self.num_suits = int(num_distinct_N.max())
        self._num_seats = num_seats

    def shared(self, token: Tensor) -> Tensor:
        return self.shared_N[token.long()]

    def of(self, token: Tensor) -> Tensor:
        """Returns the suits one-hot, [..., C]; zeros for none."""
        suit = self.suit_N[token.long()][..., None]
        return (suit == torch.arange(self.num_suits, device=suit.device)).float()

    def rows(self, backend: AttentionBackend, num_decisions: int) -> Tensor:
        """Returns suit_XC of all encoded vectors; zeros for the summary and the seats."""
        tile, event = self.of(backend.tiles), self.of(backend.events)
        none_BPC = tile.new_zeros(num_decisions, self._num_seats, self.num_suits)
        return backend.rows(none_BPC[:, 0], none_BPC, tile, event)


def averaged(row_ND: Tensor, shared_N: Tensor, is_known_N: Tensor) -> Tensor:
    """Averages embeddings of single tokens as a start for shared embeddings (`shared_N`): each is the mean of the known
    embeddings that it replaces, or stays unchanged if none is known."""
    known_N = is_known_N.to(row_ND)
    count_N = torch.zeros_like(known_N).index_add(0, shared_N, known_N)[shared_N]
    sum_ND = torch.zeros_like(row_ND).index_add(0, shared_N, row_ND * known_N[:, None])[shared_N]
    return torch.where(count_N[:, None] > 0, sum_ND / count_N.clamp(min=1)[:, None], row_ND)


def suits_of_tokens(layout: TokenLayout) -> RelativeSuits:
    return RelativeSuits(_permuted_tokens(layout.vocabulary), layout.vocabulary.num_seats)


def suits_of_candidates(layout: TokenLayout) -> RelativeSuits:
    action_PN = suit_permutations(layout.vocabulary).action.astype(np.int64)
    return RelativeSuits(np.pad(action_PN + 1, ((0, 0), (1, 0))), layout.vocabulary.num_seats)


@cache
def _permuted_tokens(vocabulary: Vocabulary) -> NDArray[np.int64]:
    return TokenLayout(vocabulary).permuted(suit_permutations(vocabulary))


def suits_of_heads(suit: Tensor, heads: int, factor: Tensor | None = None) -> Tensor:
    """Repeats suits [..., C] for the heads of keys, [..., H, C]; with factors [..., H], for the heads of queries."""
    of_heads = suit[..., None, :].expand(*suit.shape[:-1], heads, suit.shape[-1])
    return of_heads if factor is None else of_heads * (FACTOR * factor)[..., None]


def write_suits(vectors: Tensor, num_vectors: int, *suits: Tensor) -> None:
    """Writes suits [..., H, C] in place into the first numbers of each head. `vectors` [..., N D] are N = `num_vectors`
    concatenated vectors; each of `suits` is written to one of them, starting with the first."""
    heads, num_suits = suits[0].shape[-2:]
    head = vectors.view(*vectors.shape[:-1], num_vectors, heads, -1)
    head[..., : len(suits), :, :num_suits] = torch.stack(suits, dim=-3).to(vectors.dtype)
