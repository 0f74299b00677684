"""Measures the danger estimate of reviews on a test split.

python launch/reports/danger.py WEIGHTS SHARDS [-o FILE]

The weights need the auxiliary heads (`--objective.hidden_hands`, `--objective.round_winner`), the shards need hidden
hands (`kanachan-annotate --hidden`); both are for four or for three players. A discard has dealt in if it is its seat's
last decision of a round in which the seat dealt in. Discards after the seat's own riichi are left out, as they are not
decisions. The network must not have learned from the games, since it is too confident there. The coefficients of
`kanachan/inference/danger.py` were fitted to other games; docs/LOG.md names the commit that has the fit.

Shapes: N pairs of discard and seat that could win on it, D discards, W decisions, O outcomes of a round, F features.
"""

import argparse
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from annotate.game.engine.hand_evaluator import shanten
from annotate.game.results import dealt_in_to
from annotate.runtime.terminal import run_cleanly
from annotate.vocabulary import Vocabulary, tile34_of
from kanachan.data.columns import Columns, round_keys
from kanachan.data.loader import held_out_columns
from kanachan.inference.danger import (
    CHANCES_KEY,
    COEFFICIENTS,
    Coefficients,
    danger_inputs,
    events_of,
    predicts_danger,
)
from kanachan.inference.policy import Policy
from kanachan.models.weights import read_weights, write_weights
from kanachan.objectives.auxiliary import RoundWinner

_COPIES = 4
_CHUNK = 256
_EDGES = (0.0, 0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.25, 0.4, 0.6)
"""lower limits of the groups of similar chances"""


class Samples(NamedTuple):
    """The data on which the three regressions are measured."""

    feature_NF: NDArray[np.float64]
    dealt_in_N: NDArray[np.bool_]
    discard_N: NDArray[np.int64]
    """number of the discard; the pairs of a discard are adjacent"""
    tenpai_feature_TF: NDArray[np.float64]
    is_tenpai_T: NDArray[np.bool_]
    win_feature_WOF: NDArray[np.float32]
    winner_W: NDArray[np.int64]
    """outcome: the winning seat, relative to the actor, or nobody"""


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="launch/reports/danger.py",
        description="Measures the danger estimate (kanachan/inference/danger.py) on the discards of a test split.",
    )
    parser.add_argument("weights", help="weights with the auxiliary heads hidden_hands and round_winner")
    parser.add_argument("shards", type=Path, help="folder of shards with hidden hands")
    parser.add_argument("--decisions", type=int, help="number of decisions (default: all)")
    parser.add_argument("-o", "--output", type=Path, help="weights file to write, with the chances in its card")
    arguments = parser.parse_args()
    return run_cleanly(
        parser.prog,
        lambda: print(report(arguments.weights, arguments.shards, arguments.decisions, arguments.output)),
    )


def report(weights: str, shards: Path, decisions: int | None, output: Path | None = None) -> str:
    """Formats tables of predicted and observed frequencies, and stores these frequencies in the card of `output`.

    Raises:
        ValueError: the weights lack auxiliary heads, or the shards lack hidden hands or a test split.
    """
    policy = Policy.load(weights)
    if not predicts_danger(policy):
        raise ValueError(f"{weights}: trained without objective.hidden_hands or objective.round_winner")
    columns = held_out_columns(shards, "test", policy.vocabulary, hidden=True)
    test, used = samples(policy, columns, decisions), COEFFICIENTS[policy.vocabulary.num_seats]
    chances = chances_of(test, used)
    if output is not None:
        read = read_weights(weights)
        split = {"games": len(np.unique(columns.game)), "decisions": len(test.winner_W)}
        write_weights(output, read.tensors, {**read.card, CHANCES_KEY: split | chances})
    danger_N = predicted(test.feature_NF, np.array(used.deal_in))
    area, loss = area_under_curve(danger_N, test.dealt_in_N), log_loss(danger_N, test.dealt_in_N)
    lines = [f"area under the ROC curve of deal-ins {area:.3f}, {loss:.5f} nats"]
    for name, bins in chances.items():
        lines += ["", f"{name:<12}{'predicted %':>12}{'observed %':>12}{'cases':>11}"]
        lines += [f"{100 * p:24.2f}{100 * happened:12.2f}{count:11,}" for _, p, happened, count in bins]
    return "\n".join(lines)


def chances_of(test: Samples, used: Coefficients) -> dict[str, list[tuple[float, float, float, int]]]:
    """Returns the lower limit, mean, frequency and number of cases of each group of similar chances."""
    win_WO = win_probability(test.win_feature_WOF, np.array(used.win))[:, :-1]
    won_WO = test.winner_W[:, None] == np.arange(win_WO.shape[1])
    found = {
        "win": (win_WO.ravel(), won_WO.ravel()),
        "tenpai": (predicted(test.tenpai_feature_TF, np.array(used.tenpai)), test.is_tenpai_T),
        "deal_in": _by_discard(test, predicted(test.feature_NF, np.array(used.deal_in))),
    }
    return {name: _groups(*pair) for name, pair in found.items()}


def _by_discard(test: Samples, danger_N: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Returns the chance that a discard deals in to any seat [D], as a review shows it, and whether it did [D]."""
    first_D = np.flatnonzero(np.diff(test.discard_N, prepend=-1))
    return 1 - np.multiply.reduceat(1 - danger_N, first_D), np.logical_or.reduceat(test.dealt_in_N, first_D)


def _groups(chance: NDArray[np.float64], happened: NDArray[np.bool_]) -> list[tuple[float, float, float, int]]:
    group = np.searchsorted(_EDGES, chance, side="right") - 1
    found = []
    for number, lowest in enumerate(_EDGES):
        of_group = group == number
        if of_group.any():
            mean, share = float(chance[of_group].mean()), float(happened[of_group].mean())
            found.append((lowest, round(mean, 5), round(share, 5), int(of_group.sum())))
        else:
            found.append((lowest, lowest, 0.0, 0))
    return found


def samples(policy: Policy, columns: Columns, limit: int | None) -> Samples:
    """Returns the samples of some decisions, drawn in chunks with a fixed seed; discards are paired with each seat that
    could win on them."""
    kind_B, counts_B = _discarded_kind(columns, policy.vocabulary)
    winners = (dealt_in_to(result, policy.vocabulary.num_seats) for result in columns.results[:, 0])
    target_B = np.array([-1 if winner is None else winner for winner in winners])
    winner_of_result = RoundWinner(policy.vocabulary).winner_of_result.numpy()
    is_last_B = _last_of_round(columns, policy.vocabulary)
    starts = np.random.default_rng(0).permutation(np.arange(0, len(columns), _CHUNK))
    parts = []
    for start in starts[: None if limit is None else -(-limit // _CHUNK)].tolist():
        chunk = slice(start, start + _CHUNK)
        rows = columns.rows(start, min(start + _CHUNK, len(columns)))
        inputs = danger_inputs(policy, rows)
        row = np.flatnonzero(counts_B[chunk])
        kind = kind_B[chunk][row]
        may_win_NH = ~inputs.is_safe_BHK.numpy()[row, :, kind]
        seat = np.arange(may_win_NH.shape[1])
        dealt_in_NH = is_last_B[chunk][row, None] & (target_B[chunk][row, None] == seat)
        quiet_BH = ~inputs.is_riichi_BH.numpy()
        parts.append(
            Samples(
                inputs.feature_BHKF.numpy()[row, :, kind][may_win_NH].astype(np.float64),
                dealt_in_NH[may_win_NH],
                start + np.repeat(row, may_win_NH.sum(axis=1)),
                inputs.tenpai_feature_BHF.numpy()[quiet_BH].astype(np.float64),
                _is_tenpai(policy, rows)[quiet_BH],
                inputs.win_feature_BOF.numpy(),
                winner_of_result[rows.results[:, 0]],
            )
        )
    return Samples(*(np.concatenate(each) for each in zip(*parts, strict=True)))


def _is_tenpai(policy: Policy, rows: Columns) -> NDArray[np.bool_]:
    """Returns whether each hidden hand is tenpai [W, H]."""
    counts_BHK = policy.batch(rows).hand_count_BHK
    assert counts_BHK is not None
    found = [
        shanten([_COPIES * kind + i for kind in np.flatnonzero(hand) for i in range(hand[kind])], counts.shape[0] + 1)
        for counts in counts_BHK.numpy()
        for hand in counts
    ]
    return np.array(found).reshape(counts_BHK.shape[:2]) == 0


def _discarded_kind(columns: Columns, vocabulary: Vocabulary) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Returns the kind of tile that each decision discards, and whether it is a discard without a riichi now or
    earlier."""
    block = vocabulary.action["discard"]
    action_B = columns.actions.values[columns.actions.starts[:-1] + columns.chosen].astype(np.int64) - block.first
    is_discard_B = (action_B >= 0) & (action_B < block.size)
    tile_B, _, riichi_B = np.unravel_index(np.where(is_discard_B, action_B, 0), [f.size for f in block.factors])
    kind_B = np.array([tile34_of(tile) for tile in range(block.factors[0].size)])[tile_B]
    row, seat, _, _, riichi = events_of(columns, vocabulary, "discard")
    is_riichi_B = np.zeros(len(columns), bool)
    is_riichi_B[row[(riichi == 1) & (seat == 0)]] = True
    return kind_B, is_discard_B & (riichi_B == 0) & ~is_riichi_B


def _last_of_round(columns: Columns, vocabulary: Vocabulary) -> NDArray[np.bool_]:
    """Returns whether each decision is its seat's last decision of the round."""
    key_B = round_keys(columns, vocabulary)
    order = np.lexsort((columns.progression.lengths, key_B))
    is_last_B = np.zeros(len(columns), bool)
    is_last_B[order[np.append(key_B[order][1:] != key_B[order][:-1], True)]] = True
    return is_last_B


def win_probability(feature_WOF: NDArray[Any], coefficient_F: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns the probability of each outcome [W, O]."""
    return np.asarray(torch.from_numpy(feature_WOF @ coefficient_F).softmax(dim=1))


def predicted(feature_NF: NDArray[np.float64], coefficient_F: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns the probability of each row."""
    return np.asarray(torch.from_numpy(feature_NF @ coefficient_F).sigmoid())


def log_loss(probability_N: NDArray[np.float64], is_true_N: NDArray[np.bool_]) -> float:
    """Returns the mean negative log-likelihood in nats."""
    return float(-np.log(np.where(is_true_N, probability_N, 1 - probability_N)).mean())


def area_under_curve(probability_N: NDArray[np.float64], is_true_N: NDArray[np.bool_]) -> float:
    """Returns the share of pairs of a true and a false case in which the true case has the higher probability; equal
    probabilities count half."""
    _, place_N, count_P = np.unique(probability_N, return_inverse=True, return_counts=True)
    rank_N = (np.cumsum(count_P) - (count_P + 1) / 2)[place_N]
    num_true = int(is_true_N.sum())
    return float((rank_N[is_true_N].sum() - num_true * (num_true - 1) / 2) / (num_true * (len(is_true_N) - num_true)))


if __name__ == "__main__":
    raise SystemExit(main())
