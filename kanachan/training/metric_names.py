"""The metrics of a validation in words.

The columns of metrics.csv never change their names, because old runs and dashboards use them.
"""

from collections.abc import Mapping

METRICS_NAME = "metrics.csv"
AXIS = "train/samples"

_LOSS = "loss"
_SHARES = {"top1": "accuracy", "explained_variance": "explained variance"}
_PARTS = {
    "cross_entropy": "cross-entropy",
    "baseline": "value of the situation",
    "hidden_hands": "hidden hands",
    "round_winner": "winner of the round",
    "grading_points": "grading points",
    "round_points": "points of the round",
    "round_points_baseline": "points of the round, before the action",
    "after_round": "order after the round",
    "grading_after_round": "grading points after the round",
    "gradient": "policy gradient",
    "magnet_divergence": "divergence from policy.magnet",
    "divergence": "divergence from --init",
    "importance": "importance weight",
    "advantage": "mean advantage",
    "clipped": "share clipped",
}


def metrics_text(metrics: Mapping[str, float]) -> str:
    """Returns the metrics of a validation as a readable line: the loss, its parts if it has several, and the rest.
    `metrics`: by name as in metrics.csv, without "validation/"."""
    parts = {_PARTS.get(name, name): value for name, value in metrics.items() if name not in (_LOSS, *_SHARES)}
    words = [f"loss {metrics[_LOSS]:.4f}"] if _LOSS in metrics else []
    if words and len(parts) > 1:
        words[0] += f" ({', '.join(f'{name} {value:.4f}' for name, value in parts.items())})"
    return ", ".join(words + [f"{word} {metrics[name]:.1%}" for name, word in _SHARES.items() if name in metrics])
