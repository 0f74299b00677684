"""Refuses operations that would make a CPU wait for a GPU; tested on `meta`, whose tensors have no contents."""

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class CopiesRefused(TorchDispatchMode):
    """Refuses operations between tensors of several devices, except single numbers: a CPU waits for a copy, too."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = func(*args, **(kwargs or {}))
        tensors = [each for each in tree_leaves((args, kwargs, found)) if isinstance(each, Tensor) and each.dim()]
        assert len({tensor.device for tensor in tensors}) <= 1, func
        return found


class ListsRefused(TorchFunctionMode):
    """Refuses lists as indices and as contents of tensors: torch silently copies them to the device."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = func(*args, **(kwargs or {}))
        if func in (Tensor.__getitem__, Tensor.__setitem__):
            index = args[1] if isinstance(args[1], tuple) else args[1:2]
            assert not any(isinstance(part, list | np.ndarray) for part in index), args[1]
        assert func is not torch.tensor or found.device.type == "cpu"
        return found
