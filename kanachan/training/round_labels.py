"""Labels of decisions with `objective.target=round`: the outcome that is predicted after their round.

A reward predictor sees no tiles. So its prediction at the start of the next round measures the result of the round, and
has a fraction of the variance of the game's outcome, which depends on many later rounds. After the last round the
outcome itself is known.

The labels of all rounds are computed once for a run, into a file in its folder. All processes of a machine map this
file into their memory.

Shapes: N rounds, S seats, B decisions, L numbers of a soft label.
"""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.lib.format import write_array_header_1_0
from numpy.typing import NDArray

from annotate.runtime.files import locking, remove_parts, replacing
from kanachan.config import ObjectiveConfig, StageName
from kanachan.data.columns import Columns
from kanachan.data.loader import Labeller
from kanachan.data.round_columns import RoundColumns, RoundIndex
from kanachan.data.round_shards import open_rounds
from kanachan.data.shard_file import open_shard_file
from kanachan.data.shard_folder import ROUNDS, splits_in
from kanachan.data.shards import Shards
from kanachan.inference.reward_predictor import RewardPredictor
from kanachan.models.card import file_hash
from kanachan.objectives.networks import objective_class
from kanachan.objectives.objective import Objective
from kanachan.objectives.prior import require_reward_predictor
from kanachan.objectives.targets import Results

_ROUNDS_AT_ONCE = 1 << 16


class RoundLabelling:
    """Computes the soft labels of decisions, once for each split, with the reward predictor in `config`. `stage`: stage
    of `config`; `folder`: folder of the files. Raises ValueError if the weights are not of a reward predictor."""

    def __init__(self, stage: StageName, config: ObjectiveConfig, folder: Path) -> None:
        self._stage, self._config, self._folder = stage, config, folder
        self._name = config.reward or config.prior
        assert self._name is not None, "ObjectiveConfig checks it"
        self._predictor = RewardPredictor.load(self._name)
        self._fingerprint = file_hash(self._name)

    def prepare(self, shards: Shards) -> tuple[Shards, Labeller]:
        """Returns a split and its labels, for `ShardSource`: for each decision, the prediction for its seat at the
        start of the next round or, if this is not known, the outcome of the game. Raises ValueError if the split has no
        rounds, or the reward predictor does not fit."""
        objective = objective_class(self._stage)(self._config, shards.vocabulary)
        setting = "reward" if self._config.reward else "prior"
        require_reward_predictor(self._predictor.card, objective, f"objective.{setting} {self._name}")
        rounds = open_rounds(shards.folder, shards.split, verify=True)
        label_NSL = self._labels_in_file(self._file(Path(shards.folder) / ROUNDS, shards.split), rounds, objective)
        index, is_followed_N = RoundIndex(rounds), rounds.is_whole & ~rounds.is_last

        def labels_of(columns: Columns) -> NDArray[np.float32]:
            row_B = index.rows_of(columns, shards.vocabulary)
            is_followed_B = (row_B >= 0) & is_followed_N[row_B]
            label_BL = objective.label_of_results(Results.of_columns(columns, shards.vocabulary)).numpy()
            label_BL[is_followed_B] = label_NSL[row_B[is_followed_B] + 1, columns.seat[is_followed_B]]
            return label_BL

        return shards, Labeller(self._fingerprint, labels_of)

    def _file(self, rounds: Path, split: str) -> Path:
        """Returns the file of the labels. The file name depends on all inputs of the labels, because an earlier run in
        this folder that was not resumed may have left a file."""
        checksums = [open_shard_file(path)[0]["checksum"] for path in splits_in(rounds)[split]]
        made_from = (self._stage, self._fingerprint, checksums)
        return self._folder / f"{split}-{hashlib.sha256(repr(made_from).encode()).hexdigest()[:16]}.npy"

    def _labels_in_file(self, path: Path, rounds: RoundColumns, objective: Objective) -> NDArray[np.float32]:
        """Returns the labels in a file, which the first process writes; without locks, each process writes the same."""
        path.parent.mkdir(parents=True, exist_ok=True)
        with locking(path.with_name(".lock")) as is_alone:
            if is_alone:
                remove_parts(path.parent)
            if not path.exists():
                with replacing(path) as temporary:
                    self._write(temporary, rounds, objective)
        return np.load(path, mmap_mode="r")

    def _write(self, path: Path, rounds: RoundColumns, objective: Objective) -> None:
        with open(path, "wb") as file:  # not mapped: on a full disk, writing to a map kills the process
            for label_RSL in self._labels(rounds, objective):
                if file.tell() == 0:
                    shape = (len(rounds), *label_RSL.shape[1:])
                    write_array_header_1_0(file, {"descr": "<f4", "fortran_order": False, "shape": shape})
                file.write(label_RSL.astype("<f4").tobytes())

    def _labels(self, rounds: RoundColumns, objective: Objective) -> Iterator[NDArray[np.float32]]:
        """Yields the labels [R, S, L] of some whole games at a time."""
        end_G = np.flatnonzero(rounds.is_last) + 1
        first = 0
        while first < len(rounds):
            place = int(np.searchsorted(end_G, first + _ROUNDS_AT_ONCE))
            last = int(end_G[min(place, len(end_G) - 1)])
            outcome = self._predictor.of_rounds(rounds.rows(first, last))
            yield objective.label_of_prediction(outcome.order_log_probability, outcome.grading_logit).numpy()
            first = last
