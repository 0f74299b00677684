"""Part parity: losses of short runs of all stages, and outputs and gradients of fresh networks, against the CPU in
fp32."""

from collections.abc import Iterator

import torch
from bench import Bench, Row, Trainee, largest_difference, logged, relative_difference

from annotate.vocabulary import FOUR_PLAYERS
from kanachan.data.batch import Batch, TokenLayout, with_varlen_layout
from kanachan.objectives.stages import CRITIC, POLICY, REWARD, STAGES

_STEPS = {False: 20, True: 3}
_DECISIONS = {False: 256, True: 32}
"""of the batch whose outputs are compared"""
_CPU = torch.device("cpu")


def measure(bench: Bench) -> Iterator[Row]:
    for stage in (*STAGES, REWARD, CRITIC, POLICY):
        yield from _losses(bench, stage)
    for stage in STAGES:
        yield from _outputs(bench, stage)


def _losses(bench: Bench, stage: str) -> Iterator[Row]:
    expected: list[float] = []

    def compared(accelerator: str, precision: str) -> Row:
        settings = ("--run.accelerator", accelerator, "--run.precision", precision)
        run = bench.run(f"parity/{stage}-{accelerator}-{precision}", *_arguments(bench, stage), *settings)
        losses = logged(run, "train/loss")
        expected[:] = expected or losses
        return {"last loss": losses[-1], "difference of the losses": largest_difference(losses, expected)}

    for precision in ("fp32", "bf16"):
        for accelerator in dict.fromkeys(("cpu", bench.accelerator)):
            what = f"losses of {stage}, {accelerator}, {precision}"
            yield bench.measured(what, lambda a=accelerator, p=precision: compared(a, p))


def _arguments(bench: Bench, stage: str) -> list[str]:
    steps = str(_STEPS[bench.is_tiny])
    arguments = ["--stage", stage, "--data.path", str(bench.shards), "--run.steps", steps, "--run.log_every", "1"]
    arguments += ["--run.validate_every", steps, "--run.validate_batches", "1", "--run.measure_peak", "false"]
    if stage == REWARD:
        return [*arguments, "--data.batch", "1", "--data.micro_batch", "1"]
    arguments += ["--data.batch", "32", "--data.micro_batch", "16", "--data.validation_batch", "32"]
    if stage == POLICY:
        given = ["--init", "reference", "--policy.reward", "reference/reward", "--policy.oracle", "1"]
        return [*arguments, *given, "--policy.kl_limit", "10"]
    arguments += ["--model.size", "tiny", "--optim.optimizer", "adamw"]
    return [*arguments, "--critic.reward", "reference/reward"] if stage == CRITIC else arguments


def _outputs(bench: Bench, stage: str) -> Iterator[Row]:
    size = "tiny" if bench.is_tiny else "small"
    batch = next(bench.batches(_DECISIONS[bench.is_tiny]))
    exact = Trainee(_CPU, size, stage=stage, use_bf16=False)
    with torch.no_grad():
        score_BA = exact.objective.score(exact.output(batch))
    mask_BA, gradient = batch.candidate_BA != 0, exact.gradient(batch)

    def compared(device: torch.device, use_bf16: bool, is_packed: bool) -> Row:
        trainee = Trainee(device, size, stage=stage, use_bf16=use_bf16)
        on_device = (_packed(batch) if is_packed else batch).to(device)
        with torch.no_grad():
            found_BA = trainee.objective.score(trainee.output(on_device)).float().cpu()[:, : mask_BA.shape[1]]
        return {
            "difference of the scores": relative_difference(found_BA[mask_BA], score_BA[mask_BA]),
            "difference of the gradient": relative_difference(trainee.gradient(on_device), gradient),
        }

    for use_bf16, is_packed in ((False, False), (True, False), (True, True)):
        name = f"{'bf16' if use_bf16 else 'fp32'}, {'packed' if is_packed else 'padded'}"
        for device in dict.fromkeys((_CPU, bench.device)):
            if device != _CPU or use_bf16:
                what = f"fresh network of {stage}, {device.type}, {name}"
                yield bench.measured(what, lambda d=device, b=use_bf16, p=is_packed: compared(d, b, p))


def _packed(batch: Batch) -> Batch:
    return with_varlen_layout(batch, TokenLayout(FOUR_PLAYERS))
