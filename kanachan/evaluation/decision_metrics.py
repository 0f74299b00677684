"""What a network is measured by on held-out games: figures with intervals, by kind of decision and for values.

Decisions of a game are not independent, so every interval comes from drawing whole games anew (bootstrap). Each
figure is a function of sums over rows, so that a replicate costs one product of matrices and not a pass over the rows.

Kinds of decision, by what is on offer (a decision can be of several kinds; `taken` = the player's action is of it):

- discard: discards of at least two tiles, red fives and ordinary ones alike
- riichi: a discard that declares riichi; chi, pon, kan (daiminkan, ankan, kakan), ron, tsumo, kyushu: such an action

Shapes: B decisions, A candidates, N candidate tokens, C columns of sums, D distinct ones, G games, K kinds,
R replicates.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import accumulate
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from annotate.vocabulary import NUM_TILES34, Vocabulary, tile34_of
from kanachan.data.batch import Batch

Column = NDArray[Any]  # of floats or booleans
Floats = NDArray[np.float64]
Statistic = Callable[[Floats], Floats]  # sums [R, C] to [R]
KINDS = ("discard", "riichi", "chi", "pon", "kan", "ron", "tsumo", "kyushu")
CALIBRATION_BINS = 15
REPLICATES = 1000
_REPLICATES_AT_ONCE = 50
_NO_TILE = -1


class Figure(NamedTuple):
    """A number measured, its 95 % interval by games, and over how many decisions it is taken."""

    value: float
    low: float
    high: float
    decisions: int


class Formula(NamedTuple):
    """A figure that is still to be computed: a function of sums of columns over the decisions."""

    columns: tuple[Callable[[], Column], ...]
    """each makes [B] when it is to be summed, as all columns together are large"""
    statistic: Statistic
    """of the sums of these columns"""
    where_B: Column
    """the decisions that the figure is taken over, 0 or 1"""


class Bin(NamedTuple):
    """A group of decisions with predictions near each other."""

    predicted: float
    """mean prediction"""
    actual: Figure
    """mean outcome"""


@dataclass(frozen=True)
class DecisionRows:
    """What the figures need of every decision."""

    game_B: NDArray[np.int64]
    is_top_B: NDArray[np.bool_]
    """the action taken has the greatest score"""
    is_top_tile_B: NDArray[np.bool_]
    """the same, where discards of a tile are one action whatever else they say (red five, tsumogiri, riichi)"""
    log_probability_B: NDArray[np.float32]
    """of the action taken"""
    log_probability_of_tile_B: NDArray[np.float32]
    """of the action taken, or of all discards of that tile together"""
    confidence_B: NDArray[np.float32]
    """probability of the candidate with the greatest score"""
    is_offered_BK: NDArray[np.bool_]
    is_taken_BK: NDArray[np.bool_]
    is_predicted_BK: NDArray[np.bool_]

    @staticmethod
    def concatenate(parts: Sequence["DecisionRows"]) -> "DecisionRows":
        return DecisionRows(*(np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(DecisionRows)))


class Measures(NamedTuple):
    """The fields of `DecisionRows` of one batch, but for its games, on the device of the scores."""

    is_top_B: Tensor
    is_top_tile_B: Tensor
    log_probability_B: Tensor
    log_probability_of_tile_B: Tensor
    confidence_B: Tensor
    is_offered_BK: Tensor
    is_taken_BK: Tensor
    is_predicted_BK: Tensor


class DecisionMeter:
    """Batches and their scores → rows. Holds what the vocabulary says of each candidate."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        kinds_of_block = {"daiminkan": "kan", "ankan": "kan", "kakan": "kan", "skip": None}
        self._kinds_NK = torch.zeros(1 + vocabulary.action.size, len(KINDS), dtype=torch.bool)
        self._tile_N = torch.full((1 + vocabulary.action.size,), _NO_TILE)
        for action in range(vocabulary.action.size):
            block, factors = vocabulary.action.describe(action)
            kind = kinds_of_block.get(block, block)
            if kind is not None:
                self._kinds_NK[1 + action, KINDS.index(kind)] = True
            if block == "discard":
                self._tile_N[1 + action] = tile34_of(factors["tile"])
                self._kinds_NK[1 + action, KINDS.index("riichi")] = bool(factors["riichi"])

    def rows(self, score_BA: Tensor, batch: Batch) -> DecisionRows:
        """Measures a batch, for figures with intervals; arguments as for `measure`."""
        measures = {name: tensor.cpu().numpy() for name, tensor in self.measure(score_BA, batch)._asdict().items()}
        return DecisionRows(game_B=batch.game_B.cpu().numpy(), **measures)

    def measure(self, score_BA: Tensor, batch: Batch) -> Measures:
        """Measures a batch where it is, without waiting for the device.

        Args:
            score_BA: -inf at padding. Probabilities are its softmax; where scores are points rather than logits, the
                rows' probabilities mean nothing.
        """
        if self._kinds_NK.device != score_BA.device:
            self._kinds_NK, self._tile_N = self._kinds_NK.to(score_BA.device), self._tile_N.to(score_BA.device)
        candidate_BA, chosen_B1 = batch.candidate_BA.long(), batch.chosen_B[:, None]
        score_BA = score_BA.detach().float()
        top_B1 = score_BA.argmax(dim=1, keepdim=True)
        log_probability_BA = score_BA.log_softmax(dim=1)
        tile_BA = self._tile_N[candidate_BA]
        chosen_tile_B1, top_tile_B1 = tile_BA.gather(1, chosen_B1), tile_BA.gather(1, top_B1)
        is_top_B1 = top_B1 == chosen_B1
        is_same_tile_B1 = (chosen_tile_B1 == top_tile_B1) & (chosen_tile_B1 != _NO_TILE)
        index_BA = torch.arange(candidate_BA.shape[1], device=score_BA.device)
        is_alike_BA = (index_BA == chosen_B1) | ((tile_BA == chosen_tile_B1) & (tile_BA != _NO_TILE))
        kinds_BAK = self._kinds_NK[candidate_BA]
        is_offered_BK = kinds_BAK.any(dim=1)
        highest_B = tile_BA.amax(dim=1)
        lowest_B = tile_BA.masked_fill(tile_BA == _NO_TILE, NUM_TILES34).amin(dim=1)
        is_offered_BK[:, KINDS.index("discard")] = lowest_B < highest_B
        return Measures(
            is_top_B=is_top_B1[:, 0],
            is_top_tile_B=(is_top_B1 | is_same_tile_B1)[:, 0],
            log_probability_B=log_probability_BA.gather(1, chosen_B1)[:, 0],
            log_probability_of_tile_B=log_probability_BA.masked_fill(~is_alike_BA, -torch.inf).logsumexp(1),
            confidence_B=log_probability_BA.gather(1, top_B1)[:, 0].exp(),
            is_offered_BK=is_offered_BK,
            is_taken_BK=_at(kinds_BAK, chosen_B1),
            is_predicted_BK=_at(kinds_BAK, top_B1),
        )


def decision_figures(
    rows: DecisionRows, *, has_probability: bool = True, replicates: int = REPLICATES
) -> dict[str, Figure]:
    """Figures of all decisions and, as `kind/…`, of each kind that occurs.

    - `top1`, `nll`: share of decisions whose action taken has the greatest score; mean of -log probability (nats)
    - `ece`: expected calibration error of the top choice, 15 bins of equal width
    - `discard/accuracy`, `discard/nll`: as top1 and nll where discards of a tile are one action (34 tiles)
    - `kind/accuracy` of the other kinds: whether the top choice is of the kind just where the action taken is
    - `kind/exact`: top1 among the decisions of the kind; `kind/nll` likewise
    - `kind/recall`: of the decisions where an action of the kind was taken, the share whose top choice is that action
    - `kind/taken`, `kind/predicted`: share of the decisions of the kind where it was taken, and is the top choice

    Args:
        has_probability: without it (scores are points) there is no nll and no ece.
    """
    return figures_of(rows.game_B, decision_formulas(rows, has_probability=has_probability), replicates)


def decision_formulas(rows: DecisionRows, *, has_probability: bool = True) -> dict[str, Formula]:
    """What `decision_figures` computes."""
    ratios: dict[str, tuple[Column, Column]] = {}
    everywhere_B = np.ones(len(rows.game_B), dtype=bool)
    ratios["top1"] = (rows.is_top_B, everywhere_B)
    ratios["nll"] = (-rows.log_probability_B.astype(np.float64), everywhere_B)
    for k, kind in enumerate(KINDS):
        offered_B, taken_B, predicted_B = (
            table[:, k] for table in (rows.is_offered_BK, rows.is_taken_BK, rows.is_predicted_BK)
        )
        is_discard = kind == "discard"
        agrees_B = rows.is_top_tile_B if is_discard else taken_B == predicted_B
        log_probability_B = rows.log_probability_of_tile_B if is_discard else rows.log_probability_B
        ratios[f"{kind}/accuracy"] = (agrees_B, offered_B)
        ratios[f"{kind}/exact"] = (rows.is_top_B, offered_B)
        ratios[f"{kind}/nll"] = (-log_probability_B.astype(np.float64), offered_B)
        if not is_discard:
            ratios[f"{kind}/recall"] = (rows.is_top_B, offered_B & taken_B)
            ratios[f"{kind}/taken"] = (taken_B, offered_B)
            ratios[f"{kind}/predicted"] = (predicted_B, offered_B)
    formulas = {
        name: ratio_formula(value_B, where_B)
        for name, (value_B, where_B) in ratios.items()
        if where_B.any() and (has_probability or not name.endswith("nll"))
    }
    if has_probability:
        formulas["ece"] = calibration_formula(rows.confidence_B, rows.is_top_B)
    return formulas


def calibration_formula(confidence_B: Column, is_right_B: Column, where_B: Column | None = None) -> Formula:
    """Expected calibration error: the mean distance of confidence from accuracy over 15 bins of equal width, weighted
    by their decisions, of all or of those where `where_B` says so.

    Args:
        confidence_B: the probability of what is held for likeliest.
        is_right_B: whether it came true.
    """
    taken_B = np.ones(len(confidence_B), dtype=bool) if where_B is None else where_B
    bin_B = np.minimum((confidence_B * CALIBRATION_BINS).astype(int), CALIBRATION_BINS - 1)
    gap_B = np.where(taken_B, confidence_B - is_right_B, 0.0)

    def gap(number: int) -> Callable[[], Column]:
        return lambda: np.where(bin_B == number, gap_B, 0.0)

    def error(sums_RC: Floats) -> Floats:
        return np.abs(sums_RC[:, :-1]).sum(axis=1) / sums_RC[:, -1]

    return Formula((*map(gap, range(CALIBRATION_BINS)), lambda: taken_B), error, taken_B)


def value_figures(
    game_B: NDArray[np.int64],
    value_B: Floats,
    target_B: Floats,
    baseline_B: Floats,
    replicates: int = REPLICATES,
) -> dict[str, Figure]:
    """How well values predict their targets.

    - `explained_variance`: 1 - mean squared error / variance of the target
    - `baseline/explained_variance`: the same of the baseline
    - `skill`: 1 - mean squared error / mean squared error of the baseline
    - `bias`: mean of value less target

    Args:
        value_B: the network's prediction.
        baseline_B: the prediction of something that sees scores and round only (`kanachan.evaluation.baselines`).
    """
    error_B = value_B - target_B
    formulas = {
        "explained_variance": explained_variance_formula(value_B, target_B),
        "baseline/explained_variance": explained_variance_formula(baseline_B, target_B),
        "skill": Formula(
            (lambda: error_B**2, lambda: (baseline_B - target_B) ** 2),
            lambda s: 1 - s[:, 0] / s[:, 1],
            np.ones(len(target_B), dtype=bool),
        ),
        "bias": ratio_formula(error_B),
    }
    return figures_of(game_B, formulas, replicates)


def explained_variance_formula(value_B: Floats, target_B: Floats) -> Formula:
    """1 - mean squared error / variance of the target."""
    centred_B, everywhere_B = target_B - target_B.mean(), np.ones(len(target_B), dtype=bool)
    return Formula(
        (lambda: everywhere_B, lambda: centred_B, lambda: centred_B**2, lambda: (value_B - target_B) ** 2),
        lambda s: 1 - s[:, 3] / (s[:, 2] - s[:, 1] ** 2 / s[:, 0]),
        everywhere_B,
    )


def reliability(
    game_B: NDArray[np.int64],
    value_B: Floats,
    target_B: Floats,
    num_bins: int = 10,
    replicates: int = REPLICATES,
) -> list[Bin]:
    """Predictions in deciles, each with its mean outcome: where values are reliable, the two are equal."""
    bins = []
    for rows in np.array_split(np.argsort(value_B, kind="stable"), num_bins):
        if len(rows):
            mean = {"mean": (target_B[rows], np.ones(len(rows)))}
            outcome = ratio_figures(game_B[rows], mean, replicates)["mean"]
            bins.append(Bin(float(value_B[rows].mean()), outcome))
    return bins


def log_likelihood_figures(
    game_B: NDArray[np.int64], log_probability: dict[str, Floats], replicates: int = REPLICATES
) -> dict[str, Figure]:
    """Mean log probability (nats) of what came true, by name of the predictor.

    Chance is -ln 4 = -1.386 for the actor's rank and -ln 24 = -3.178 for the order of four seats.
    """
    return figures_of(game_B, {name: ratio_formula(values) for name, values in log_probability.items()}, replicates)


def ratio_figures(
    game_B: NDArray[np.int64], ratios: dict[str, tuple[Column, Column]], replicates: int = REPLICATES
) -> dict[str, Figure]:
    """Means of numerators over the rows where denominators (0 or 1) say so, with intervals."""
    return figures_of(game_B, {name: ratio_formula(*ratio) for name, ratio in ratios.items()}, replicates)


def ratio_formula(value_B: Column, where_B: Column | None = None) -> Formula:
    """The mean of values over the rows where `where_B` (0 or 1) says so, or over all."""
    taken_B = np.ones(len(value_B), dtype=bool) if where_B is None else where_B
    columns = (lambda: np.where(taken_B, value_B, 0.0), lambda: taken_B)
    return Formula(columns, lambda sums_RC: sums_RC[:, 0] / sums_RC[:, 1], taken_B)


def figures_of(
    game_B: NDArray[np.int64], formulas: Mapping[str, Formula], replicates: int = REPLICATES
) -> dict[str, Figure]:
    """Formulas computed, with intervals; the same games are drawn for all of them."""

    def placed(formula: Formula, first: int) -> Statistic:
        return lambda sums_RC: formula.statistic(sums_RC[:, first : first + len(formula.columns)])

    columns = [make for formula in formulas.values() for make in formula.columns]
    ends = accumulate(len(formula.columns) for formula in formulas.values())
    statistics = [placed(f, end - len(f.columns)) for f, end in zip(formulas.values(), ends, strict=True)]
    counts = [int(formula.where_B.sum()) for formula in formulas.values()]
    figures = figures_of_sums(game_B, (make() for make in columns), statistics, counts, replicates)
    return dict(zip(formulas, figures, strict=True))


def figures_of_sums(
    game_B: NDArray[np.int64],
    columns: Iterable[Column],
    statistics: Sequence[Statistic],
    counts: Sequence[int],
    replicates: int = REPLICATES,
    seed: int = 0,
) -> list[Figure]:
    """Functions of sums of columns, with 95 % percentile intervals from drawing games with replacement.

    Args:
        columns: C times [B]; taken one by one, as all of them together are large.
        statistics: each takes sums [R, C] and returns [R].
        counts: of each statistic, the number of decisions behind it.
    """
    games, game_index_B = np.unique(game_B, return_inverse=True)
    # Columns with equal sums are one, so that equal figures have equal draws to the last bit: a product of matrices
    # does not promise to round all its columns alike.
    place_of: dict[bytes, int] = {}
    place_C = []
    for column in columns:
        sum_G = np.bincount(game_index_B, column, len(games))
        place_C.append(place_of.setdefault(sum_G.tobytes(), len(place_of)))
    sums_GD = np.stack([np.frombuffer(sum_G) for sum_G in place_of], axis=1)
    rng = np.random.default_rng(seed)
    share_G = np.full(len(games), 1 / len(games))
    sums_RC = np.concatenate(
        [
            rng.multinomial(len(games), share_G, size=min(_REPLICATES_AT_ONCE, replicates - first)) @ sums_GD
            for first in range(0, replicates, _REPLICATES_AT_ONCE)
        ]
    )[:, place_C]
    total_1C = sums_GD.sum(axis=0, keepdims=True)[:, place_C]
    figures = []
    with np.errstate(invalid="ignore", divide="ignore"):
        for statistic, count in zip(statistics, counts, strict=True):
            value = float(statistic(total_1C)[0])
            drawn_R = statistic(sums_RC)
            drawn_R = drawn_R[~np.isnan(drawn_R)]  # a rare kind may be missing from all games drawn
            # infinity is a value: of stable dan, where no fourth place was drawn
            method: Literal["linear", "inverted_cdf"] = "linear" if np.isfinite(drawn_R).all() else "inverted_cdf"
            low, high = np.quantile(drawn_R, (0.025, 0.975), method=method) if len(drawn_R) else (np.nan, np.nan)
            figures.append(Figure(value, float(low), float(high), count))
    return figures


def _at(kinds_BAK: Tensor, index_B1: Tensor) -> Tensor:
    """[B, K] of one candidate per row."""
    return kinds_BAK.gather(1, index_B1[:, :, None].expand(-1, 1, kinds_BAK.shape[2]))[:, 0]
