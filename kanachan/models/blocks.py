"""The blocks of the network (pre-norm attention and feed-forward layers) and the initialisation of weights.

Shapes: as in kanachan.models.attention; `*` is [B, A] or [C].
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from kanachan.config import ModelConfig
from kanachan.models.attention import AttentionBackend
from kanachan.models.relative_suits import FIRST_FACTORS, suits_of_heads, write_suits


class EncoderBlock(nn.Module):
    """Pre-norm self-attention and feed-forward."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.attention = SelfAttention(config)
        self.feedforward = FeedForward(config)

    def forward(self, hidden_XD: Tensor, backend: AttentionBackend, suit_XC: Tensor) -> Tensor:
        hidden_XD = hidden_XD + self.attention(hidden_XD, backend.situation, suit_XC)
        return hidden_XD + self.feedforward(hidden_XD)


class DecoderBlock(nn.Module):
    """Pre-norm self-attention of the candidates, cross-attention to the situation, and feed-forward."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.self_attention = SelfAttention(config)
        self.cross_attention = CrossAttention(config)
        self.feedforward = FeedForward(config)

    def forward(
        self, hidden: Tensor, encoded_XD: Tensor, backend: AttentionBackend, suits: tuple[Tensor, Tensor]
    ) -> Tensor:
        """Returns the candidates in the shape of the back end. `suits`: suits of the candidates [*, C], and suit_XC."""
        hidden = hidden + self.self_attention(hidden, backend.among_candidates, suits[0])
        hidden = hidden + self.cross_attention(hidden, encoded_XD, backend.across, suits)
        return hidden + self.feedforward(hidden)


class SelfAttention(nn.Module):
    """Norm, fused query-key-value, attention, projection."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.heads = config.heads
        self.dropout = config.dropout
        self.norm = nn.LayerNorm(config.width)
        self.query_key_value = nn.Linear(config.width, 3 * config.width, bias=False)
        self.suit_factor = nn.Linear(config.width, config.heads)
        self.projection = nn.Linear(config.width, config.width, bias=False)

    def forward(self, hidden: Tensor, attend: Callable[[Tensor, int], Tensor], suit: Tensor) -> Tensor:
        """Mixes tokens with `attend`, which takes concatenated queries, keys and values, and the number of heads."""
        hidden = self.norm(hidden)
        fused = self.query_key_value(hidden)
        of_query = suits_of_heads(suit, self.heads, self.suit_factor(hidden))
        write_suits(fused, 3, of_query, suits_of_heads(suit, self.heads))
        mixed = attend(fused, self.heads)
        return F.dropout(self.projection(mixed), self.dropout, self.training)


class CrossAttention(nn.Module):
    """Norm only of the queries (the situation is already normalised), attention to the situation, projection."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.heads = config.heads
        self.dropout = config.dropout
        self.norm = nn.LayerNorm(config.width)
        self.query = nn.Linear(config.width, config.width, bias=False)
        self.suit_factor = nn.Linear(config.width, config.heads)
        self.key_value = nn.Linear(config.width, 2 * config.width, bias=False)
        self.projection = nn.Linear(config.width, config.width, bias=False)

    def forward(
        self,
        hidden: Tensor,
        encoded_XD: Tensor,
        across: Callable[[Tensor, Tensor, int], Tensor],
        suits: tuple[Tensor, Tensor],
    ) -> Tensor:
        """Mixes the situation with `across`, which takes queries, keys and values, and the number of heads."""
        hidden = self.norm(hidden)
        query, key_value_X2D = self.query(hidden), self.key_value(encoded_XD)
        suit, suit_XC = suits
        write_suits(query, 1, suits_of_heads(suit, self.heads, self.suit_factor(hidden)))
        write_suits(key_value_X2D, 2, suits_of_heads(suit_XC, self.heads))
        mixed = across(query, key_value_X2D, self.heads)
        return F.dropout(self.projection(mixed), self.dropout, self.training)


class FeedForward(nn.Module):
    """Norm, expansion, GELU, projection."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.dropout = config.dropout
        self.norm = nn.LayerNorm(config.width)
        self.expansion = nn.Linear(config.width, config.feedforward, bias=False)
        self.projection = nn.Linear(config.feedforward, config.width, bias=False)

    def forward(self, hidden: Tensor) -> Tensor:
        """Transforms a tensor of any shape whose last dimension is D."""
        hidden = self.projection(F.gelu(self.expansion(self.norm(hidden))))
        return F.dropout(hidden, self.dropout, self.training)


def initialise(module: nn.Module, num_residuals: int) -> None:
    """Initialises embeddings with unit variance, and matrices to preserve the variance of their input.

    With smaller weights (the usual 0.02), every query first attends to all tokens equally, and a narrow network then
    plateaus for a long time at predictions that need no attention to single tokens. The projections that are added to
    the residual stream are scaled down by the square root of their number.
    """
    for name, parameter in module.named_parameters():
        if name.endswith("embedding.weight") or name.endswith("number_weight"):
            nn.init.normal_(parameter)
        elif parameter.ndim >= 2:
            std = parameter.shape[1] ** -0.5
            nn.init.normal_(parameter, std=std / num_residuals**0.5 if name.endswith("projection.weight") else std)
        elif name.endswith("suit_factor.bias"):
            with torch.no_grad():
                parameter.copy_(torch.linspace(*FIRST_FACTORS, len(parameter)))
        elif name.endswith("bias"):
            nn.init.zeros_(parameter)
