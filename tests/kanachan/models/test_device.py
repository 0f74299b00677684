"""Which device an option means, and how it computes."""

from collections.abc import Iterator

import pytest
import torch

from kanachan.models.device import chosen_device, set_up_kernels


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    yield
    set_up_kernels(is_exact=True)


@pytest.mark.parametrize(
    ("name", "is_exact", "products"),
    [("auto", False, "tf32"), ("cuda:1", False, "tf32"), ("cuda", True, "ieee"), ("cpu", False, "ieee")],
)
def test_a_gpu_multiplies_in_tf32_unless_products_must_be_exact(
    name: str, is_exact: bool, products: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    torch.backends.cuda.enable_cudnn_sdp(True)
    assert chosen_device(name, is_exact=is_exact).type == ("cpu" if name == "cpu" else "cuda")
    assert torch.backends.cuda.matmul.fp32_precision == products
    assert not torch.backends.cuda.cudnn_sdp_enabled()


def test_a_device_that_does_not_exist_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("abacus", "cuda:99", "meta"):
        with pytest.raises(ValueError, match=f"--device {name}"):
            chosen_device(name)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setenv("SLURM_GPUS_ON_NODE", "8")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    with pytest.raises(ValueError, match="^SLURM_GPUS_ON_NODE: a GPU is expected, .* --device cpu computes on CPUs"):
        chosen_device("auto")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert chosen_device("auto") == torch.device("cpu")
