"""Networks that differ from `kanachan.models.transformer` in one choice, to measure the effect of the choice.

They are experiments: their weights are evaluated in the process that trained them and are not stored.

Shapes: as in `kanachan.models.transformer` and `kanachan.models.attention`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

import kanachan.models.transformer
from kanachan.config import ModelConfig
from kanachan.data.batch import TokenLayout
from kanachan.models.attention import AttentionBackend, PaddedAttention
from kanachan.models.transformer import DecoderBlock, Encoder

_ROTARY_PERIOD = 10_000.0


@contextmanager
def changed(parts: dict[str, type]) -> Iterator[None]:
    """Replaces classes of `kanachan.models.transformer` by `parts`, by their names, within the block."""
    previous = {name: getattr(kanachan.models.transformer, name) for name in parts}
    for name, part in parts.items():
        setattr(kanachan.models.transformer, name, part)
    try:
        yield
    finally:
        for name, part in previous.items():
            setattr(kanachan.models.transformer, name, part)


class FixedPositions(Encoder):
    """An encoder with sinusoidal position embeddings of events, which are not learned."""

    def __init__(self, config: ModelConfig, layout: TokenLayout, max_progression: int, **options: bool) -> None:
        super().__init__(config, layout, max_progression, **options)
        position_E1 = torch.arange(max_progression)[:, None].float()
        frequency_F = _ROTARY_PERIOD ** (-torch.arange(0, config.width, 2) / config.width)
        angle_EF = position_E1 * frequency_F
        # of unit variance, as the learned ones are initialised
        sinusoid_ED = torch.cat((angle_EF.sin(), angle_EF.cos()), dim=1) * 2**0.5
        self.position_embedding = nn.Embedding.from_pretrained(sinusoid_ED, freeze=True)


class WithoutPositions(Encoder):
    """An encoder without position embeddings of events: for `RotaryPadded`."""

    def __init__(self, config: ModelConfig, layout: TokenLayout, max_progression: int, **options: bool) -> None:
        super().__init__(config, layout, max_progression, **options)
        nothing_ED = torch.zeros(max_progression, config.width)
        self.position_embedding = nn.Embedding.from_pretrained(nothing_ED, freeze=True)


class RotaryPadded(PaddedAttention):
    """Attention with rotary positions: queries and keys are rotated by their position among the events. Tokens of the
    state and candidates have the position of the next event."""

    def situation(self, fused_X3D: Tensor, heads: int) -> Tensor:
        own_BOD, event_GED = self.split(fused_X3D)
        own_BOD = self._turned(own_BOD, self.seen_B[:, None], heads, num_turned=2, num_parts=3)
        event_GED = self._turned(event_GED, self.positions, heads, num_turned=2, num_parts=3)
        return super().situation(torch.cat((own_BOD.flatten(0, 1), event_GED.flatten(0, 1))), heads)

    def across(self, query: Tensor, key_value_X2D: Tensor, heads: int) -> Tensor:
        own_BOD, event_GED = self.split(key_value_X2D)
        own_BOD = self._turned(own_BOD, self.seen_B[:, None], heads, num_turned=1, num_parts=2)
        event_GED = self._turned(event_GED, self.positions, heads, num_turned=1, num_parts=2)
        query = self._turned(query, self.seen_B[:, None], heads, num_turned=1, num_parts=1)
        return super().across(query, torch.cat((own_BOD.flatten(0, 1), event_GED.flatten(0, 1))), heads)

    @staticmethod
    def _turned(fused: Tensor, position: Tensor, heads: int, num_turned: int, num_parts: int) -> Tensor:
        """Rotates the first parts of a fused projection [..., parts x D], head by head, by positions of shape [...]."""
        part = fused.unflatten(-1, (num_parts, heads, -1))
        half = part.shape[-1] // 2
        frequency_F = _ROTARY_PERIOD ** (-torch.arange(half, device=fused.device) / half)
        angle = (position[..., None] * frequency_F)[..., None, None, :]
        first, second = part[..., :num_turned, :, :half], part[..., :num_turned, :, half:]
        turned = torch.cat(
            (first * angle.cos() - second * angle.sin(), first * angle.sin() + second * angle.cos()), dim=-1
        )
        return torch.cat((turned, part[..., num_turned:, :, :]), dim=-3).flatten(-3)


class AttendedPadded(PaddedAttention):
    """Attention to the padding of tiles, events and candidates as if it were tokens, but not to later events."""

    def __init__(self, tile_BT: Tensor, event_GE: Tensor, group_B: Tensor, *others: Any) -> None:
        super().__init__(tile_BT, event_GE, group_B, *others)
        num_own = self.mask_BV.shape[1] - event_GE.shape[1]
        is_padding_BE = event_GE.index_select(0, group_B) == 0
        self.mask_BV = torch.cat((torch.ones_like(self.mask_BV[:, :num_own]), self.mask_BV[:, num_own:]), dim=1)
        self.mask_BV[:, num_own:] |= is_padding_BE


class NamelessScores(Encoder):
    """An encoder in which every seat embeds the sum of all seats' score embeddings, without whose score is whose."""

    def __init__(self, config: ModelConfig, layout: TokenLayout, max_progression: int, **options: bool) -> None:
        super().__init__(config, layout, max_progression, **options)
        parametrize.register_parametrization(self, "number_weight", _OneForAllScores(self.num_sticks))

    def _embed_numbers(self, numeric_BN: Tensor) -> Tensor:
        stick_BND, score_BPD = super()._embed_numbers(numeric_BN).tensor_split([self.num_sticks], dim=1)
        sum_B1D = score_BPD.sum(dim=1, keepdim=True) / score_BPD.shape[1] ** 0.5
        return torch.cat((stick_BND, sum_B1D.expand_as(score_BPD)), dim=1)


class _OneForAllScores(nn.Module):
    def __init__(self, num_sticks: int) -> None:
        super().__init__()
        self.num_sticks = num_sticks

    def forward(self, weight_NFD: Tensor) -> Tensor:
        stick_NFD, score_NFD = weight_NFD.tensor_split([self.num_sticks])
        return torch.cat((stick_NFD, score_NFD[:1].expand_as(score_NFD)))


class LonelyCandidates(DecoderBlock):
    """A decoder block in which candidates attend only to the situation, not to each other."""

    def forward(self, hidden: Tensor, encoded_XD: Tensor, backend: AttentionBackend) -> Tensor:
        hidden = hidden + self.cross_attention(hidden, encoded_XD, backend)
        return hidden + self.feedforward(hidden)
