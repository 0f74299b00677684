"""Weights on the line through those of two networks of the same kind: a step of training, shortened or lengthened."""

from collections.abc import Mapping

from torch import Tensor

from kanachan.models.weights import Weights


def interpolated(old: Weights, new: Weights, share: float) -> Mapping[str, Tensor]:
    """Returns the tensors that are `share` of the way from `old` to `new`, or beyond it, of the kinds of `new`. Heads
    of auxiliary targets that only `old` has are left out. Raises ValueError if `old` lacks a tensor of `new`, or has it
    in another shape."""
    assert share > 0, share
    shape_of = {name: tensor.shape for name, tensor in old.tensors.items()}
    if any(shape_of.get(name) != tensor.shape for name, tensor in new.tensors.items()):
        raise ValueError(f"{old.path} and {new.path} are networks of different sizes or heads")
    if share == 1:
        return new.tensors
    return {
        name: tensor if not tensor.is_floating_point() else old.tensors[name].to(tensor.dtype).lerp(tensor, share)
        for name, tensor in new.tensors.items()
    }
