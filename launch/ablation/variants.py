"""What is tried: one choice of the network or of its training at a time, against the reference of its stage."""

from dataclasses import dataclass, field

from networks import (
    AttendedPadded,
    FixedPositions,
    LonelyCandidates,
    NamelessScores,
    RotaryPadded,
    WithoutPositions,
)

from kanachan.config import StageName

REFERENCE = "reference"


@dataclass(frozen=True, kw_only=True, eq=False)
class Variant:
    """One choice made otherwise."""

    stage: StageName
    name: str
    what: str
    """in words, for the table"""
    settings: tuple[str, ...] = ()
    """of kanachan-train"""
    parts: dict[str, type] = field(default_factory=dict)
    """of the network, by the names that they have in `kanachan.models.transformer`"""
    is_fresh: bool = False
    """a later stage whose encoder does not come from imitation"""


def _imitation(name: str, what: str, *settings: str, **parts: type) -> Variant:
    return Variant(stage="imitation", name=name, what=what, settings=settings, parts=parts)


def _value(stage: StageName, name: str, what: str, *settings: str, is_fresh: bool = False) -> Variant:
    return Variant(stage=stage, name=name, what=what, settings=settings, is_fresh=is_fresh)


def _values(stage: StageName, *others: Variant) -> tuple[Variant, ...]:
    return (
        _value(stage, REFERENCE, "encoder from imitation"),
        _value(stage, "fresh", "fresh encoder", is_fresh=True),
        _value(stage, "no-conservative", "no conservative term", "--objective.conservative", "0"),
        _value(stage, "conservative-3", "conservative term three times as heavy", "--objective.conservative", "0.3"),
        _value(stage, "conservative", "conservative term ten times as heavy", "--objective.conservative", "1"),
        _value(stage, "no-baseline", "no value of the situation learned beside", "--objective.baseline", "0"),
        _value(stage, "muon", "Muon in place of AdamW", "--optim.optimizer", "muon"),
        _value(stage, "together", "neighbours together", "--data.neighbours", "8"),
        _value(stage, "frozen", "encoder frozen for a quarter of the steps", "--optim.encoder_frozen", "{quarter}"),
        _value(
            stage,
            "slow-encoder",
            "a third of the learning rate for the encoder",
            *("--optim.encoder_learning_rate", "{third}"),
        ),
        *others,
    )


def _binned(stage: StageName) -> tuple[Variant, ...]:
    """Of stages whose values are told by bins."""
    return (
        _value(stage, "mse", "squared error in place of HL-Gauss", "--objective.loss", "mse"),
        _value(stage, "few-bins", "31 bins in place of 101", "--objective.bins", "31"),
        _value(stage, "wide", "Gaussian of 2 bins in place of 0.75", "--objective.sigma", "2"),
    )


VARIANTS: tuple[Variant, ...] = (
    _imitation(REFERENCE, "reference"),
    _imitation(
        "adamw",
        "AdamW in place of Muon, twice the rate",
        *("--optim.optimizer", "adamw", "--optim.learning_rate", "{twice}"),
    ),
    _imitation("no-suits", "suits not exchanged", "--data.exchange_suits", "false"),
    _imitation("absolute-seats", "seats not renamed", "--data.actor_first", "false"),
    _imitation("padding", "padding attended to", PaddedAttention=AttendedPadded),
    _imitation("nameless-scores", "scores without the identity of the seat", Encoder=NamelessScores),
    _imitation("sinusoidal", "sinusoidal positions", Encoder=FixedPositions),
    _imitation("rotary", "rotary positions", Encoder=WithoutPositions, PaddedAttention=RotaryPadded),
    _imitation("lonely-candidates", "candidates do not attend to each other", DecoderBlock=LonelyCandidates),
    _imitation("hidden-hands", "auxiliary: the others' hands", "--objective.hidden_hands", "1"),
    _imitation("round-winner", "auxiliary: who wins the round", "--objective.round_winner", "0.3"),
    _imitation("smoothing", "label smoothing 0.1", "--objective.label_smoothing", "0.1"),
    _imitation("average", "moving average of the weights (0.99)", "--optim.average", "0.99"),
    _imitation("dropout", "dropout 0.1", "--model.dropout", "0.1"),
    _imitation("single", "neighbours apart", "--data.neighbours", "1"),
    *_values("round_delta", *_binned("round_delta")),
    *_values("rank"),
    *_values("grading", *_binned("grading")),
)
