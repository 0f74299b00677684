"""The metrics of a validation as a line on the terminal, by their names in metrics.csv."""

from collections.abc import Mapping

METRICS_NAME = "metrics.csv"
AXIS = "train/samples"

_LOSS = "loss"
_SHARES = {"top1": "accuracy", "explained_variance": "explained variance"}


def metrics_text(metrics: Mapping[str, float]) -> str:
    """Returns the metrics of a validation as a readable line: the loss, its parts if it has several, and the rest.
    `metrics`: by name as in metrics.csv, without "validation/"."""
    parts = {name: value for name, value in metrics.items() if name not in (_LOSS, *_SHARES)}
    words = [f"loss {metrics[_LOSS]:.4f}"] if _LOSS in metrics else []
    if words and len(parts) > 1:
        words[0] += f" ({', '.join(f'{name} {value:.4f}' for name, value in parts.items())})"
    return ", ".join(words + [f"{word} {metrics[name]:.1%}" for name, word in _SHARES.items() if name in metrics])
