"""The mean of a network's outputs under all suit permutations: six, of three players two.

The permutations are symmetries of the game (`kanachan.data.symmetry.suit_permutations`), to which a network trained
with them is invariant only approximately. The mean is exactly invariant and slightly more accurate than a single
output, at six times the cost.

Shapes: P permutations, else as in kanachan.data.batch.
"""

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor, nn

from annotate.vocabulary import Vocabulary
from kanachan.data.batch import Batch, TokenLayout
from kanachan.data.symmetry import suit_permutations
from kanachan.models.transformer import Network, Output


class SuitAverage(Network):
    """Raw outputs of a network, averaged over the suit permutations: logits, or values. `network`: with batches that
    are not packed."""

    token_PV: Tensor
    candidate_PC: Tensor

    def __init__(self, network: Network, vocabulary: Vocabulary) -> None:
        nn.Module.__init__(self)
        self.network = network
        tables, layout = suit_permutations(vocabulary), TokenLayout(vocabulary)
        padding = np.zeros((len(tables.sparse), 1), np.int64)  # is not permuted
        token_PV = np.concatenate(
            (padding, tables.sparse + layout.sparse_first, tables.progression.astype(np.int64) + layout.event_first),
            axis=1,
        )
        self.register_buffer("token_PV", torch.from_numpy(token_PV.astype(np.int32)), persistent=False)
        candidate_PC = np.concatenate((padding, tables.action.astype(np.int64) + 1), axis=1)
        self.register_buffer("candidate_PC", torch.from_numpy(candidate_PC.astype(np.int32)), persistent=False)

    def forward(self, batch: Batch) -> Output:
        assert batch.varlen is None
        outputs = [self.network(self._permuted(batch, number)) for number in range(len(self.token_PV))]
        candidate_PBAK, summary_PBK, (mask_BA, *_), _ = zip(*outputs, strict=True)
        return Output(torch.stack(candidate_PBAK).mean(dim=0), torch.stack(summary_PBK).mean(dim=0), mask_BA)

    def _permuted(self, batch: Batch, number: int) -> Batch:
        token_V, candidate_C = self.token_PV[number], self.candidate_PC[number]
        return replace(
            batch,
            tile_BT=token_V[batch.tile_BT],
            event_GE=token_V[batch.event_GE],
            candidate_BA=candidate_C[batch.candidate_BA],
        )
