"""Measures how far a run forgets the stage that it started from (--init), in two ways.

The loss of the previous stage: its decoder and heads, unchanged, over the encoder as it is now. And the drift of the
encoder's weights: the cosine distance from where they started.

Shape: P parts of the encoder.
"""

import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from torch import Tensor

from annotate.runtime.files import replacing
from kanachan.data.batch import Batch
from kanachan.models.card import weights_file
from kanachan.models.fewer_blocks import kept_blocks, name_in_fewer
from kanachan.models.transformer import Network
from kanachan.models.weights import ENCODER_PREFIX, lineage_of, read_weights
from kanachan.objectives.networks import load_network
from kanachan.training.devices import accumulation_dtype

INIT_NAME = "init.safetensors"


class PreviousStage:
    """The decoder, the heads and the objective of an earlier stage, and its encoder as a file.

    Args:
        path: its weights file.
        copy: where `save_copy` writes a copy, so that the run can be resumed when the file is gone.

    Raises:
        ValueError: it is not a complete weights file.
    """

    def __init__(self, path: Path, copy: Path) -> None:
        self.path = path
        self._copy = copy
        with torch.random.fork_rng(devices=[]):  # the run initialises the same weights with and without this
            network, self._objective, _ = load_network(path)
        del network.encoder
        self._network: Network = network
        self.stage = self._objective.stage
        self.vocabulary = self._objective.vocabulary
        weights = read_weights(path)
        self._layers = weights.model.layers
        self.lineage = lineage_of(weights)
        """the stages up to this one"""
        self.settings: Mapping[str, Any] = weights.card.get("config", {})
        """of its run, as far as its card has them"""

    def save_copy(self) -> None:
        """Copies the weights file into the run's folder; only one process of a run may call it."""
        if self.path != self._copy:
            with replacing(self._copy) as temporary:
                shutil.copyfile(self.path, temporary)
            self.path = self._copy

    def join(self, network: Network, device: torch.device) -> None:
        """Attaches the encoder of `network` to the decoder and the heads, and moves these to the device of the run."""
        dtype = network.head.weight.dtype
        if "encoder" in dict(self._network.named_children()):
            del self._network.encoder  # it belongs to the run, so it must not be moved
        self._network.to(device, dtype)
        self._objective.to(device)
        self._network.encoder = network.encoder

    def loss(self, batch: Batch) -> Tensor:
        """Computes the loss of the previous stage with the current encoder, on the outcomes themselves."""
        batch = batch.without_soft_labels()
        return self._objective.loss(self._network(batch), batch)["loss"]

    def drift(self, tensors: Mapping[str, Tensor]) -> dict[str, float]:
        """Computes 1 - cosine between the initial and the current weights of the encoder of `join`, for `embeddings`,
        `block_01`, … as that counts them, if it has fewer.

        Args:
            tensors: of the run's network, whole, by their names in a weights file.
        """
        kept = kept_blocks(self._layers, len(self._network.encoder.blocks))
        products: dict[str, list[Tensor]] = {}
        with safe_open(self.path, framework="pt") as opened:
            for name in opened.keys():  # noqa: SIM118, it is not a mapping
                if not name.startswith(ENCODER_PREFIX):
                    continue
                own = name_in_fewer(name.removeprefix(ENCODER_PREFIX), kept)
                part = None if own is None else _part(own)
                if part is not None:
                    now = tensors[f"{ENCODER_PREFIX}{own}"].detach().flatten()
                    exact = accumulation_dtype(now.device)
                    then = opened.get_tensor(name).to(now.device).flatten().to(exact)
                    now = now.to(exact)
                    products.setdefault(part, []).append(torch.stack([then @ now, then @ then, now @ now]))
        sums_P3 = torch.stack([torch.stack(of_part).sum(dim=0) for of_part in products.values()])
        drift_P = 1 - sums_P3[:, 0] / (sums_P3[:, 1] * sums_P3[:, 2]).sqrt()
        return dict(sorted(zip(products, drift_P.clamp(min=0).tolist(), strict=True)))


def open_previous_stage(init: str | None, out: Path, *, is_resumed: bool) -> PreviousStage | None:
    """Opens the stage that a run in `out` started from; returns None if it started from scratch.

    A resumed run opens its own copy. If that is gone, prints a message and returns None.
    """
    copy = out / INIT_NAME
    if init is None:
        return None
    if not is_resumed:
        return PreviousStage(weights_file(init), copy)
    if copy.exists():
        return PreviousStage(copy, copy)
    print(f"{copy} is gone: the curves old/… and drift/… end here", file=sys.stderr)
    return None


def _part(name: str) -> str | None:
    """Returns the part of the encoder to which one of its tensors belongs; None if it is not measured."""
    first, *rest = name.split(".")
    if first == "blocks":
        return f"block_{int(rest[0]) + 1:02d}"
    return "embeddings" if first.endswith("embedding") or first == "number_weight" else None
