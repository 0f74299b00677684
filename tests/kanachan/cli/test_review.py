"""kanachan-review: the networks and their opinions as a review shows them."""

import gzip
import json
import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from annotate.words import describe_action
from kanachan.cli.review import _names, main
from kanachan.data.columns import columns_of_annotations
from kanachan.inference.policy import Policy
from kanachan.objectives.stages import STAGES
from kanachan.review.board import candidate_of
from kanachan.review.choices import choices_of
from kanachan.review.page import page
from kanachan.review.predictions import reviewed_predictions
from tests.support.review_page import data_of
from tests.support.review_runs import SEAT, Reviewed, review_with
from tests.support.reviewed import events_of, rounds_of, write_record
from tests.support.rounds import V
from tests.support.tiny_weights import written


def test_a_review_has_every_decision_of_the_seat_as_annotated(reviewed: Reviewed) -> None:
    decisions = reviewed.review["decisions"]
    assert len(decisions) == len(reviewed.annotations) > 30
    for decision, annotation in zip(decisions, reviewed.annotations, strict=True):
        choice = choices_of(annotation, V).annotation
        assert tuple(candidate["token"] for candidate in decision["candidates"]) == choice.actions
        assert decision["candidates"][0]["words"] == describe_action(choice.actions[0], V)
        assert choice.actions[decision["chosen"]] == annotation.actions[annotation.chosen]
        table = decision["table"]
        assert (table["honba"], table["deposits"], *table["scores"]) == annotation.numeric
    named = dict(zip(V.results, reviewed.annotations[0].results, strict=True))
    final = reviewed.review["final"]
    assert (final["rank"], final["score"], final["grading_delta"]) == (
        named["rank"],
        named["score"],
        named["grading_delta"],
    )


def test_a_page_is_compressed_by_its_suffix(tmp_path: Path) -> None:
    record, weights = write_record(tmp_path / "game.jsonl", events_of(5)), written(tmp_path / "weights", layers=1)
    assert main([str(record), str(weights), "--seat", "0", "-o", str(tmp_path / "page.html.gz")]) == 0
    assert gzip.decompress((tmp_path / "page.html.gz").read_bytes()).startswith(b"<!DOCTYPE html>")


def test_networks_of_several_stages_are_shown_side_by_side(reviewed: Reviewed) -> None:
    assert [(model["name"], model["stage"]) for model in reviewed.review["models"]] == [(s, s) for s in STAGES]
    for number, weights in enumerate(reviewed.weights.values()):
        predictions = Policy.load(weights).predictions(reviewed.annotations)
        choices = [choices_of(annotation, V) for annotation in reviewed.annotations]
        for decision, of, raw in zip(reviewed.review["decisions"], choices, predictions, strict=True):
            prediction = of.of(raw)
            shown = decision["answers"][number]
            assert shown["shown"] == pytest.approx(prediction.shown.tolist(), rel=1e-3, abs=1e-4)
            is_compared = np.array(decision["plausible"]) | (prediction.probability is not None)
            is_compared[decision["chosen"]] = True
            score = np.where(is_compared, prediction.score, -np.inf)
            assert shown["best"] == int(score.argmax())
            chosen = prediction.shown[decision["chosen"]]
            loss = -math.log(chosen) if prediction.probability is not None else score.max() - chosen
            assert shown["loss"] == pytest.approx(loss, rel=1e-2, abs=1e-3)
            scale = reviewed.review["models"][number]["scale"]
            gap = loss / scale if prediction.probability is None else max(shown["shown"]) - chosen
            assert shown["gap"] == pytest.approx(gap, rel=1e-2, abs=1e-3)
            assert (shown["rank_probability"] is None) == (prediction.rank_probability is None)


def test_discarding_a_tile_from_the_hand_or_as_drawn_is_one_candidate(reviewed: Reviewed) -> None:
    policy = Policy.load(reviewed.weights["imitation"])
    num_joined = 0
    predictions = policy.predictions(reviewed.annotations)
    for decision, annotation, raw in zip(reviewed.review["decisions"], reviewed.annotations, predictions, strict=True):
        assert raw.probability is not None
        words = [(c["kind"], *c["tiles"]) for c in decision["candidates"]]
        assert len({*words}) == len(words)
        total: Counter[tuple[str, ...]] = Counter()
        for token, probability in zip(annotation.actions, raw.probability.tolist(), strict=True):
            candidate = candidate_of(token, V)
            total[(candidate["kind"], *candidate["tiles"])] += probability
        num_joined += len(annotation.actions) > len(words)
        assert [total[of] for of in words] == pytest.approx(decision["answers"][0]["shown"], abs=1e-4)
    assert num_joined > 3


def test_the_largest_gaps_come_first(reviewed: Reviewed) -> None:
    decisions = reviewed.review["decisions"]
    for number, model in enumerate(reviewed.review["models"]):
        gaps = [decision["answers"][number]["gap"] for decision in decisions]
        assert [gaps[i] for i in model["worst"]] == sorted(gaps, reverse=True)[: len(model["worst"])]
        assert {i for i, d in enumerate(decisions) if d["answers"][number]["best"] != d["chosen"]} == {*model["worst"]}


def test_rank_probabilities_before_a_decision_come_from_the_situation(reviewed: Reviewed) -> None:
    policy = Policy.load(reviewed.weights["rank"])
    annotations = reviewed.annotations[:5]
    (rows,) = reviewed_predictions([policy], annotations).predictions
    batch = policy.batch(columns_of_annotations(annotations, V))
    expected_BR = policy.objective.situation_rank_probability(policy.output(batch))
    for row, expected_R in zip(rows, expected_BR, strict=True):
        assert row.expected_ranks == pytest.approx(expected_R.tolist(), abs=1e-5)
        assert row.expected == pytest.approx(float(expected_R @ policy.objective.points_R), rel=1e-4)


def test_markup_in_a_record_is_escaped_on_the_page(reviewed: Reviewed) -> None:
    evil = "</script><script>alert(1)</script><img src=x onerror=alert(2)>&\u2028\u2029"
    made = page({**reviewed.review, "game": evil, "notes": [evil], "left_out": [evil]})
    assert made.count("<script") == reviewed.page.count("<script") == 2
    assert made.count("</script") == 2 and "<img" not in made
    assert data_of(made)["game"] == evil


def test_weights_in_folders_of_the_same_name_are_distinguished(reviewed: Reviewed, tmp_path: Path) -> None:
    """By the ends of their paths: a shared page should not have all of them."""
    paths = [str(written(tmp_path / run / "imitation", seed=seed).parent) for seed, run in enumerate("ab")]
    data = tmp_path / "out.json"
    command = [str(reviewed.record), *paths, "--seat", "0", "-o", str(tmp_path / "out.html"), "--json", str(data)]
    assert main(command) == 0
    assert [model["name"] for model in json.loads(data.read_text())["models"]] == ["a/imitation", "b/imitation"]
    assert _names(["reference", paths[0], paths[0], f"{tmp_path}/b/../b/imitation"])[1:] == [
        *["a/imitation"] * 2,
        "b/imitation",
    ]
    made = (tmp_path / "out.html").read_text()
    assert str(tmp_path) not in made + json.dumps(data_of(made))


def test_a_rating_is_the_mean_probability_relative_to_the_most_probable_action(reviewed: Reviewed) -> None:
    model, decisions = reviewed.review["models"][0], reviewed.review["decisions"]
    shown = [(d["answers"][0]["shown"], d["chosen"]) for d in decisions]
    shares = [probability[chosen] / max(probability) for probability, chosen in shown]
    assert model["rating"] == pytest.approx(100 * sum(shares) / len(shares), rel=1e-4)
    num_bad = sum(probability[chosen] < 0.05 for probability, chosen in shown)
    assert (model["bad_moves"], model["bad_moves_per_100"]) == (
        num_bad,
        pytest.approx(100 * num_bad / len(decisions), rel=1e-4),
    )
    values = reviewed.review["models"][1]
    assert (values["rating"], values["bad_moves"], values["bad_moves_per_100"]) == (None, None, None)


def test_only_rounds_that_are_asked_for_are_reviewed(
    reviewed: Reviewed, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    of_all, seat = reviewed.review["rounds"], str(SEAT)
    last = of_all[-1]
    names = f"e1,{'ESW'[last['wind']]}{last['dealer'] + 1}.{last['honba']}"
    chosen = [each["name"] for each in of_all if each["name"].startswith("East 1-") or each is last]
    review = review_with(reviewed, tmp_path, "--seat", seat, "--rounds", names)
    assert [each["name"] for each in review["rounds"]] == chosen and len(chosen) < len(of_all)
    wanted = [d["table"] for d in reviewed.review["decisions"] if of_all[d["round"]]["name"] in chosen]
    assert [decision["table"] for decision in review["decisions"]] == wanted
    command = [str(reviewed.record), reviewed.weights["imitation"], "-o", str(tmp_path / "x.html"), "--rounds", "N4"]
    assert main(command) == 1
    assert "--rounds N4: no round N4; there are E1.0," in capsys.readouterr().err


@pytest.mark.parametrize("other", [1, 2])
def test_a_round_that_was_begun_anew_is_reviewed_once(reviewed: Reviewed, tmp_path: Path, other: int) -> None:
    game = events_of(1)
    start, first = game[0], next(rounds_of(game))
    again = next(rounds_of(events_of(other)))
    record = write_record(tmp_path / "game.jsonl", [start, *first, *again, *game[1 + len(first) :]])
    review = review_with(reviewed, tmp_path, "--seat", "0", record=record)
    names = [each["name"] for each in review["rounds"]]
    assert names.count("East 1-0") == 1 and len(names) == len(set(names))
    assert any(text.startswith("East 1-0: ") for text in review["left_out"])


def test_a_decision_differs_if_its_gap_reaches_the_threshold(reviewed: Reviewed, tmp_path: Path) -> None:
    gaps = [d["answers"][0]["gap"] for d in reviewed.review["decisions"]]
    for threshold in (0.0, 0.01, 1.0):
        review = review_with(reviewed, tmp_path, "--seat", str(SEAT), "--threshold", str(threshold))
        differs = [d["answers"][0]["differs"] for d in review["decisions"]]
        best = [d["answers"][0]["best"] for d in review["decisions"]]
        chosen = [d["chosen"] for d in review["decisions"]]
        assert review["threshold"] == threshold
        assert differs == [gap >= threshold and b != c for gap, b, c in zip(gaps, best, chosen, strict=True)]
        assert review["models"][0]["differing"] == sum(differs)


def test_the_policy_is_the_opinion_shown_by_default(reviewed: Reviewed, tmp_path: Path) -> None:
    imitation, rank = reviewed.weights["imitation"], reviewed.weights["rank"]
    assert (reviewed.review["policy_model"], reviewed.review["default_model"]) == (0, 0)
    for weights, expected in (([rank, imitation], (1, 1)), ([rank], (None, 0))):
        data = tmp_path / "out.json"
        command = [str(reviewed.record), *weights, "--seat", "0", "-o", str(tmp_path / "out.html"), "--force"]
        assert main([*command, "--json", str(data)]) == 0
        review = json.loads(data.read_text())
        assert (review["policy_model"], review["default_model"]) == expected


def test_values_of_actions_that_imitation_hardly_takes_are_not_compared(reviewed: Reviewed) -> None:
    reviewers = [Policy.load(reviewed.weights[stage]) for stage in ("imitation", "rank")]
    # a sharp imitation, so that many actions are below the floor
    sharp = Policy.load(reviewed.weights["imitation"])
    sharp.temperature = 0.02
    (_, rows), plausible, choices = reviewed_predictions([sharp, reviewers[1]], reviewed.annotations)
    assert any(not all(row) for row in plausible)
    for row, allowed, of, raw in zip(rows, plausible, choices, sharp.predictions(reviewed.annotations), strict=True):
        annotation, prediction = of.annotation, of.of(raw)
        assert prediction.probability is not None
        assert allowed == (prediction.probability >= 0.01).tolist()
        assert allowed[row.best] or row.best == annotation.chosen
        compared = [i for i in range(len(allowed)) if allowed[i] or i == annotation.chosen]
        assert row.loss == pytest.approx(row.shown[compared].max() - row.shown[annotation.chosen], abs=1e-5)
