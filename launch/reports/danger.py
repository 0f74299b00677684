"""Measures the danger estimate of reviews on a test split.

python launch/reports/danger.py WEIGHTS SHARDS [-o FILE]

The weights need the auxiliary heads (`--objective.hidden_hands`, `--objective.round_winner`), the shards need hidden
hands (`kanachan-annotate --hidden`); both are for four or for three players. A discard has dealt in if it is its seat's
last decision of a round in which the seat dealt in. Discards after the seat's own riichi are left out, as they are not
decisions. The network must not have learned from the games, since it is too confident there. The coefficients of
`kanachan/inference/danger.py` were fitted to other games; docs/LOG.md names the commit that has the fit.

Shapes: B decisions, S seats from the actor on, H other seats, K kinds of tiles, D discards, N cases.
"""

import argparse
from collections import defaultdict
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from annotate.game.engine.hand_evaluator import shanten
from annotate.game.results import dealt_in_to
from annotate.runtime.terminal import require_positive, run_cleanly
from annotate.vocabulary import Vocabulary, tile34_of
from kanachan.data.columns import Columns, round_keys
from kanachan.data.loader import held_out_columns
from kanachan.inference.danger import CHANCES_KEY, estimate_danger, predicts_danger, public_of
from kanachan.inference.policy import Policy
from kanachan.models.weights import read_weights, write_weights
from kanachan.objectives.auxiliary import RoundWinner

_COPIES = 4
_CHUNK = 256
_EDGES = (0.0, 0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.25, 0.4, 0.6)
"""lower limits of the groups of similar chances"""


Group = tuple[float, float, float, int]
"""a group of similar chances: lower limit, mean, frequency and number of cases"""
Cases = tuple[NDArray[np.floating[Any]], NDArray[np.bool_]]
"""the probabilities of some events, and whether each happened"""


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
    require_positive(parser, arguments, "decisions")
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
    found = cases(policy, columns, decisions)
    area = area_under_curve(*found.pop("deal_in_to_seat"))
    chances = {name: _groups(*of_name) for name, of_name in found.items()}
    if output is not None:
        read = read_weights(weights)
        split = {
            "games": len(np.unique(columns.game)),
            "decisions": len(found["win"][0]) // policy.vocabulary.num_seats,
        }
        write_weights(output, read.tensors, {**read.card, CHANCES_KEY: split | chances})
    lines = [f"area under the ROC curve of deal-ins {area:.3f}"]
    for name, bins in chances.items():
        lines += ["", f"{name:<12}{'predicted %':>12}{'observed %':>12}{'cases':>11}"]
        lines += [f"{100 * p:24.2f}{100 * happened:12.2f}{count:11,}" for _, p, happened, count in bins]
    return "\n".join(lines)


def _groups(chance: NDArray[np.floating[Any]], happened: NDArray[np.bool_]) -> list[Group]:
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


def cases(policy: Policy, columns: Columns, limit: int | None) -> dict[str, Cases]:
    """Returns the cases of some decisions, drawn in chunks with a fixed seed: that a seat wins, that another seat
    without riichi is tenpai, and that a discard deals in, to anybody or to a certain seat, if furiten does not prevent
    it."""
    kind_B, counts_B = _discarded_kind(columns, policy.vocabulary)
    winners = (dealt_in_to(result, policy.vocabulary.num_seats) for result in columns.results[:, 0])
    target_B = np.array([-1 if winner is None else winner for winner in winners])
    winner_of_result = RoundWinner(policy.vocabulary).winner_of_result.numpy()
    is_last_B = _last_of_round(columns, policy.vocabulary)
    starts = np.random.default_rng(0).permutation(np.arange(0, len(columns), _CHUNK))
    found: dict[str, list[Cases]] = defaultdict(list)
    for start in starts[: None if limit is None else -(-limit // _CHUNK)].tolist():
        chunk = slice(start, start + _CHUNK)
        rows = columns.rows(start, min(start + _CHUNK, len(columns)))
        danger = estimate_danger(policy, rows)
        win_BS, tenpai_BH = danger.win_BO.numpy()[:, :-1], danger.tenpai_BH.numpy()
        won_BS = winner_of_result[rows.results[:, 0]][:, None] == np.arange(win_BS.shape[1])
        found["win"].append((win_BS.ravel(), won_BS.ravel()))
        is_quiet_BH = tenpai_BH < 1
        found["tenpai"].append((tenpai_BH[is_quiet_BH], _is_tenpai(policy, rows)[is_quiet_BH]))
        row = np.flatnonzero(counts_B[chunk])
        danger_DH = danger.deal_in_BHK.numpy()[row, :, kind_B[chunk][row]]
        dealt_in_DH = is_last_B[chunk][row, None] & (target_B[chunk][row, None] == np.arange(danger_DH.shape[1]))
        may_win_DH = danger_DH > 0
        may_win_D = may_win_DH.any(axis=1)
        anybody_D = danger.deal_in_BK.numpy()[row, kind_B[chunk][row]]
        found["deal_in"].append((anybody_D[may_win_D], dealt_in_DH.any(axis=1)[may_win_D]))
        found["deal_in_to_seat"].append((danger_DH[may_win_DH], dealt_in_DH[may_win_DH]))
    return {name: cast("Cases", tuple(map(np.concatenate, zip(*parts, strict=True)))) for name, parts in found.items()}


def _is_tenpai(policy: Policy, rows: Columns) -> NDArray[np.bool_]:
    """Returns whether each hidden hand is tenpai [B, H]."""
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
    return kind_B, is_discard_B & (riichi_B == 0) & ~public_of(columns, vocabulary).is_riichi_BS[:, 0].numpy()


def _last_of_round(columns: Columns, vocabulary: Vocabulary) -> NDArray[np.bool_]:
    """Returns whether each decision is its seat's last decision of the round."""
    key_B = round_keys(columns, vocabulary)
    order = np.lexsort((columns.progression.lengths, key_B))
    is_last_B = np.zeros(len(columns), bool)
    is_last_B[order[np.append(key_B[order][1:] != key_B[order][:-1], True)]] = True
    return is_last_B


def area_under_curve(probability_N: NDArray[np.floating[Any]], is_true_N: NDArray[np.bool_]) -> float:
    """Returns the share of pairs of a true and a false case in which the true case has the higher probability; equal
    probabilities count half."""
    _, place_N, count_P = np.unique(probability_N, return_inverse=True, return_counts=True)
    rank_N = (np.cumsum(count_P) - (count_P + 1) / 2)[place_N]
    num_true = int(is_true_N.sum())
    return float((rank_N[is_true_N].sum() - num_true * (num_true - 1) / 2) / (num_true * (len(is_true_N) - num_true)))


if __name__ == "__main__":
    raise SystemExit(main())
