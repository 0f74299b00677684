"""The metrics of a uniform choice among the possible actions: chance, in the tables of imitation.

Shapes: B decisions, A candidates, N candidate tokens, K kinds.
"""

import numpy as np

from annotate.vocabulary import Vocabulary
from kanachan.data.columns import Columns
from kanachan.evaluation.bootstrap import REPLICATES, Estimate, cluster_bootstrap, ratio_statistic
from kanachan.evaluation.decision_metrics import KINDS, NO_TILE, kinds_and_tiles


def chance_metrics(columns: Columns, vocabulary: Vocabulary, replicates: int = REPLICATES) -> dict[str, Estimate]:
    """Computes the expected `decision_metrics` of a uniform choice, those of accuracy, likelihood and recall."""
    kinds_NK, tile_N = (table.numpy() for table in kinds_and_tiles(vocabulary))
    candidates = columns.actions
    num_B, first_B = candidates.lengths, candidates.starts[:-1]
    candidate = candidates.values.astype(np.int64) + 1
    chosen_B = candidate[first_B + columns.chosen]
    tile, chosen_tile_B = tile_N[candidate], tile_N[chosen_B]
    is_same_tile = (tile == np.repeat(chosen_tile_B, num_B)) & (tile != NO_TILE)
    num_alike_B = np.maximum(1, np.add.reduceat(is_same_tile.astype(np.int64), first_B))
    share_BK = np.add.reduceat(kinds_NK[candidate].astype(np.int64), first_B) / num_B[:, None]
    taken_BK = kinds_NK[chosen_B]
    lowest_B = np.minimum.reduceat(np.where(tile == NO_TILE, np.iinfo(np.int64).max, tile), first_B)
    is_choice_of_tiles_B = lowest_B < np.maximum.reduceat(tile, first_B)
    everywhere_B = np.ones(len(columns), bool)
    ratios = {"top1": (1 / num_B, everywhere_B), "nll": (np.log(num_B), everywhere_B)}
    for k, kind in enumerate(KINDS):
        where_B = share_BK[:, k] > 0
        if kind == "discard":
            where_B = is_choice_of_tiles_B
            ratios["discard/accuracy"] = (num_alike_B / num_B, where_B)
            ratios["discard/nll"] = (np.log(num_B / num_alike_B), where_B)
        else:
            agrees_B = np.where(taken_BK[:, k], share_BK[:, k], 1 - share_BK[:, k])
            ratios[f"{kind}/accuracy"] = (agrees_B, where_B)
            ratios[f"{kind}/nll"] = (np.log(num_B), where_B)
            ratios[f"{kind}/recall"] = (1 / num_B, where_B & taken_BK[:, k])
        ratios[f"{kind}/exact"] = (1 / num_B, where_B)
    statistics = {name: ratio_statistic(*ratio) for name, ratio in ratios.items() if ratio[1].any()}
    return cluster_bootstrap(columns.game.view(np.int64), statistics, replicates)
