"""Outputs for each kind of tile, in a network whose summary contains no suits (`kanachan.models.relative_suits`).

The kinds are queries, each with its suit, that attend to the situation. Kinds that differ only in the suit share an
embedding.

Shapes: K kinds of tiles, H other seats, L outputs per seat and kind, O all outputs, else as in
kanachan.models.attention.
"""

import numpy as np
import torch
from torch import Tensor, nn

from annotate.vocabulary import NUM_SUITS, NUM_TILES34, RANKS_PER_SUIT
from kanachan.config import ModelConfig
from kanachan.data.batch import TokenLayout
from kanachan.models.attention import AttentionBackend
from kanachan.models.blocks import CrossAttention, FeedForward, initialise
from kanachan.models.relative_suits import RelativeSuits, suits_of_tokens


class KindsHead(nn.Module):
    """A head with `num_outputs` outputs. The first H x K x `num_of_kind` are for each other seat and kind, in this
    order; the rest are computed from the summary."""

    def __init__(self, config: ModelConfig, layout: TokenLayout, num_of_kind: int, num_outputs: int) -> None:
        super().__init__()
        vocabulary = layout.vocabulary
        kind_K = np.arange(NUM_TILES34)
        suit_K, rank_K = np.divmod(kind_K, RANKS_PER_SUIT)
        moved = [np.array([*order, NUM_SUITS])[suit_K] * RANKS_PER_SUIT + rank_K for order in vocabulary.suit_orders]
        self.suits = suits_of_tokens(layout)
        self.kinds = RelativeSuits(np.stack(moved), vocabulary.num_seats)
        self._num_others = vocabulary.num_seats - 1
        self.embedding = nn.Embedding(NUM_TILES34, config.width)
        self.from_summary = nn.Linear(config.width, config.width)
        self.attention = CrossAttention(config)
        self.feedforward = FeedForward(config)
        self.norm = nn.LayerNorm(config.width)
        self.of_kinds = nn.Linear(config.width, self._num_others * num_of_kind)
        num_of_summary = num_outputs - self._num_others * NUM_TILES34 * num_of_kind
        self.of_summary = nn.Linear(config.width, num_of_summary) if num_of_summary else None
        initialise(self, num_residuals=3)

    def forward(self, encoded_XD: Tensor, backend: AttentionBackend) -> Tensor:
        """Returns the outputs of each decision, [B, O]."""
        summary_BD = backend.summary(encoded_XD)
        kind_K = torch.arange(NUM_TILES34, device=encoded_XD.device)
        hidden_BKD = self.embedding(self.kinds.shared(kind_K)) + self.from_summary(summary_BD)[:, None]
        suit_BKC = self.kinds.of(kind_K).expand(len(summary_BD), -1, -1)
        suits = suit_BKC, self.suits.rows(backend, len(summary_BD))
        hidden_BKD = hidden_BKD + self.attention(hidden_BKD, encoded_XD, backend.from_each, suits)
        hidden_BKD = hidden_BKD + self.feedforward(hidden_BKD)
        of_kind_BKHL = self.of_kinds(self.norm(hidden_BKD)).unflatten(2, (self._num_others, -1))
        output_BO = of_kind_BKHL.transpose(1, 2).flatten(1)
        return output_BO if self.of_summary is None else torch.cat((output_BO, self.of_summary(summary_BD)), dim=1)
