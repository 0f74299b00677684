"""The columns of metrics.csv in words, and the panels in which their curves are shown.

Columns never change their names, because old runs and dashboards use them; the readable names are made here.
"""

from collections.abc import Mapping

METRICS_NAME = "metrics.csv"
AXIS = "train/samples"

PANELS: dict[str, tuple[str, ...] | str] = {
    "loss": ("train/loss", "validation/loss"),
    "cross-entropy": ("train/cross_entropy", "validation/cross_entropy"),
    "accuracy: top choice is the action taken": ("validation/top1",),
    "explained variance of the value": ("validation/explained_variance",),
    "value of the situation only: loss": ("train/baseline", "validation/baseline"),
    "calibration error": ("calibration/error",),
    "divergence from --init, nats": ("train/divergence", "validation/divergence"),
    "divergence from policy.magnet, nats": ("train/magnet_divergence", "validation/magnet_divergence"),
    "entropy, nats": ("train/entropy", "validation/entropy"),
    "weight of the entropy": ("train/entropy_weight",),
    "probability of the action, divided by its probability in the games": ("train/importance", "validation/importance"),
    "share of the decisions that are clipped": ("train/clipped", "validation/clipped"),
    "policy gradient, without its other terms": ("train/gradient", "validation/gradient"),
    "mean advantage": ("train/advantage", "validation/advantage"),
    "covariance of advantage and change of log probability": ("validation/covariance",),
    "divergence from objective.teacher, nats": ("train/teacher_divergence",),
    "decisions per second": ("train/samples_per_second",),
    "tokens per second": ("train/tokens_per_second",),
    "operations per second": ("train/flops_per_second",),
    "share of the peak": ("train/share_of_peak",),
    "share of time without a batch": ("train/data_wait",),
    "memory, GB": ("train/memory_peak_gb",),
    "gain of the whole update, estimated": (
        "iteration/gain_of_update",
        "iteration/gain_of_update_low",
        "iteration/gain_of_update_high",
    ),
    "gain of the share that was taken": ("iteration/gain_taken",),
    "share of the update that was taken": ("iteration/share_taken",),
    "divergence of the update, nats a decision": ("iteration/divergence_of_update",),
    "games per second": ("iteration/games_per_second",),
    "seconds of a phase": r"^iteration/seconds_\w+$",
    "the update": r"^iteration/update_\w+$",
    "norm of the gradient": ("train/gradient_norm", "train/gradient_norm_encoder", "train/gradient_norm_decoder"),
    "steps skipped because the gradient was not finite": ("train/skipped_steps",),
    "learning rate": ("train/learning_rate",),
    "learning rate of the encoder, where it differs": ("train/encoder_learning_rate",),
    "decisions of a validation": ("validation/rows",),
}
"""titles of panels and their columns: names, or a regular expression for names that depend on the run"""
BY_STAGE = (
    "loss",
    "cross-entropy",
    "value of the situation only: loss",
    "calibration error",
)
"""panels whose unit depends on the stage"""

_LOSS = "loss"
_SHARES = {"top1": "accuracy", "explained_variance": "explained variance"}
_PARTS = {
    "cross_entropy": "cross-entropy",
    "baseline": "value of the situation",
    "hidden_hands": "hidden hands",
    "round_winner": "winner of the round",
    "grading_points": "grading points",
    "round_points": "points of the round",
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
