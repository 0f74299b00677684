"""The stage that a run started from (--init), kept beside the run: what becomes of its encoder?

Two answers. Its own question, put again: the loss of its decoder and heads, which stay as they were, over the encoder
as it is now. And its weights: how far they have turned away from where they started.

A shape: P parts of the encoder.
"""

import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import safe_open
from torch import Tensor

from annotate.runtime.files import replacing
from kanachan.data.batch import Batch
from kanachan.models.transformer import Network
from kanachan.models.weights import ENCODER_PREFIX, lineage_of, read_weights, weights_file
from kanachan.objectives.registry import load_network
from kanachan.training.devices import accumulation_dtype

INIT_NAME = "init.safetensors"
_STATE_PREFIX = "network."  # of the keys of the stage's state


class PreviousStage:
    """The decoder, the heads and the objective of an earlier stage, and its encoder as a file.

    Args:
        path: its weights file.
        kept: where `keep` puts a copy, so that the run can be resumed when the file is gone.

    Raises:
        ValueError: it is no whole weights file.
    """

    def __init__(self, path: Path, kept: Path) -> None:
        self.path = path
        self._kept = kept
        with torch.random.fork_rng(devices=[]):  # the weights that the run draws are the same with and without this
            network, self._objective, _ = load_network(path)
        del network.encoder
        self._network: Network = network
        self.stage = self._objective.stage
        self.lineage = lineage_of(read_weights(path))
        """the stages up to this one"""

    def keep(self) -> None:
        """Copies the weights file into the run's folder; one process of a run does it."""
        if self.path != self._kept:
            with replacing(self._kept) as temporary:
                shutil.copyfile(self.path, temporary)
            self.path = self._kept

    def join(self, network: Network, device: torch.device) -> None:
        """Puts the encoder of `network` under the decoder and the heads; both must be where the run computes."""
        dtype = network.head.weight.dtype
        if "encoder" in dict(self._network.named_children()):
            del self._network.encoder  # it is not ours to be moved
        self._network.to(device, dtype)
        self._objective.to(device)
        self._network.encoder = network.encoder

    def loss(self, batch: Batch) -> Tensor:
        """The loss that the former stage had minimised, with the encoder of today."""
        return self._objective.loss(self._network(batch), batch)["loss"]

    def drift(self, state: Mapping[str, Tensor]) -> dict[str, float]:
        """1 - cosine between the encoder's weights then and now, 0 for no change: of `embeddings`, `block_01`, …

        Args:
            state: the state of the run's module, all tensors whole.
        """
        products: dict[str, list[Tensor]] = {}
        with safe_open(self.path, framework="pt") as opened:
            for name in opened.keys():  # noqa: SIM118, it is no mapping
                part = _part(name)
                if part is not None:
                    now = state[_STATE_PREFIX + name].detach().flatten()
                    exact = accumulation_dtype(now.device)
                    then, now = opened.get_tensor(name).to(now.device).flatten().to(exact), now.to(exact)
                    products.setdefault(part, []).append(torch.stack([then @ now, then @ then, now @ now]))
        sums_P3 = torch.stack([torch.stack(of_part).sum(dim=0) for of_part in products.values()])
        drift_P = 1 - sums_P3[:, 0] / (sums_P3[:, 1] * sums_P3[:, 2]).sqrt()
        return dict(sorted(zip(products, drift_P.clamp(min=0).tolist(), strict=True)))


def former_stage(init: str | None, out: Path, *, is_resumed: bool) -> PreviousStage | None:
    """The stage that a run in `out` started from; None if it started from scratch.

    A resumed run takes its own copy. Where that is gone, it says so and goes on without.
    """
    kept = out / INIT_NAME
    if init is None:
        return None
    if not is_resumed:
        return PreviousStage(weights_file(init), kept)
    if kept.exists():
        return PreviousStage(kept, kept)
    print(f"{kept} is gone: the curves old/… and drift/… end here", file=sys.stderr)
    return None


def _part(name: str) -> str | None:
    """Which part of the encoder a tensor of a weights file belongs to; None for what is measured in no part."""
    if not name.startswith(ENCODER_PREFIX):
        return None
    first, *rest = name.removeprefix(ENCODER_PREFIX).split(".")
    if first == "blocks":
        return f"block_{int(rest[0]) + 1:02d}"
    return "embeddings" if first.endswith("embedding") or first == "number_weight" else None
