"""Exports the encoder and the whole policy of a weights file as ONNX, and compares them with the network.

Shapes: B decisions, A candidates, O own tokens of a situation (itself, its seats, its tiles), R ranks, D width.
"""

import logging
import math
import warnings
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from annotate.runtime.files import replacing
from annotate.vocabulary import TABLE, Vocabulary
from kanachan.data.batch import Batch, TokenLayout
from kanachan.data.columns import Columns
from kanachan.inference.policy import Policy, scale_logits
from kanachan.inference.situation_inputs import DECISION_INPUTS, SITUATION_INPUTS, encoded

_ENCODER, _POLICY, _ABOUT = "encoder.onnx", "policy.onnx", "README.md"
TOLERANCE = 1e-4
_BATCHES_CHECKED = (1, 2, 13, 64)  # then the rest in one batch; the other sizes vary with the decisions
_TRACED = {"decisions": 5, "tiles": 17, "groups": 3, "events": 7, "candidates": 11}
"""arbitrary sizes, all different and neither 0 nor 1"""


class EncoderGraph(nn.Module):
    """Encodes situations: `situation` [B, D] and `tokens` [B, O, D]."""

    inputs = SITUATION_INPUTS

    def __init__(self, policy: Policy) -> None:
        super().__init__()
        self.encoder = policy.network.encoder
        self.outputs = {"situation": 1.0, "tokens": 1.0}
        """names, each with its unit for differences"""

    def forward(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        own_BOD = encoded(self.encoder, *inputs)
        return own_BOD[:, 0], own_BOD


class PolicyGraph(nn.Module):
    """Computes the predictions of the stage: [B, A], and probabilities of ranks [B, A, R]."""

    inputs = DECISION_INPUTS

    def __init__(self, policy: Policy) -> None:
        super().__init__()
        self.network = policy.network
        self.objective = policy.objective
        self.temperature = policy.temperature
        scale = policy.objective.scale
        self.outputs = {name: scale if name == "scores" else 1.0 for name in policy.objective.prediction_fields}

    def forward(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        fields: dict[str, Any] = dict(zip(self.inputs.values(), inputs, strict=True))
        output = scale_logits(self.network(Batch(**fields)), self.temperature)
        return tuple(self.objective.predictions(output).values())


Graph = EncoderGraph | PolicyGraph


def export_onnx(policy: Policy, folder: Path, columns: Columns) -> dict[Path, float]:
    """Writes `encoder.onnx`, `policy.onnx` and a README.md that explains them into `folder`, all or none. The policy
    must be on the CPU, with at least two decisions in `columns`. Returns the difference of each ONNX file from the
    network on these decisions (`check`). Raises ValueError if a difference exceeds `TOLERANCE`."""
    differences = {}
    with ExitStack() as stack:
        for name, graph in ((_ENCODER, EncoderGraph(policy)), (_POLICY, PolicyGraph(policy))):
            temporary = stack.enter_context(replacing(folder / name))
            _write(graph, temporary, policy)
            try:
                differences[folder / name] = check(temporary, graph, policy, columns)
            except ValueError as error:
                raise ValueError(f"{folder / name}: {error}; nothing is written") from None
        about = stack.enter_context(replacing(folder / _ABOUT))
        about.write_text(_about(policy), encoding="utf-8")
    return differences


def _write(graph: Graph, path: Path, policy: Policy) -> None:
    import onnx

    inputs = _inputs(policy.vocabulary)
    traced, dynamic = {}, {}
    for name in graph.inputs:
        dtype, sizes, _ = inputs[name]
        shape = [size if isinstance(size, int) else _TRACED[size] for size in sizes]
        traced[name] = torch.zeros(shape, dtype=dtype)
        dynamic[name] = {place: size for place, size in enumerate(sizes) if isinstance(size, str)}
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)  # reports optional packages and axes of the same name
    with warnings.catch_warnings(action="ignore"):
        program = torch.onnx.export(
            graph.eval(),
            args=tuple(traced.values()),
            input_names=list(traced),
            output_names=list(graph.outputs),
            dynamic_shapes=(tuple(dynamic.values()),),
            dynamo=True,
            external_data=False,
            verbose=False,
        )
    assert program is not None
    for node in program.model.graph.all_nodes():
        node.metadata_props.clear()  # stack traces, with paths of the exporting machine
    program.model.metadata_props.update(
        stage=policy.stage,
        vocabulary=policy.vocabulary.name,
        fingerprint=policy.vocabulary.fingerprint,
        temperature=str(policy.temperature),
    )
    program.save(path, external_data=False)
    model = onnx.load(path)
    del model.graph.value_info[:]  # shapes of the traced batch, which make onnxruntime's quantize_dynamic fail
    onnx.save(model, path)


def _inputs(vocabulary: Vocabulary) -> dict[str, tuple[torch.dtype, tuple[str | int, ...], str]]:
    """Returns the type, sizes and meaning of each of `DECISION_INPUTS`; a size with a name may have any value."""
    layout = TokenLayout(vocabulary)
    token, of_decision = f"{layout.sparse_first} + the token of field 1", ("decisions",)
    return {
        "table": (torch.int32, (*of_decision, len(TABLE)), f"{', '.join(TABLE)}: {token}"),
        "standing": (torch.int32, (*of_decision, vocabulary.num_seats, 2), f"grade and rank of each seat: {token}"),
        "tiles": (
            torch.int32,
            (*of_decision, "tiles"),
            f"dora indicators, hand and drawn tile, in any order: {token}; 0 is padding",
        ),
        "numbers": (torch.float32, (*of_decision, len(vocabulary.numeric)), "field 2"),
        "events": (
            torch.int32,
            ("groups", "events"),
            f"the round so far, for a group of decisions: {layout.event_first} + the tokens of field 3; 0 is padding",
        ),
        "groups": (torch.int64, of_decision, "the decision's row of `events`"),
        "seen": (torch.int64, of_decision, "how many events of its row the decision sees, from the first"),
        "candidates": (torch.int32, (*of_decision, "candidates"), "1 + the tokens of field 4; 0 is padding"),
    }


@torch.inference_mode()
def check(path: Path, graph: Graph, policy: Policy, columns: Columns) -> float:
    """Computes the largest difference between the outputs of a file and of the graph, over batches of several sizes:
    absolute in units of the output, relative for larger numbers. Raises ValueError if it exceeds `TOLERANCE`."""
    from onnxruntime import InferenceSession

    session = InferenceSession(path, providers=["CPUExecutionProvider"])
    largest, first = 0.0, 0
    for size in (*_BATCHES_CHECKED, len(columns)):
        batch = policy.batch(columns.rows(first, first + size))
        first += len(batch)
        if not len(batch):
            break
        inputs = {name: getattr(batch, field) for name, field in graph.inputs.items()}
        outputs = session.run(list(graph.outputs), {name: tensor.numpy() for name, tensor in inputs.items()})
        for unit, theirs, ours in zip(graph.outputs.values(), outputs, graph(*inputs.values()), strict=True):
            largest = max(largest, _largest(torch.from_numpy(theirs), ours, unit))
    if largest > TOLERANCE:
        raise ValueError(f"it differs from the network by {largest:.2g}, more than {TOLERANCE:g}")
    return largest


def _largest(found: Tensor, expected: Tensor, unit: float) -> float:
    if found.shape != expected.shape or not torch.equal(found.isneginf(), expected.isneginf()):
        return math.inf
    difference = (found - expected).abs() / expected.abs().clamp(min=unit)
    # infinity minus infinity, at padding, is NaN; any other NaN is an error
    return float(difference.masked_fill(expected.isneginf(), 0.0).nan_to_num(nan=math.inf).max())


def _about(policy: Policy) -> str:
    """Returns the text of README.md: the inputs and outputs of the files."""
    inputs = [
        f"| `{name}` | {str(dtype).removeprefix('torch.')} | {' × '.join(map(str, sizes))} | {meaning} |"
        for name, (dtype, sizes, meaning) in _inputs(policy.vocabulary).items()
    ]
    outputs = [
        f"| `{_POLICY}` | `{name}` | {sizes} | {meaning} |"
        for name, (sizes, meaning) in policy.objective.prediction_fields.items()
    ]
    own_tokens = f"(1 + {policy.vocabulary.num_seats} + tiles)"
    return f"""# A network of kanachan as ONNX

`{_POLICY}` scores the possible actions of decisions in riichi mahjong (stage {policy.stage}: {policy.meaning}).
`{_ENCODER}` is its part that encodes the situation. `card.json` describes their training.

| input | type | size | content |
| --- | --- | --- | --- |
{chr(10).join(inputs)}

Named sizes may have any value. Fields refer to annotation lines of `kanachan-annotate`; for such lines,
`kanachan.inference.export_inputs.onnx_inputs_of(lines, session)` makes the inputs. The encoder takes all inputs except
`candidates`.

A separate group for each decision is always correct: one row of `events` per decision, `groups` 0, 1, 2 …, and `seen`
the lengths of field 3. Consecutive decisions may share a group, which costs less, if each sees all events that the
previous one sees.

The deciding seat must be seat 0: rotate the seats first, in tokens and in the order of `numbers`; only the seat in
`table` stays as in field 1 (`kanachan.data.symmetry.SeatRotation`; `onnx_inputs_of` does it).

| file | output | size | content |
| --- | --- | --- | --- |
| `{_ENCODER}` | `situation` | decisions × width | the situation as a whole |
| `{_ENCODER}` | `tokens` | decisions × {own_tokens} × width | the situation, its seats and its tiles |
{chr(10).join(outputs)}

At padding of the inputs, scores are minus infinity, probabilities are 0, and other outputs are undefined.
"""
