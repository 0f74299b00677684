"""The variants of the study: one choice of the network or of its training at a time differs from the reference."""

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
    """A run that differs from the reference in one choice."""

    stage: StageName
    name: str
    what: str
    """in words, for the table"""
    settings: tuple[str, ...] = ()
    """of kanachan-train"""
    parts: dict[str, type] = field(default_factory=dict)
    """of the network, by their names in `kanachan.models.transformer`"""
    is_fresh: bool = False
    """whether the encoder of a later stage is not initialised from imitation"""


def _imitation(name: str, what: str, *settings: str, **parts: type) -> Variant:
    return Variant(stage="imitation", name=name, what=what, settings=settings, parts=parts)


def _value(stage: StageName, name: str, what: str, *settings: str, is_fresh: bool = False) -> Variant:
    return Variant(stage=stage, name=name, what=what, settings=settings, is_fresh=is_fresh)


def _values(stage: StageName, *others: Variant) -> tuple[Variant, ...]:
    return (
        _value(stage, REFERENCE, "encoder from imitation"),
        _value(stage, "fresh", "fresh encoder", is_fresh=True),
        _value(stage, "no-conservative", "no CQL regulariser", "--objective.conservative", "0"),
        _value(stage, "conservative-3", "CQL regulariser three times as heavy", "--objective.conservative", "0.3"),
        _value(stage, "conservative", "CQL regulariser ten times as heavy", "--objective.conservative", "1"),
        _value(stage, "no-baseline", "no auxiliary value of the situation", "--objective.baseline", "0"),
        _value(stage, "muon", "Muon in place of AdamW", "--optim.optimizer", "muon"),
        _value(stage, "together", "neighbouring decisions in one batch", "--data.neighbours", "8"),
        _value(stage, "frozen", "encoder frozen for a quarter of the steps", "--optim.encoder_frozen", "{quarter}"),
        _value(
            stage,
            "slow-encoder",
            "a third of the learning rate for the encoder",
            *("--optim.encoder_learning_rate", "{third}"),
        ),
        *others,
    )


def _binned(stage: StageName, suffix: str = "", *settings: str) -> tuple[Variant, ...]:
    """Returns the variants of stages whose values are predicted by bins.

    Args:
        suffix: of what they are in words.
        settings: of all of them.
    """
    return (
        _value(stage, "mse", f"squared error in place of HL-Gauss{suffix}", "--objective.loss", "mse", *settings),
        _value(stage, "few-bins", f"31 bins in place of 101{suffix}", "--objective.bins", "31", *settings),
        _value(stage, "wide", f"Gaussian of 2 bins in place of 0.75{suffix}", "--objective.sigma", "2", *settings),
    )


_NO_PRIOR = ("--objective.prior", "null")


VARIANTS: tuple[Variant, ...] = (
    _imitation(REFERENCE, "reference"),
    _imitation(
        "adamw",
        "AdamW in place of Muon, twice the rate",
        *("--optim.optimizer", "adamw", "--optim.learning_rate", "{twice}"),
    ),
    _imitation("no-suits", "no suit permutation", "--data.exchange_suits", "false"),
    _imitation("absolute-seats", "no seat canonicalisation", "--data.actor_first", "false"),
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
    _imitation("single", "decisions drawn one by one", "--data.neighbours", "1"),
    *_values("round_delta", *_binned("round_delta")),
    *_values("rank", _value("rank", "no-prior", "no prior", *_NO_PRIOR)),
    *_values(
        "grading",
        _value("grading", "no-prior", "no prior", *_NO_PRIOR),
        *_binned("grading", ", no prior", *_NO_PRIOR),  # that of the package has the bins of the default
    ),
)
