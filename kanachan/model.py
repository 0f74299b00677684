"""The whole network in plain torch: an encoder of the situation, a decoder of the candidate actions, two heads.

The encoder is blind to the objective; its keys `encoder.*` are what one stage hands on to the next. Candidates never
pass the encoder: they are queries that attend to the encoded situation and to each other.

Shapes: B decisions, T tokens of the situation, A candidates, D width, H heads, W width of a head, N numbers,
F features of a number, K outputs of a head.
"""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

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


class Encoder(nn.Module):
    """Tokens of a situation to one vector each; the first is the summary of the situation.

    Tokens with position 0 form a set: their order changes nothing.
    """

    scale_N: Tensor
    frequency_F: Tensor

    def __init__(self, config: ModelConfig, layout: TokenLayout, max_progression: int) -> None:
        super().__init__()
        names = layout.vocabulary.numeric
        scales = [1 / (_POINTS_PER_UNIT if name.startswith("score") else _STICKS_PER_UNIT) for name in names]
        # Part of the weights: `transformers` makes a module without values and fills in only what the file has.
        self.register_buffer("scale_N", torch.tensor(scales))
        self.register_buffer("frequency_F", 2 * torch.pi / torch.tensor(_PERIODS))

        self.token_embedding = nn.Embedding(layout.num_tokens, config.width)
        self.position_embedding = nn.Embedding(1 + max_progression, config.width, padding_idx=0)
        self.number_weight = nn.Parameter(torch.empty(len(names), 1 + 2 * len(_PERIODS), config.width))
        self.blocks = nn.ModuleList(EncoderBlock(config) for _ in range(config.layers))
        self.norm = nn.LayerNorm(config.width)
        _initialise(self, num_residuals=2 * config.layers)

    def forward(self, token_BT: Tensor, position_BT: Tensor, numeric_BN: Tensor) -> Tensor:
        """Returns encoded_BTD, normed; what stands at padding has no meaning and must be masked by whoever attends.

        Args:
            token_BT: integers of the layout; 0 is padding.
            position_BT: 1, 2, ... for the events of the progression, 0 for the set.
            numeric_BN: the numbers as annotated (sticks and points), in the vocabulary's order.
        """
        mask_BT = token_BT != TokenLayout.PAD
        hidden_BTD = self.token_embedding(token_BT) + self.position_embedding(position_BT)
        value_BND = self._embed_numbers(numeric_BN).to(hidden_BTD.dtype)
        # The numbers follow the summary token in every row.
        num_after = hidden_BTD.shape[1] - 1 - value_BND.shape[1]
        hidden_BTD = hidden_BTD + F.pad(value_BND, (0, 0, 1, num_after))
        attention_mask = _attention_mask(mask_BT)
        for block in self.blocks:
            hidden_BTD = block(hidden_BTD, attention_mask)
        return self.norm(hidden_BTD)

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

    def forward(self, candidate_BA: Tensor, encoded_BTD: Tensor, mask_BT: Tensor) -> Tensor:
        """Returns candidate_BAD, normed; meaningless where `candidate_BA` is 0.

        Args:
            candidate_BA: 1 + the action token; 0 is padding.
            encoded_BTD: the encoder's output.
            mask_BT: True where the situation has a token.
        """
        candidate_mask = _attention_mask(candidate_BA != 0)
        situation_mask = _attention_mask(mask_BT)
        hidden_BAD = self.candidate_embedding(candidate_BA) + self.from_summary(encoded_BTD[:, :1])
        for block in self.blocks:
            hidden_BAD = block(hidden_BAD, candidate_mask, encoded_BTD, situation_mask)
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
        encoded_BTD = self.encoder(batch.token_BT, batch.position_BT, batch.numeric_BN)
        mask_BT = batch.token_BT != TokenLayout.PAD
        candidate_BAD = self.decoder(batch.candidate_BA, encoded_BTD, mask_BT)
        summary_BD = encoded_BTD[:, 0]
        if self.summary_head is None:
            summary_BK = summary_BD[:, :0]
        else:
            summary_BK = self.summary_head(summary_BD)
        return Output(self.head(candidate_BAD), summary_BK, batch.candidate_BA != 0)


class EncoderBlock(nn.Module):
    """Pre-norm self-attention and feed-forward."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.attention = SelfAttention(config)
        self.feedforward = FeedForward(config)

    def forward(self, hidden_BTD: Tensor, mask: Tensor | None) -> Tensor:
        hidden_BTD = hidden_BTD + self.attention(hidden_BTD, mask)
        return hidden_BTD + self.feedforward(hidden_BTD)


class DecoderBlock(nn.Module):
    """Pre-norm: the candidates look at each other, then at the situation, then think."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.self_attention = SelfAttention(config)
        self.cross_attention = CrossAttention(config)
        self.feedforward = FeedForward(config)

    def forward(
        self, hidden_BAD: Tensor, candidate_mask: Tensor | None, encoded_BTD: Tensor, situation_mask: Tensor | None
    ) -> Tensor:
        hidden_BAD = hidden_BAD + self.self_attention(hidden_BAD, candidate_mask)
        hidden_BAD = hidden_BAD + self.cross_attention(hidden_BAD, encoded_BTD, situation_mask)
        return hidden_BAD + self.feedforward(hidden_BAD)


class SelfAttention(nn.Module):
    """Norm, fused query-key-value, attention, projection."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.heads = config.heads
        self.dropout = config.dropout
        self.norm = nn.LayerNorm(config.width)
        self.query_key_value = nn.Linear(config.width, 3 * config.width, bias=False)
        self.projection = nn.Linear(config.width, config.width, bias=False)

    def forward(self, hidden_BTD: Tensor, mask: Tensor | None) -> Tensor:
        qkv_BTD = self.query_key_value(self.norm(hidden_BTD))
        query_BTD, key_BTD, value_BTD = qkv_BTD.chunk(3, dim=2)
        mixed_BTD = _attend(query_BTD, key_BTD, value_BTD, mask, self.heads, self.dropout * self.training)
        return F.dropout(self.projection(mixed_BTD), self.dropout, self.training)


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

    def forward(self, hidden_BAD: Tensor, encoded_BTD: Tensor, mask: Tensor | None) -> Tensor:
        query_BAD = self.query(self.norm(hidden_BAD))
        key_BTD, value_BTD = self.key_value(encoded_BTD).chunk(2, dim=2)
        mixed_BAD = _attend(query_BAD, key_BTD, value_BTD, mask, self.heads, self.dropout * self.training)
        return F.dropout(self.projection(mixed_BAD), self.dropout, self.training)


class FeedForward(nn.Module):
    """Norm, expansion, GELU, projection."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.dropout = config.dropout
        self.norm = nn.LayerNorm(config.width)
        self.expansion = nn.Linear(config.width, config.feedforward, bias=False)
        self.projection = nn.Linear(config.feedforward, config.width, bias=False)

    def forward(self, hidden_BTD: Tensor) -> Tensor:
        hidden_BTD = self.projection(F.gelu(self.expansion(self.norm(hidden_BTD))))
        return F.dropout(hidden_BTD, self.dropout, self.training)


def _attend(
    query_BAD: Tensor, key_BTD: Tensor, value_BTD: Tensor, mask: Tensor | None, heads: int, dropout: float
) -> Tensor:
    """Attention by heads; the heads are views, nothing is copied on the way in."""
    query_BHAW, key_BHTW, value_BHTW = (
        tensor.view(*tensor.shape[:2], heads, -1).transpose(1, 2) for tensor in (query_BAD, key_BTD, value_BTD)
    )
    mixed_BHAW = F.scaled_dot_product_attention(query_BHAW, key_BHTW, value_BHTW, attn_mask=mask, dropout_p=dropout)
    return mixed_BHAW.transpose(1, 2).flatten(2)


def _attention_mask(mask_BT: Tensor) -> Tensor | None:
    """[B, 1, 1, T], True where a key may be attended to; None if there is no padding.

    Only the CPU looks: there attention without a mask is quicker, elsewhere asking would wait for the device.
    """
    if mask_BT.device.type == "cpu" and not torch.compiler.is_compiling() and bool(mask_BT.all()):
        return None
    return mask_BT[:, None, None, :]


def _initialise(module: nn.Module, num_residuals: int) -> None:
    """Embeddings of unit variance, matrices that keep the variance of their input.

    Smaller weights (the usual 0.02) let every query attend to all tokens alike at first, and a narrow network then
    stays for long at what it can tell without looking at single tokens. The projections that are added to the
    residual stream shrink with their number.
    """
    embeddings = [part for part in module.modules() if isinstance(part, nn.Embedding)]
    for name, parameter in module.named_parameters():
        if name.endswith("embedding.weight") or name.endswith("number_weight"):
            nn.init.normal_(parameter)
        elif parameter.ndim >= 2:
            std = parameter.shape[1] ** -0.5
            nn.init.normal_(parameter, std=std / num_residuals**0.5 if name.endswith("projection.weight") else std)
        elif name.endswith("bias"):
            nn.init.zeros_(parameter)
    for embedding in embeddings:
        if embedding.padding_idx is not None:
            with torch.no_grad():
                embedding.weight[embedding.padding_idx].zero_()
