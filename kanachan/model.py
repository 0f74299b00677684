"""The whole network in plain torch: an encoder of the situation, a decoder of the candidate actions, two heads.

The encoder is blind to the objective; its keys `encoder.*` are what one stage hands on to the next. Candidates never
pass the encoder: they are queries that attend to the encoded situation and to each other.

The events of a round are encoded as a sequence in which each attends to those before it, and to nothing else. What a
seat has before it attends to itself and to the events seen so far. So the decisions of a seat in a round share their
events' encoding: most of the tokens are computed once for all of them, in training as in play.

Shapes: B decisions, S tokens of the table, P seats, T tiles, N numbers, O = 1 + P + T own tokens of a situation, G
groups that share their events, E events, V = O + E tokens visible to a situation, X all own tokens and events end to
end, A candidates, D width, H heads, W width of a head, F features of a number, K outputs of a head.
"""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from kanachan.batch import Batch, TokenLayout
from kanachan.config import ModelConfig

# In units of 10,000 points or 10 sticks: from the whole range of the scores down to a few hundred points.
_PERIODS = (16.0, 4.0, 1.0, 0.25, 0.0625)
_POINTS_PER_UNIT = 10_000.0
_STICKS_PER_UNIT = 10.0


class Output(NamedTuple):
    """What the network says of a batch; the objective gives it meaning."""

    candidate_BAK: Tensor
    """outputs of every candidate, padding included"""
    summary_BK: Tensor
    """outputs from the summary token alone; K may be 0"""
    mask_BA: Tensor
    """True where there is a candidate, False where there is padding"""


class Encoded(NamedTuple):
    """Situations as vectors, normed."""

    own_BOD: Tensor
    """the summary of the situation first, then its seats and tiles"""
    event_GED: Tensor
    group_B: Tensor
    """whose events each situation sees"""
    mask_BV: Tensor
    """True where a situation has an own token or sees an event of its group (V = O + E); what stands elsewhere has no
    meaning"""


class Encoder(nn.Module):
    """Tokens of situations to vectors. The tiles form a set: their order changes nothing."""

    scale_N: Tensor
    frequency_F: Tensor
    recomputes = False
    """whether blocks are computed again in the backward pass instead of keeping what they computed"""

    def __init__(self, config: ModelConfig, layout: TokenLayout, max_progression: int) -> None:
        super().__init__()
        names = layout.vocabulary.numeric
        num_seats = layout.vocabulary.num_seats
        scales = [1 / (_POINTS_PER_UNIT if name.startswith("score") else _STICKS_PER_UNIT) for name in names]
        # Part of the weights: `transformers` makes a module without values and fills in only what the file has.
        self.register_buffer("scale_N", torch.tensor(scales))
        self.register_buffer("frequency_F", 2 * torch.pi / torch.tensor(_PERIODS))

        self.num_sticks = len(names) - num_seats
        self.token_embedding = nn.Embedding(layout.num_tokens, config.width)
        self.place_embedding = nn.Embedding(1 + num_seats, config.width)
        self.position_embedding = nn.Embedding(max_progression, config.width)
        self.number_weight = nn.Parameter(torch.empty(len(names), 1 + 2 * len(_PERIODS), config.width))
        self.blocks = nn.ModuleList(EncoderBlock(config) for _ in range(config.layers))
        self.norm = nn.LayerNorm(config.width)
        _initialise(self, num_residuals=2 * config.layers)

    def forward(
        self,
        table_BS: Tensor,
        standing_BP2: Tensor,
        tile_BT: Tensor,
        numeric_BN: Tensor,
        event_GE: Tensor,
        group_B: Tensor,
        seen_B: Tensor,
    ) -> Encoded:
        """Encodes situations; the arguments are fields of `kanachan.batch.Batch`."""
        own_BOD = self._embed_own(table_BS, standing_BP2, tile_BT, numeric_BN)
        event_GED = self.token_embedding(event_GE) + self.position_embedding.weight[: event_GE.shape[1]]
        has_own_BO = F.pad(tile_BT != TokenLayout.PAD, (own_BOD.shape[1] - tile_BT.shape[1], 0), value=True)
        sees_BE = torch.arange(event_GE.shape[1], device=seen_B.device) < seen_B[:, None]
        shape = Shape(own_BOD.shape[:2], event_GE.shape, group_B, torch.cat((has_own_BO, sees_BE), dim=1))
        hidden_XD = torch.cat((own_BOD.flatten(0, 1), event_GED.flatten(0, 1)))
        for block in self.blocks:
            if self.recomputes and torch.is_grad_enabled():
                hidden_XD = checkpoint(block, hidden_XD, shape, use_reentrant=False)
            else:
                hidden_XD = block(hidden_XD, shape)
        own_BOD, event_GED = shape.split(self.norm(hidden_XD))
        return Encoded(own_BOD, event_GED, group_B, shape.mask_BV)

    def _embed_own(self, table_BS: Tensor, standing_BP2: Tensor, tile_BT: Tensor, numeric_BN: Tensor) -> Tensor:
        """What is said of the table makes one vector, the summary's, and what is said of a seat another; the sums are
        scaled to the variance of one of their parts."""
        value_BND = self._embed_numbers(numeric_BN)
        stick_BND, score_BPD = value_BND[:, : self.num_sticks], value_BND[:, self.num_sticks :]
        table_BSD, standing_BP2D = self.token_embedding(table_BS), self.token_embedding(standing_BP2)
        place_PD = self.place_embedding.weight
        summary_BD = table_BSD.sum(dim=1) + stick_BND.sum(dim=1) + place_PD[0]
        seat_BPD = standing_BP2D.sum(dim=2) + score_BPD + place_PD[1:]
        summary_BD = summary_BD / (table_BS.shape[1] + self.num_sticks + 1) ** 0.5
        return torch.cat((summary_BD[:, None], seat_BPD / 2, self.token_embedding(tile_BT)), dim=1)

    def _embed_numbers(self, numeric_BN: Tensor) -> Tensor:
        """A linear map of smooth features: waves of several lengths tell close scores apart."""
        scaled_BN = numeric_BN * self.scale_N
        angle_BNF = scaled_BN[:, :, None] * self.frequency_F
        feature_BNF = torch.cat((scaled_BN[:, :, None], angle_BNF.sin(), angle_BNF.cos()), dim=2)
        return torch.einsum("bnf,nfd->bnd", feature_BNF, self.number_weight)


class Decoder(nn.Module):
    """Candidate actions and the encoded situation to one vector for each candidate."""

    def __init__(self, config: ModelConfig, layout: TokenLayout) -> None:
        super().__init__()
        self.candidate_embedding = nn.Embedding(layout.num_candidates, config.width)
        self.from_summary = nn.Linear(config.width, config.width)
        self.blocks = nn.ModuleList(DecoderBlock(config) for _ in range(config.decoder_layers))
        self.norm = nn.LayerNorm(config.width)
        _initialise(self, num_residuals=3 * config.decoder_layers)

    def forward(self, candidate_BA: Tensor, encoded: Encoded) -> Tensor:
        """Returns candidate_BAD, normed; meaningless where `candidate_BA` is 0.

        Args:
            candidate_BA: 1 + the action token; 0 is padding.
        """
        mask_BA = candidate_BA != 0
        hidden_BAD = self.candidate_embedding(candidate_BA) + self.from_summary(encoded.own_BOD[:, :1])
        for block in self.blocks:
            hidden_BAD = block(hidden_BAD, mask_BA, encoded)
        return self.norm(hidden_BAD)


class Network(nn.Module):
    """Encoder, decoder, and the heads of one stage."""

    def __init__(
        self,
        config: ModelConfig,
        layout: TokenLayout,
        max_progression: int,
        num_candidate_outputs: int,
        num_summary_outputs: int,
    ) -> None:
        super().__init__()
        self.encoder = Encoder(config, layout, max_progression)
        self.decoder = Decoder(config, layout)
        self.head = nn.Linear(config.width, num_candidate_outputs)
        self.summary_head = nn.Linear(config.width, num_summary_outputs) if num_summary_outputs else None
        for head in (self.head, self.summary_head):
            if head is not None:
                _initialise(head, num_residuals=1)

    def forward(self, batch: Batch) -> Output:
        encoded = self.encoder(
            batch.table_BS,
            batch.standing_BP2,
            batch.tile_BT,
            batch.numeric_BN,
            batch.event_GE,
            batch.group_B,
            batch.seen_B,
        )
        candidate_BAD = self.decoder(batch.candidate_BA, encoded)
        summary_BD = encoded.own_BOD[:, 0]
        summary_BK = summary_BD[:, :0] if self.summary_head is None else self.summary_head(summary_BD)
        return Output(self.head(candidate_BAD), summary_BK, batch.candidate_BA != 0)


class Shape(NamedTuple):
    """How own tokens and events stand in hidden_XD: own_BOD, then event_GED."""

    own_BO: torch.Size
    event_GE: torch.Size
    group_B: Tensor
    mask_BV: Tensor
    """as in Encoded"""

    def split(self, hidden_XD: Tensor) -> tuple[Tensor, Tensor]:
        """own_BOD and event_GED, without copying."""
        # a split's gradients are laid side by side, where each slice's would be added to zeros
        own_XD, event_XD = torch.split(hidden_XD, [self.own_BO.numel(), self.event_GE.numel()])
        width = hidden_XD.shape[1]
        return own_XD.view(*self.own_BO, width), event_XD.view(*self.event_GE, width)


class EncoderBlock(nn.Module):
    """Pre-norm self-attention and feed-forward."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.attention = SituationAttention(config)
        self.feedforward = FeedForward(config)

    def forward(self, hidden_XD: Tensor, shape: Shape) -> Tensor:
        hidden_XD = hidden_XD + self.attention(hidden_XD, shape)
        return hidden_XD + self.feedforward(hidden_XD)


class DecoderBlock(nn.Module):
    """Pre-norm: the candidates look at each other, then at the situation, then think."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.self_attention = CandidateAttention(config)
        self.cross_attention = CrossAttention(config)
        self.feedforward = FeedForward(config)

    def forward(self, hidden_BAD: Tensor, mask_BA: Tensor, encoded: Encoded) -> Tensor:
        hidden_BAD = hidden_BAD + self.self_attention(hidden_BAD, mask_BA)
        hidden_BAD = hidden_BAD + self.cross_attention(hidden_BAD, encoded)
        return hidden_BAD + self.feedforward(hidden_BAD)


class SituationAttention(nn.Module):
    """Norm, fused query-key-value, attention, projection: events look back, own tokens at all that their seat sees."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.heads = config.heads
        self.dropout = config.dropout
        self.norm = nn.LayerNorm(config.width)
        self.query_key_value = nn.Linear(config.width, 3 * config.width, bias=False)
        self.projection = nn.Linear(config.width, config.width, bias=False)

    def forward(self, hidden_XD: Tensor, shape: Shape) -> Tensor:
        own_BOD, event_GED = shape.split(self.query_key_value(self.norm(hidden_XD)))
        query_BOD, own_key_value_BOD = _split(own_BOD)
        query_GED, key_value_GED = _split(event_GED)
        key_value_BVD = _seen(own_key_value_BOD, key_value_GED, shape.group_B)
        mixed_BOD = _attend(query_BOD, key_value_BVD, self.heads, shape.mask_BV)
        # padding stands after the events, where no event looks
        mixed_GED = _attend(query_GED, key_value_GED, self.heads, None, is_causal=True)
        mixed_XD = torch.cat((mixed_BOD.flatten(0, 1), mixed_GED.flatten(0, 1)))
        return F.dropout(self.projection(mixed_XD), self.dropout, self.training)


class CandidateAttention(nn.Module):
    """Norm, fused query-key-value, attention of the candidates to each other, projection."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.heads = config.heads
        self.dropout = config.dropout
        self.norm = nn.LayerNorm(config.width)
        self.query_key_value = nn.Linear(config.width, 3 * config.width, bias=False)
        self.projection = nn.Linear(config.width, config.width, bias=False)

    def forward(self, hidden_BAD: Tensor, mask_BA: Tensor) -> Tensor:
        query_BAD, key_value_BAD = _split(self.query_key_value(self.norm(hidden_BAD)))
        mixed_BAD = _attend(query_BAD, key_value_BAD, self.heads, mask_BA)
        return F.dropout(self.projection(mixed_BAD), self.dropout, self.training)


class CrossAttention(nn.Module):
    """Norm of the queries alone (the encoded situation comes normed), attention to the situation, projection."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.heads = config.heads
        self.dropout = config.dropout
        self.norm = nn.LayerNorm(config.width)
        self.query = nn.Linear(config.width, config.width, bias=False)
        self.key_value = nn.Linear(config.width, 2 * config.width, bias=False)
        self.projection = nn.Linear(config.width, config.width, bias=False)

    def forward(self, hidden_BAD: Tensor, encoded: Encoded) -> Tensor:
        query_BAD = self.query(self.norm(hidden_BAD))
        key_value_BVD = _seen(self.key_value(encoded.own_BOD), self.key_value(encoded.event_GED), encoded.group_B)
        mixed_BAD = _attend(query_BAD, key_value_BVD, self.heads, encoded.mask_BV)
        return F.dropout(self.projection(mixed_BAD), self.dropout, self.training)


class FeedForward(nn.Module):
    """Norm, expansion, GELU, projection."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.dropout = config.dropout
        self.norm = nn.LayerNorm(config.width)
        self.expansion = nn.Linear(config.width, config.feedforward, bias=False)
        self.projection = nn.Linear(config.feedforward, config.width, bias=False)

    def forward(self, hidden: Tensor) -> Tensor:
        """Any shape whose last dimension is D."""
        hidden = self.projection(F.gelu(self.expansion(self.norm(hidden))))
        return F.dropout(hidden, self.dropout, self.training)


def _split(fused: Tensor) -> tuple[Tensor, Tensor]:
    """Parts of a fused projection of width 3 D: the query, and key and value side by side."""
    width = fused.shape[-1] // 3
    query, key_value = torch.split(fused, [width, 2 * width], dim=-1)
    return query, key_value


def _seen(own_BOD: Tensor, event_GED: Tensor, group_B: Tensor) -> Tensor:
    """[B, V, D]: each situation's own keys and values, then those of its group's events."""
    return torch.cat((own_BOD, event_GED.index_select(0, group_B)), dim=1)


def _attend(
    query_BAD: Tensor, key_value_BVD: Tensor, heads: int, mask_BV: Tensor | None, is_causal: bool = False
) -> Tensor:
    """Attention by heads; the heads are views, nothing is copied on the way in. Attention has no dropout of its own:
    with one, no fused kernel could be used."""
    key_BVD, value_BVD = key_value_BVD.chunk(2, dim=2)
    query_BHAW, key_BHVW, value_BHVW = (
        tensor.view(*tensor.shape[:2], heads, -1).transpose(1, 2) for tensor in (query_BAD, key_BVD, value_BVD)
    )
    mask = None if mask_BV is None else mask_BV[:, None, None, :]
    mixed_BHAW = F.scaled_dot_product_attention(query_BHAW, key_BHVW, value_BHVW, attn_mask=mask, is_causal=is_causal)
    return mixed_BHAW.transpose(1, 2).flatten(2)


def _initialise(module: nn.Module, num_residuals: int) -> None:
    """Embeddings of unit variance, matrices that keep the variance of their input.

    Smaller weights (the usual 0.02) let every query attend to all tokens alike at first, and a narrow network then
    stays for long at what it can tell without looking at single tokens. The projections that are added to the
    residual stream shrink with their number.
    """
    for name, parameter in module.named_parameters():
        if name.endswith("embedding.weight") or name.endswith("number_weight"):
            nn.init.normal_(parameter)
        elif parameter.ndim >= 2:
            std = parameter.shape[1] ** -0.5
            nn.init.normal_(parameter, std=std / num_residuals**0.5 if name.endswith("projection.weight") else std)
        elif name.endswith("bias"):
            nn.init.zeros_(parameter)
