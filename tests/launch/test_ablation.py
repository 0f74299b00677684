"""launch/ablation: every variant differs from the reference only in its named choice; the table's errors."""

import json
from argparse import Namespace
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor

import kanachan.models.transformer
from annotate.annotation import Annotation
from annotate.vocabulary import FOUR_PLAYERS
from kanachan.config import MODEL_SIZES, ObjectiveConfig
from kanachan.data.batch import batch_of_annotations
from kanachan.models.transformer import Network
from kanachan.models.weights import read_weights, write_weights
from kanachan.objectives.networks import build_network
from kanachan.training.command_line import requested
from kanachan.training.initialization import initial_network
from tests.support.launched import LAUNCH, program_of
from tests.support.packed import packed
from tests.support.random_annotations import altered, random_annotations
from tests.support.tiny_weights import written

ANNOTATIONS = random_annotations(12, seed=5)


@pytest.fixture(scope="module")
def ablation() -> Iterator[dict[str, ModuleType]]:
    with program_of(LAUNCH / "ablation", ("networks", "variants", "table")) as modules:
        yield modules


def logits(network: Network, annotations: list[Annotation]) -> Tensor:
    with torch.no_grad():
        output = network.eval()(batch_of_annotations(annotations, FOUR_PLAYERS))
    return output.candidate_BAK[:, :, 0].masked_fill(~output.mask_BA, 0)


@pytest.fixture
def network_of(ablation: dict[str, ModuleType]) -> Callable[[str], Network]:
    """Returns a function that builds the network of a variant of imitation by its name."""

    def make(name: str) -> Network:
        variant = next(v for v in ablation["variants"].VARIANTS if v.name == name)
        torch.manual_seed(0)
        with ablation["networks"].changed(variant.parts):
            network, _ = build_network("imitation", MODEL_SIZES["tiny"], ObjectiveConfig(), FOUR_PLAYERS)
            logits(network, ANNOTATIONS)
        return network

    return make


def answers(ablation: dict[str, ModuleType], network: Network, name: str, annotations: list[Annotation]) -> Tensor:
    variant = next(v for v in ablation["variants"].VARIANTS if v.name == name)
    with ablation["networks"].changed(variant.parts):
        return logits(network, annotations)


def test_after_a_variant_networks_are_as_before(ablation: dict[str, ModuleType]) -> None:
    previous = dict(vars(kanachan.models.transformer))
    with pytest.raises(KeyError), ablation["networks"].changed({"Encoder": ablation["networks"].FixedPositions}):
        assert kanachan.models.transformer.Encoder is ablation["networks"].FixedPositions
        raise KeyError
    assert vars(kanachan.models.transformer) == previous


def test_only_where_padding_is_attended_to_does_a_decision_depend_on_its_batch(
    ablation: dict[str, ModuleType], network_of: Callable[[str], Network]
) -> None:
    shortest = min(ANNOTATIONS, key=lambda a: len(a.progression) + len(a.sparse))
    together = [shortest, *(a for a in ANNOTATIONS if a is not shortest)]
    count = len(shortest.actions)
    for name, is_same in {"reference": True, "padding": False}.items():
        network = network_of(name)
        alone = answers(ablation, network, name, [shortest])[0, :count]
        among_others = answers(ablation, network, name, together)[0, :count]
        assert torch.allclose(alone, among_others, atol=1e-5) == is_same, name


def test_attended_padding_shows_no_later_events(
    ablation: dict[str, ModuleType], network_of: Callable[[str], Network]
) -> None:
    longest = max(ANNOTATIONS, key=lambda a: len(a.progression))
    earlier = altered(longest, progression=longest.progression[:-3])
    others = [altered(longest, progression=(*longest.progression[:-1], token)) for token in (5, 500)]
    network = network_of("padding")
    first, second = (answers(ablation, network, "padding", [earlier, other])[0] for other in others)
    assert torch.equal(first, second)


def test_nameless_scores_do_not_depend_on_the_seat(
    ablation: dict[str, ModuleType], network_of: Callable[[str], Network]
) -> None:
    original = altered(ANNOTATIONS[0], numeric=(0, 0, 10_000, 20_000, 30_000, 40_000))
    exchanged = altered(original, numeric=(0, 0, 10_000, 40_000, 30_000, 20_000))
    for name, is_same in {"reference": False, "nameless-scores": True}.items():
        found = answers(ablation, network_of(name), name, [original, exchanged])
        assert torch.allclose(found[0], found[1], atol=1e-6) == is_same, name


def test_lonely_candidates_do_not_depend_on_each_other(
    ablation: dict[str, ModuleType], network_of: Callable[[str], Network]
) -> None:
    all_of_them = max(ANNOTATIONS, key=lambda a: len(a.actions))
    two = altered(all_of_them, actions=all_of_them.actions[:2], chosen=0)
    for name, is_same in {"reference": False, "lonely-candidates": True}.items():
        network = network_of(name)
        whole = answers(ablation, network, name, [all_of_them])[0, :2]
        assert torch.allclose(whole, answers(ablation, network, name, [two])[0, :2], atol=1e-5) == is_same, name


@pytest.mark.parametrize("name", ["sinusoidal", "rotary"])
def test_positions_that_are_not_learned_distinguish_the_order_of_events(
    ablation: dict[str, ModuleType], network_of: Callable[[str], Network], name: str
) -> None:
    network = network_of(name)
    assert not network.encoder.position_embedding.weight.requires_grad
    longest = max(ANNOTATIONS, key=lambda a: len(a.progression))
    begin, first, *rest = longest.progression
    shuffled = altered(longest, progression=(begin, *rest, first))
    found = answers(ablation, network, name, [longest, shuffled])
    assert not torch.allclose(found[0], found[1], atol=1e-5)


def test_rotary_attention_depends_on_distances_alone(ablation: dict[str, ModuleType]) -> None:
    turned = ablation["networks"].RotaryPadded._turned
    query, key = torch.randn(2, 1, 4, 16)
    places = torch.arange(4)
    scores = []
    for shift in (0, 7):
        at = (places + shift)[None]
        scores.append(turned(query[None, 0], at, 2, 1, 1)[0] @ turned(key[None, 0], at, 2, 1, 1)[0].T)
    assert torch.allclose(*scores, atol=1e-5)


def test_an_error_is_pooled_over_the_variants(ablation: dict[str, ModuleType]) -> None:
    def entry(nll: float) -> dict[str, Any]:
        return {"agreement": {name: {"value": nll} for name in ("nll", "top1", "discard/accuracy")}}

    variants = [v for v in ablation["variants"].VARIANTS if v.stage == "imitation"][:2]
    # variances 0.02 and 0.08, two runs each: pooled 0.05; a difference of two means of two has the same variance
    entries = {variants[0]: [entry(1.0), entry(1.2)], variants[1]: [entry(1.5), entry(1.9)]}
    text = ablation["table"].markdown("imitation", entries)
    assert "1.1000 |" in text and "1.7000 (+0.6000 ± 0.2236)" in text


def test_runs_are_evaluated_once_and_listed_in_a_table(
    ablation: dict[str, ModuleType], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shards = packed(tmp_path / "shards", train=80, validation=30)
    out = tmp_path / "out"
    settings = ["--model.size", "tiny", "--data.batch", "16", "--data.micro_batch", "16", "--run.accelerator", "cpu"]
    settings += ["--run.measure_peak", "false"]
    command = [str(shards), "--output", str(out), "--steps", "2", "--seeds", "1", "--variants", "rotary", "smoothing"]
    assert ablation["main"].main([*command, "--", *settings]) == 0
    table = capsys.readouterr().out.split("| imitation |")[1]
    assert [line.split("|")[1].strip() for line in table.splitlines()[2:]] == [
        "reference",
        "rotary positions",
        "label smoothing 0.1",
    ]
    assert not (out / "imitation" / "rotary" / "0" / "weights.safetensors").exists()
    entry = json.loads((out / "imitation" / "smoothing" / "0" / "evaluation.json").read_text())["weights"][0]
    assert entry["objective"]["label_smoothing"] == 0.1
    assert ablation["main"].main([*command, "--", *settings]) == 0
    assert "== imitation" not in capsys.readouterr().out
    for option, value in {"--steps": "3", "--split": "test"}.items():
        assert ablation["main"].main([*command, option, value, "--", *settings]) == 1
        assert f"made with {option} " in capsys.readouterr().err
    assert ablation["main"].main([*command, "--", *settings, "--optim.warmup", "1"]) == 1
    assert "made with settings --model.size tiny" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["adamw", "rotary"])
def test_an_interrupted_run_is_resumed(
    ablation: dict[str, ModuleType], tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shards = packed(tmp_path / "shards", train=80, validation=30)
    settings = ["--model.size", "tiny", "--data.batch", "16", "--data.micro_batch", "16", "--run.accelerator", "cpu"]
    settings += ["--run.measure_peak", "false"]
    command = [str(shards), "--output", str(tmp_path / "out"), "--steps", "2", "--seeds", "1", "--variants", name, "--"]
    folder = tmp_path / "out" / "imitation" / name / "0"

    evaluate = ablation["main"].evaluate

    def killed(arguments: list[str]) -> int:
        if arguments[0] == str(folder):
            raise ValueError("killed")
        return evaluate(arguments)

    with monkeypatch.context() as patch:
        patch.setattr(ablation["main"], "evaluate", killed)
        assert ablation["main"].main([*command, *settings]) == 1
    assert (folder / "checkpoints" / "last.ckpt").is_file()
    assert ablation["main"].main([*command, *settings]) == 0
    assert json.loads((folder / "evaluation.json").read_text())["weights"][0]["steps"] == 2


def test_hidden_hands_are_left_out_where_there_are_none_unless_requested(
    ablation: dict[str, ModuleType], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chosen = [v for v in ablation["variants"].VARIANTS if v.stage == "imitation"]
    for hidden in (False, True):
        shards = packed(tmp_path / str(hidden), train=30, validation=10, is_hidden=hidden)
        arguments = Namespace(shards=str(shards), variants=None)
        names = [v.name for v in ablation["main"]._possible(arguments, chosen)]
        assert ("hidden-hands" in names) == hidden and len(names) == len(chosen) - (not hidden)
        assert ("left out: hidden-hands" in capsys.readouterr().out) != hidden
        arguments.variants = ["hidden-hands"]
        assert ablation["main"]._possible(arguments, chosen) == chosen


def test_a_slow_encoder_has_a_third_of_the_rate_that_the_runs_have(
    ablation: dict[str, ModuleType], tmp_path: Path
) -> None:
    (variant,) = [v for v in ablation["variants"].VARIANTS if (v.stage, v.name) == ("rank", "slow-encoder")]
    arguments = Namespace(shards=str(tmp_path), steps=40, init=str(written(tmp_path / "init")))
    for settings, rate in (([], 1e-3), (["--optim.learning_rate", "6e-4"], 6e-4)):
        train = ablation["main"].training_of(variant, tmp_path, 0, arguments, settings)
        optim = requested(train).config.optim
        assert optim.learning_rate == rate and optim.encoder_learning_rate == pytest.approx(rate / 3)


def test_every_variant_of_a_value_suits_its_prior_and_takes_all_steps(
    ablation: dict[str, ModuleType], tmp_path: Path
) -> None:
    arguments = Namespace(shards=str(tmp_path), steps=40, init=str(written(tmp_path / "init")))
    has_prior = {}
    for variant in (v for v in ablation["variants"].VARIANTS if v.stage != "imitation"):
        train = ablation["main"].training_of(variant, tmp_path, 0, arguments, ["--model.size", "tiny"])
        config = requested(train).config
        network = initial_network(config, FOUR_PLAYERS, inherits=False).network
        has_prior[variant.stage, variant.name] = network.prior is not None
        assert config.run.early_stopping is None
    assert has_prior["grading", "reference"] and not has_prior["grading", "no-prior"]


def test_runs_from_other_weights_in_the_same_place_are_not_listed_in_one_table(
    ablation: dict[str, ModuleType], tmp_path: Path
) -> None:
    weights, made_from = written(tmp_path / "init"), tmp_path / "out" / "made-from.json"
    arguments = Namespace(shards="shards", init=str(weights), steps=4, split="validation")
    inputs, require_like = (lambda: ablation["main"]._inputs_of(arguments, "rank", [])), ablation["main"]._require_like
    made_from.parent.mkdir()
    made_from.write_text(json.dumps(inputs()))
    read = read_weights(weights)
    write_weights(weights, read.tensors, {**read.card, "temperature": 2.0})
    require_like(made_from, inputs())  # calibrated since: the same encoder
    write_weights(weights, {name: 2 * tensor for name, tensor in read.tensors.items()}, read.card)
    with pytest.raises(ValueError, match="its runs were made with weights of --init"):
        require_like(made_from, inputs())


@pytest.mark.parametrize(
    ("options", "message"),
    [(["--variants", "magic"], "magic: no such variant"), (["--stages", "rank"], "--init RUN")],
)
def test_wrong_options_are_refused(
    ablation: dict[str, ModuleType], options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        ablation["main"].main(["shards", *options])
    assert message in capsys.readouterr().err
