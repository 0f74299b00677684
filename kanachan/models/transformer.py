"""The whole network in plain torch: an encoder of the situation, a decoder of the candidate actions, and heads.

The encoder does not depend on the objective; the next stage inherits its keys `encoder.*`. Candidates are not inputs of
the encoder: they are queries that attend to the encoded situation and to each other.

The events of a round are a causal sequence: each event attends only to earlier events and itself. The own tokens of a
situation attend to each other and to the events seen so far. Decisions of a seat in a round therefore share the
encoding of their events: in training and in play, most tokens are computed once for all of these decisions.

Shapes: B decisions, S tokens of the table, P seats, N numbers, X all own tokens and events concatenated, A candidates,
D width, F features of a number, K outputs of a head, O auxiliary outputs. `kanachan.models.attention` defines which
tokens attend to each other, and masks the padding.
"""

from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from kanachan.config import ModelConfig
from kanachan.data.batch import Batch, TokenLayout
from kanachan.models.attention import AttentionBackend, PaddedAttention, VarlenAttention
from kanachan.models.blocks import DecoderBlock, EncoderBlock, initialise
from kanachan.models.kinds_head import KindsHead
from kanachan.models.relative_suits import suits_of_candidates, suits_of_tokens

# In units of 10,000 points or 10 sticks: from the whole range of scores to a few hundred points.
_PERIODS = (16.0, 4.0, 1.0, 0.25, 0.0625)
_POINTS_PER_UNIT = 10_000.0
_STICKS_PER_UNIT = 10.0
_SLOWEST = 200.0
"""positions per radian of the slowest wave"""


class Output(NamedTuple):
    """The outputs of the network for a batch; the objective defines their meaning."""

    candidate_BAK: Tensor
    """outputs of every candidate, padding included"""
    summary_BK: Tensor
    """outputs computed only from the summary token; K may be 0"""
    mask_BA: Tensor
    """True where there is a candidate, False where there is padding"""
    auxiliary_BO: Tensor | None = None
    """outputs for auxiliary targets, if requested and if the network has any"""
    points: tuple[Tensor, Tensor] | None = None
    """with a prior, the logits of the bins of the actor's points in the round, for every candidate [B, A, H] and from
    the summary [B, H]"""


class Encoded(NamedTuple):
    """The output of an encoder."""

    encoded_XD: Tensor
    backend: AttentionBackend
    """the back end that arranged the tokens"""


class Encoder(nn.Module):
    """Encodes the tokens of situations as vectors. The tiles form a set: their order has no effect."""

    scale_N: Tensor
    frequency_F: Tensor
    recomputes = False
    """whether blocks are recomputed in the backward pass instead of storing their activations"""

    def __init__(self, config: ModelConfig, layout: TokenLayout) -> None:
        super().__init__()
        names, max_progression = layout.vocabulary.numeric, layout.vocabulary.max_progression
        num_seats = layout.vocabulary.num_seats
        scales = [1 / (_POINTS_PER_UNIT if name.startswith("score") else _STICKS_PER_UNIT) for name in names]
        # Part of the weights: `transformers` builds a module without values and loads only values that the file has.
        self.register_buffer("scale_N", torch.tensor(scales))
        self.register_buffer("frequency_F", 2 * torch.pi / torch.tensor(_PERIODS))

        self.num_sticks = len(names) - num_seats
        self.token_embedding = nn.Embedding(layout.num_tokens, config.width)
        self.place_embedding = nn.Embedding(1 + num_seats, config.width)
        self.position_embedding = nn.Embedding(max_progression, config.width)
        self.number_weight = nn.Parameter(torch.empty(len(names), 1 + 2 * len(_PERIODS), config.width))
        self.suits = suits_of_tokens(layout)
        self.blocks = nn.ModuleList(EncoderBlock(config) for _ in range(config.layers))
        self.norm = nn.LayerNorm(config.width)
        initialise(self, num_residuals=2 * config.layers)
        with torch.no_grad():
            self.position_embedding.weight.copy_(_waves(max_progression, config.width))

    def forward(
        self,
        table_BS: Tensor,
        standing_BP2: Tensor,
        numeric_BN: Tensor,
        backend: AttentionBackend,
    ) -> Tensor:
        """Encodes situations as normalised hidden_XD; the tensors are fields of `kanachan.data.batch.Batch`."""
        hidden_XD = self._embed(table_BS, standing_BP2, numeric_BN, backend)
        suit_XC = self.suits.rows(backend, len(table_BS))
        for block in self.blocks:
            if self.recomputes and torch.is_grad_enabled():
                hidden_XD = checkpoint(block, hidden_XD, backend, suit_XC, use_reentrant=False)
            else:
                hidden_XD = block(hidden_XD, backend, suit_XC)
        return self.norm(hidden_XD)

    def _embed(
        self,
        table_BS: Tensor,
        standing_BP2: Tensor,
        numeric_BN: Tensor,
        backend: AttentionBackend,
    ) -> Tensor:
        """Embeds the tokens. The tokens of the table are summed to one vector, the summary's, and the tokens of each
        seat to another; sums are scaled to the variance of one summand."""
        value_BND = self._embed_numbers(numeric_BN)
        stick_BND, score_BPD = value_BND[:, : self.num_sticks], value_BND[:, self.num_sticks :]
        tokens = (table_BS, standing_BP2, backend.tiles, backend.events)
        # one look-up for all: the gradient of each look-up is as large as the embedding table
        flat = torch.cat([token.flatten() for token in tokens])
        vectors = self.token_embedding(self.suits.shared(flat)).split([t.numel() for t in tokens])
        table_BSD, standing_BP2D, tile, event = (
            vector.unflatten(0, token.shape) for vector, token in zip(vectors, tokens, strict=True)
        )
        # calls the module, because ZeRO 3 gathers its weights before the call
        place_PD = self.place_embedding(torch.arange(self.place_embedding.num_embeddings, device=table_BS.device))
        summary_BD = table_BSD.sum(dim=1) + stick_BND.sum(dim=1) + place_PD[0]
        seat_BPD = standing_BP2D.sum(dim=2) + score_BPD + place_PD[1:]
        summary_BD = summary_BD / (table_BS.shape[1] + self.num_sticks + 1) ** 0.5
        event = event + self.position_embedding(backend.positions)
        return backend.rows(summary_BD, seat_BPD / 2, tile, event)

    def _embed_numbers(self, numeric_BN: Tensor) -> Tensor:
        """Maps smooth features linearly to vectors: waves of several lengths distinguish close scores."""
        scaled_BN = numeric_BN * self.scale_N
        angle_BNF = scaled_BN[:, :, None] * self.frequency_F
        feature_BNF = torch.cat((scaled_BN[:, :, None], angle_BNF.sin(), angle_BNF.cos()), dim=2)
        # the weights may have been loaded in half precision
        return torch.einsum("bnf,nfd->bnd", feature_BNF.to(self.number_weight.dtype), self.number_weight)


class Decoder(nn.Module):
    """Computes one vector for each candidate action, from the candidates and the encoded situation."""

    def __init__(self, config: ModelConfig, layout: TokenLayout) -> None:
        super().__init__()
        self.candidate_embedding = nn.Embedding(layout.num_candidates, config.width)
        self.from_summary = nn.Linear(config.width, config.width)
        self.suits = suits_of_tokens(layout)
        self.candidate_suits = suits_of_candidates(layout)
        self.blocks = nn.ModuleList(DecoderBlock(config) for _ in range(config.decoder_layers))
        self.norm = nn.LayerNorm(config.width)
        initialise(self, num_residuals=3 * config.decoder_layers)

    def forward(self, encoded_XD: Tensor, backend: AttentionBackend) -> Tensor:
        """Returns normalised vectors of the candidates in the shape of the back end; meaningless at padding."""
        summary_BD = self.from_summary(backend.summary(encoded_XD))
        suits = self.candidate_suits.of(backend.candidates), self.suits.rows(backend, len(summary_BD))
        shared = self.candidate_suits.shared(backend.candidates)
        hidden = self.candidate_embedding(shared) + backend.for_candidates(summary_BD)
        for block in self.blocks:
            hidden = block(hidden, encoded_XD, backend, suits)
        return self.norm(hidden)


class Network(nn.Module):
    """Encoder, decoder, and the heads of one stage.

    Args:
        prior: module that maps a batch and the outputs of the heads to the outputs of all candidates [B, A, K] and of
            the summary [B, K], and `Output.points`. With a prior, the heads have the same outputs for all inputs before
            the first step.
    """

    def __init__(
        self,
        config: ModelConfig,
        layout: TokenLayout,
        num_candidate_outputs: int,
        num_summary_outputs: int,
        num_auxiliary_outputs: int,
        num_outputs_of_kind: int,
        prior: nn.Module | None,
    ) -> None:
        super().__init__()
        self.encoder = Encoder(config, layout)
        self.decoder = Decoder(config, layout)
        self.head = nn.Linear(config.width, num_candidate_outputs)
        self.summary_head = nn.Linear(config.width, num_summary_outputs) if num_summary_outputs else None
        for head in (self.head, self.summary_head):
            if head is not None:
                initialise(head, num_residuals=1)
                if prior is not None:
                    nn.init.zeros_(head.weight)
        self.prior = prior
        # last, so that all other modules start with the same values with and without auxiliary targets
        self.auxiliary_head: nn.Linear | KindsHead | None = None
        if num_outputs_of_kind:
            self.auxiliary_head = KindsHead(config, layout, num_outputs_of_kind, num_auxiliary_outputs)
        elif num_auxiliary_outputs:
            self.auxiliary_head = nn.Linear(config.width, num_auxiliary_outputs)
            initialise(self.auxiliary_head, num_residuals=1)

    def forward(self, batch: Batch, *, with_auxiliary: bool = False) -> Output:
        encoded = self.encoded(batch)
        output = self.decoded(batch, encoded)
        return output._replace(auxiliary_BO=self.auxiliary(encoded)) if with_auxiliary else output

    def encoded(self, batch: Batch) -> Encoded:
        """Computes the first half of `forward`, which is equal for networks with the same encoder."""
        backend = attention_backend(batch)
        encoded_XD = self.encoder(batch.table_BS, batch.standing_BP2, batch.numeric_BN, backend)
        return Encoded(encoded_XD, backend)

    def decoded(self, batch: Batch, encoded: Encoded) -> Output:
        """Computes the second half of `forward`."""
        encoded_XD, backend = encoded
        candidate_BAK = backend.outputs(self.head(self.decoder(encoded_XD, backend)))
        return self._output(batch, candidate_BAK, backend.summary(encoded_XD))

    def _output(self, batch: Batch, candidate_BAK: Tensor, summary_BD: Tensor) -> Output:
        """Adds the outputs from the summary, and applies the prior."""
        summary_BK = summary_BD[:, :0] if self.summary_head is None else self.summary_head(summary_BD)
        points = None
        if self.prior is not None:
            candidate_BAK, summary_BK, points = self.prior(batch, candidate_BAK, summary_BK)
        return Output(candidate_BAK, summary_BK, batch.candidate_BA != 0, points=points)

    def auxiliary(self, encoded: Encoded) -> Tensor | None:
        """Returns the outputs for auxiliary targets [B, O], if there are any."""
        if isinstance(self.auxiliary_head, KindsHead):
            return self.auxiliary_head(*encoded)
        return None if self.auxiliary_head is None else self.auxiliary_head(encoded.backend.summary(encoded.encoded_XD))


def have_same_encoder(a: Network, b: Network) -> bool:
    """Returns whether two networks encode every situation in the same way."""
    return are_equal(a.encoder.state_dict(), b.encoder.state_dict())


def are_equal(ours: Mapping[str, Tensor], theirs: Mapping[str, Tensor]) -> bool:
    """Returns whether two states are the same up to device and precision."""
    return ours.keys() == theirs.keys() and all(
        tensor.shape == theirs[name].shape and torch.equal(tensor.float(), theirs[name].to(tensor.device).float())
        for name, tensor in ours.items()
    )


def attention_backend(batch: Batch) -> AttentionBackend:
    """Returns the back end for which the batch was made."""
    if batch.varlen is not None:
        return VarlenAttention(batch.varlen, batch.candidate_BA)
    return PaddedAttention(
        batch.tile_BT, batch.event_GE, batch.group_B, batch.seen_B, batch.candidate_BA, batch.standing_BP2.shape[1]
    )


def _waves(num_places: int, width: int) -> Tensor:
    """Returns the initial embeddings of positions: sines and cosines of unit variance, [places, D]. The wavelengths
    grow from 6 to 1,300 places."""
    num_waves = -(-width // 2)
    frequency = _SLOWEST ** -(torch.arange(num_waves) / num_waves)
    angle = torch.arange(num_places)[:, None] * frequency
    return 2**0.5 * torch.cat((angle.sin(), angle.cos()), dim=1)[:, :width]
