"""kanachan-review: the content of a review, and its errors when there is nothing to review."""

import json
import math
import os
import re
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from annotate.annotation import Annotation
from annotate.game.hands import Meld
from annotate.records.reading import read_games
from annotate.replay.replay import annotate_game, annotation_of
from annotate.words import describe_action
from kanachan.cli.review import main
from kanachan.data.columns import columns_of_annotations
from kanachan.evaluation.decision_metrics import KINDS
from kanachan.inference.advantage_policy import AdvantagePolicy
from kanachan.inference.policy import Policy
from kanachan.objectives.stages import STAGES
from kanachan.review.board import table_of
from kanachan.review.page import embedded, page
from kanachan.review.predictions import kinds_offered, reviewed_predictions
from kanachan.review.report import Reviewer, review_of
from tests.support.rare_rounds import ROUNDS
from tests.support.reviewed import events_of, num_public, rounds_of, seen_in, shown_of, with_empty_rounds, write_record
from tests.support.rounds import V, options, play_round
from tests.support.tiny_weights import written
from tests.support.writers.all_formats import tenhou_xml
from tests.support.writers.majsoul_made import simulated

SEAT = 2


class Reviewed(NamedTuple):
    record: Path
    weights: dict[str, str]
    """by stage, in the order in which they were given"""
    annotations: list[Annotation]
    """of the seat under review, by annotating the record"""
    review: dict[str, Any]
    page: str


@pytest.fixture(scope="module")
def reviewed(tmp_path_factory: pytest.TempPathFactory) -> Reviewed:
    folder = tmp_path_factory.mktemp("review")
    record = write_record(folder / "game.jsonl", events_of(5))
    weights = {stage: str(written(folder / stage, stage)) for stage in STAGES}
    out, data = folder / "out.html", folder / "out.json"
    command = [str(record), *weights.values(), "--seat", str(SEAT), "-o", str(out), "--json", str(data)]
    assert main(command) == 0
    (game,) = read_games(str(record))
    annotations = [a for a in annotate_game(game).annotations if table_of(a, V).seat == SEAT]
    return Reviewed(record, weights, annotations, json.loads(data.read_text()), out.read_text())


def test_every_decision_of_the_seat_is_there_as_it_was_annotated(reviewed: Reviewed) -> None:
    decisions = reviewed.review["decisions"]
    assert len(decisions) == len(reviewed.annotations) > 30
    for decision, annotation in zip(decisions, reviewed.annotations, strict=True):
        assert tuple(candidate["token"] for candidate in decision["candidates"]) == annotation.actions
        assert decision["candidates"][0]["words"] == describe_action(annotation.actions[0], V)
        assert decision["chosen"] == annotation.chosen
        table = decision["table"]
        assert (table["honba"], table["deposits"], *table["scores"]) == annotation.numeric
    named = dict(zip(V.results, reviewed.annotations[0].results, strict=True))
    final = reviewed.review["final"]
    assert (final["rank"], final["score"], final["grading_delta"]) == (
        named["rank"],
        named["score"],
        named["grading_delta"],
    )


def test_hands_rivers_and_melds_are_those_of_the_record(tmp_path: Path) -> None:
    num_melds = 0
    for seed in range(3):
        events = events_of(seed)
        (game,) = read_games(str(write_record(tmp_path / "game.jsonl", events)))
        seen = {
            (recorded[0]["bakaze"], recorded[0]["oya"], recorded[0]["honba"], seat): seen_in(recorded, seat)
            for recorded in rounds_of(events)
            for seat in range(V.num_seats)
        }
        pons = {key: [event["consumed"] for event in r.events if event["type"] == "pon"] for r, key in _keyed(game)}
        for annotation in annotate_game(game).annotations:
            table = table_of(annotation, V)
            key = ("ESW"[table.wind], table.dealer, table.honba)
            shown = asdict(table_of(annotation, V, pons[key]))
            assert shown_of(shown) in seen[*key, table.seat][num_public(shown)]
            num_melds += sum(map(len, table.melds))
    assert num_melds > 100


def _keyed(game: Any) -> list[tuple[Any, tuple[str, int, int]]]:
    starts = [(recorded, recorded.events[0]) for recorded in game.rounds]
    return [(recorded, (start["bakaze"], start["oya"], start["honba"])) for recorded, start in starts]


@pytest.mark.parametrize(
    "name, seat, kind, meld",
    [
        ("a robbed kan", 3, "kakan", Meld("kakan", ["3p", "3p"], "3p", 0, "3p")),
        ("the second of two kans robbed", 3, "kakan", Meld("kakan", ["7p", "7p"], "7p", 0, "7p")),
        ("a closed kan of a wind and thirteen orphans", 2, "ankan", Meld("ankan", ["1z"] * 4)),
        ("three who may win", 3, "discard", None),
    ],
)
def test_what_a_decision_reacts_to_is_recorded(name: str, seat: int, kind: str, meld: Meld | None) -> None:
    script, hands, wall = ROUNDS[name]
    decision = [d for d in play_round(script, hands, **wall).of(seat) if "ron" in options(d)][-1]
    table = table_of(annotation_of("g", decision, [(0,) * 5] * 4, [(0,) * 7] * 4), V)
    assert table.last_kind == kind and table.last_seat is not None
    assert (None if table.last_meld is None else table.melds[table.last_seat][table.last_meld]) == meld


def test_networks_of_several_stages_are_shown_side_by_side(reviewed: Reviewed) -> None:
    assert [(model["name"], model["stage"]) for model in reviewed.review["models"]] == [(s, s) for s in STAGES]
    for number, weights in enumerate(reviewed.weights.values()):
        predictions = Policy.load(weights).predictions(reviewed.annotations)
        for decision, prediction in zip(reviewed.review["decisions"], predictions, strict=True):
            shown = decision["answers"][number]
            assert shown["shown"] == pytest.approx(prediction.shown.tolist(), rel=1e-3, abs=1e-4)
            is_compared = np.array(decision["plausible"]) | (prediction.probability is not None)
            is_compared[decision["chosen"]] = True
            score = np.where(is_compared, prediction.score, -np.inf)
            assert shown["best"] == int(score.argmax())
            chosen = prediction.shown[decision["chosen"]]
            loss = -math.log(chosen) if prediction.probability is not None else score.max() - chosen
            assert shown["loss"] == pytest.approx(loss, rel=1e-2, abs=1e-3)
            assert (shown["rank_probability"] is None) == (prediction.rank_probability is None)


def test_the_largest_losses_come_first(reviewed: Reviewed) -> None:
    for number, model in enumerate(reviewed.review["models"]):
        losses = [decision["answers"][number]["loss"] for decision in reviewed.review["decisions"]]
        assert [losses[i] for i in model["worst"]] == sorted(losses, reverse=True)[: len(model["worst"])]


def test_the_summary_counts_kinds_of_decisions(reviewed: Reviewed) -> None:
    decisions = reviewed.review["decisions"]
    assert [decision["kinds"] for decision in decisions] == kinds_offered(reviewed.annotations, V)
    for number, model in enumerate(reviewed.review["models"]):
        for row in model["summary"]:
            mine = [d for d in decisions if row["kind"] == "all" or row["kind"] in d["kinds"]]
            losses = [d["answers"][number]["loss"] for d in mine]
            assert row["decisions"] == len(mine)
            assert row["agreed"] == sum(d["answers"][number]["best"] == d["chosen"] for d in mine)
            assert row["mean_loss"] == pytest.approx(sum(losses) / len(losses), rel=1e-4)
            assert (row["mean_probability"] is None) == (model["stage"] != "imitation")
        assert {row["kind"] for row in model["summary"]} <= {"all", *KINDS}
        assert model["summary"][0]["decisions"] == len(decisions)


def test_rank_probabilities_before_a_decision_come_from_the_situation(reviewed: Reviewed) -> None:
    policy = Policy.load(reviewed.weights["rank"])
    annotations = reviewed.annotations[:5]
    (rows,) = reviewed_predictions([policy], annotations, chunk=2).predictions
    batch = policy.batch(columns_of_annotations(annotations, V))
    expected_BR = policy.objective.baseline_rank_probability(policy.output(batch), batch)
    for row, expected_R in zip(rows, expected_BR, strict=True):
        assert row.expected_ranks == pytest.approx(expected_R.tolist(), abs=1e-5)
        assert row.expected == pytest.approx(float(expected_R @ policy.objective.points_R), rel=1e-4)


def test_without_a_value_of_the_situation_the_mean_over_the_actions_is_shown(
    reviewed: Reviewed, tmp_path: Path
) -> None:
    rank = Policy.load(written(tmp_path, "rank", baseline=0.0))
    imitation = Policy.load(reviewed.weights["imitation"])
    annotations = reviewed.annotations[:5]
    played = rank.predictions(annotations)
    likely = imitation.predictions(annotations)
    together, alone = (
        reviewed_predictions(policies, annotations, 256).predictions[0] for policies in ([rank, imitation], [rank])
    )
    for i, annotation in enumerate(annotations):
        probability, ranks = likely[i].probability, played[i].rank_probability
        assert probability is not None and ranks is not None
        np.testing.assert_allclose(together[i].expected_ranks, probability @ ranks, atol=1e-5)
        np.testing.assert_allclose(alone[i].expected_ranks, ranks[annotation.chosen], atol=1e-5)


def test_nothing_in_a_record_becomes_part_of_the_page(reviewed: Reviewed) -> None:
    evil = "</script><script>alert(1)</script><img src=x onerror=alert(2)>&\u2028\u2029"
    made = page({**reviewed.review, "game": evil, "notes": [evil], "left_out": [evil]})
    assert made.count("<script") == reviewed.page.count("<script") == 2
    assert made.count("</script") == 2 and "<img" not in made
    embedded_text = re.search(r'<script type="application/json" id="data">(.*?)</script>', made, re.DOTALL)
    assert embedded_text is not None and not set("<>&\u2028\u2029") & set(embedded_text[1])
    assert json.loads(embedded_text[1])["game"] == evil


def test_numbers_that_json_cannot_hold_are_refused() -> None:
    with pytest.raises(ValueError, match="JSON"):
        embedded({"loss": math.inf})


def test_the_page_loads_nothing(reviewed: Reviewed) -> None:
    links = re.findall(r"""(?:href|src)=["']([^"']*)""", reviewed.page)
    assert links and all(link.startswith(("#tile-", "data:")) for link in links)
    assert "default-src &#x27;none&#x27;" in reviewed.page
    assert not re.search(r"url\(|@import|fetch\(|XMLHttpRequest", reviewed.page)


def test_rounds_that_do_not_replay_are_named(
    reviewed: Reviewed, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = write_record(tmp_path / "damaged.jsonl", _damaged(events_of(5), rounds={1}))
    out, data = tmp_path / "out.html", tmp_path / "out.json"
    command = [str(record), reviewed.weights["imitation"], "--seat", "0", "-o", str(out), "--json", str(data)]
    assert main(command) == 0
    review = json.loads(data.read_text())
    (left_out,) = review["left_out"]
    assert f"kanachan-review: left out: {record}: {left_out}" in capsys.readouterr().err
    assert left_out.split(":")[0] not in [found["name"] for found in review["rounds"]]
    assert embedded(left_out) in out.read_text()


def test_a_game_and_weights_of_different_vocabularies_are_refused_together(reviewed: Reviewed) -> None:
    (game,) = read_games(str(reviewed.record))
    other = replace(game, vocabulary=replace(V, name="kanachan-5p"))
    reviewers = [Reviewer("mine", Policy.load(reviewed.weights["imitation"]))]
    with pytest.raises(ValueError, match="game.jsonl: a game of kanachan-5p, but the weights mine are for kanachan-4p"):
        review_of("game.jsonl", other, annotate_game(game), [SEAT], reviewers, 8, 0.2)


def test_rounds_in_which_the_seat_decides_nothing_are_shown(reviewed: Reviewed, tmp_path: Path) -> None:
    record, data = write_record(tmp_path / "short.jsonl", with_empty_rounds()), tmp_path / "out.json"
    command = [str(record), reviewed.weights["imitation"], "--seat", "2", "-o", str(tmp_path / "out.html")]
    assert main([*command, "--json", str(data)]) == 0
    review = json.loads(data.read_text())
    assert [(found["name"], found["first"], found["decisions"], found["result"]) for found in review["rounds"]] == [
        ("East 1-0", 0, 0, "round aborted"),
        ("East 1-1", 0, 17, "exhaustive draw, not tenpai"),
        ("East 2-2", 17, 0, "ron of the right seat on the left seat"),
        ("East 3-0", 17, 18, "exhaustive draw, not tenpai"),
        ("East 4-1", 35, 0, "ron of the seat across on the right seat"),
    ]
    assert [found["deltas"] for found in review["rounds"][::2]] == [[0] * 4, [0, -2600, 0, 2600], [2300, 0, 0, -2300]]
    assert [decision["round"] for decision in review["decisions"]] == [1] * 17 + [3] * 18


def _damaged(events: list[Any], rounds: set[int] | None = None) -> list[Any]:
    """With one discard of each of `rounds` (all if None) of a tile that its player does not have."""
    number, is_damaged, damaged = -1, True, []
    for event in events:
        if event["type"] == "start_kyoku":
            number, is_damaged = number + 1, rounds is not None and number + 1 not in rounds
        if event["type"] == "dahai" and not is_damaged:
            event, is_damaged = {**event, "pai": "P" if event["pai"] != "P" else "F", "tsumogiri": False}, True
        damaged.append(event)
    return damaged


def test_what_cannot_be_reviewed_is_named(
    reviewed: Reviewed, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    weights = reviewed.weights["imitation"]
    out = tmp_path / "out.html"
    events = events_of(5)
    two = write_record(tmp_path / "two.jsonl", events, events_of(6))
    damaged = write_record(tmp_path / "damaged.jsonl", _damaged(events))
    text = tmp_path / "text.txt"
    text.write_text("no record\n")
    for arguments, why in (
        ([str(text), weights], f"{text}: not a game record"),
        ([str(tmp_path / "none.xml"), weights], "none.xml"),
        ([str(two), weights], f"{two} holds 2 games: choose one with --game 1 ... 2"),
        ([str(two), weights, "--game", "3"], f"{two}: --game 3 is not in 1 ... 2"),
        ([str(tmp_path), weights], "one record is reviewed at a time"),
        ([str(damaged), weights], f"{damaged}: no round of the game could be replayed"),
        ([str(reviewed.record), str(tmp_path / "weights")], str(tmp_path / "weights")),
    ):
        assert main([*arguments, "--seat", "0", "-o", str(out)]) == 1
        error = capsys.readouterr().err.splitlines()[-1]
        assert error.startswith("kanachan-review: error: ") and why in error
        assert not out.exists()


def test_a_page_overwrites_neither_its_record_nor_its_data(
    reviewed: Reviewed, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record, page = str(reviewed.record), str(tmp_path / "out.html")
    before = reviewed.record.read_bytes()
    for outputs, why in (
        (["-o", record], f"{record}: is read, and would be overwritten"),
        (["-o", page, "--json", page], f"--json {page}: the page is written there"),
        (["-o", "-"], "cannot be written to standard output"),
    ):
        assert main([record, reviewed.weights["imitation"], "--seat", "0", *outputs]) == 1
        assert why in capsys.readouterr().err
    assert reviewed.record.read_bytes() == before and os.listdir(tmp_path) == []


def test_a_game_among_several_can_be_chosen(reviewed: Reviewed, tmp_path: Path) -> None:
    record = write_record(tmp_path / "two.jsonl", events_of(6), events_of(5))
    data = tmp_path / "out.json"
    command = [str(record), reviewed.weights["imitation"], "--seat", str(SEAT), "-o", str(tmp_path / "out.html")]
    assert main([*command, "--game", "2", "--json", str(data)]) == 0
    assert json.loads(data.read_text())["game"] == reviewed.review["game"]


@pytest.mark.parametrize(
    "arguments",
    (
        ["--seat", "0", "--threshold", "20"],
        ["--seat", "0", "--game", "0"],
        ["--seat", "0", "--batch", "0"],
        ["--seat", "0", "--prior", "none"],
        ["--seat", "0", "--prior", "none", "--temperature", "-3"],
        ["--seat", "0", "--temperature", "3"],
    ),
)
def test_wrong_options_are_refused_before_anything_is_read(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(["none.xml", "none", "-o", "none.html", *arguments])
    assert exit_.value.code == 2


def test_imitation_can_be_shown_as_values_shift_it(reviewed: Reviewed, tmp_path: Path) -> None:
    data, (imitation, grading) = tmp_path / "out.json", (reviewed.weights[stage] for stage in ("imitation", "grading"))
    command = [str(reviewed.record), grading, "--prior", imitation, "--temperature", "50", "--seat", str(SEAT)]
    assert main([*command, "-o", str(tmp_path / "out.html"), "--json", str(data)]) == 0
    review = json.loads(data.read_text())
    policy = AdvantagePolicy(Policy.load(imitation), Policy.load(grading), 50)
    assert [model["name"] for model in review["models"]] == ["grading", "imitation \u00d7 grading"]
    for decision, prediction in zip(review["decisions"], policy.predictions(reviewed.annotations), strict=True):
        assert decision["answers"][1]["shown"] == pytest.approx(prediction.shown.tolist(), rel=1e-3, abs=1e-4)


def test_a_prior_that_has_no_probabilities_is_named(
    reviewed: Reviewed, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rank, grading = reviewed.weights["rank"], reviewed.weights["grading"]
    command = [str(reviewed.record), grading, "--prior", rank, "--temperature", "50", "--seat", str(SEAT)]
    assert main([*command, "-o", str(tmp_path / "out.html")]) == 1
    assert f"{grading} with --prior {rank}: a network after rank is not a prior" in capsys.readouterr().err


def test_weights_whose_folders_have_one_name_are_distinguished(reviewed: Reviewed, tmp_path: Path) -> None:
    paths = [str(written(tmp_path / run / "imitation", seed=seed).parent) for seed, run in enumerate("ab")]
    data = tmp_path / "out.json"
    command = [str(reviewed.record), *paths, "--seat", "0", "-o", str(tmp_path / "out.html"), "--json", str(data)]
    assert main(command) == 0
    assert [model["name"] for model in json.loads(data.read_text())["models"]] == paths


def review_with(reviewed: Reviewed, folder: Path, *arguments: str, record: Path | None = None) -> dict[str, Any]:
    data = folder / "out.json"
    command = [str(record or reviewed.record), reviewed.weights["imitation"], "-o", str(folder / "out.html"), "--force"]
    assert main([*command, "--json", str(data), *arguments]) == 0
    found: dict[str, Any] = json.loads(data.read_text())
    return found


def test_all_seats_are_in_one_review_as_alone(reviewed: Reviewed, tmp_path: Path) -> None:
    everyone = review_with(reviewed, tmp_path, "--seat", "all")
    assert [part["seat"] for part in everyone["reviews"]] == [0, 1, 2, 3]
    alone = review_with(reviewed, tmp_path, "--seat", "1")
    shared = {key: value for key, value in everyone.items() if key != "reviews"}
    joined = {**shared, **everyone["reviews"][1]}
    assert joined["decisions"][0]["table"] == alone["decisions"][0]["table"]
    assert joined.keys() == alone.keys()
    assert joined["models"][0]["rating"] == pytest.approx(alone["models"][0]["rating"])


def test_a_rating_is_the_mean_share_of_the_most_probable_action(reviewed: Reviewed) -> None:
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


def test_a_decision_differs_from_the_threshold_on(reviewed: Reviewed, tmp_path: Path) -> None:
    gaps = [d["answers"][0]["gap"] for d in reviewed.review["decisions"]]
    for threshold in (0.0, 0.01, 1.0):
        review = review_with(reviewed, tmp_path, "--seat", str(SEAT), "--threshold", str(threshold))
        differs = [d["answers"][0]["differs"] for d in review["decisions"]]
        best = [d["answers"][0]["best"] for d in review["decisions"]]
        chosen = [d["chosen"] for d in review["decisions"]]
        assert review["threshold"] == threshold
        assert differs == [gap >= threshold and b != c for gap, b, c in zip(gaps, best, chosen, strict=True)]
        assert review["models"][0]["differing"] == sum(differs)


def test_the_gap_of_values_is_a_share_of_a_large_difference(reviewed: Reviewed) -> None:
    for number, model in enumerate(reviewed.review["models"]):
        for decision in reviewed.review["decisions"]:
            answer = decision["answers"][number]
            expected = answer["loss"] / model["scale"]
            if model["unit"] == "probability":
                expected = max(answer["shown"]) - answer["shown"][decision["chosen"]]
            assert answer["gap"] == pytest.approx(expected, rel=1e-3, abs=1e-4)


def test_the_policy_is_the_opinion_to_start_with(reviewed: Reviewed, tmp_path: Path) -> None:
    imitation, rank = reviewed.weights["imitation"], reviewed.weights["rank"]
    assert (reviewed.review["policy_model"], reviewed.review["default_model"]) == (0, 0)
    for weights, expected in (([rank, imitation], (1, 1)), ([rank], (None, 0))):
        data = tmp_path / "out.json"
        command = [str(reviewed.record), *weights, "--seat", "0", "-o", str(tmp_path / "out.html"), "--force"]
        assert main([*command, "--json", str(data)]) == 0
        review = json.loads(data.read_text())
        assert (review["policy_model"], review["default_model"]) == expected
    shifted = [str(reviewed.record), imitation, rank, "--prior", imitation, "--temperature", "50", "--seat", "0"]
    assert main([*shifted, "-o", str(tmp_path / "out.html"), "--force", "--json", str(data)]) == 0
    assert json.loads(data.read_text())["default_model"] == 2


def test_values_of_actions_that_imitation_hardly_takes_are_not_compared(reviewed: Reviewed) -> None:
    reviewers = [Policy.load(reviewed.weights[stage]) for stage in ("imitation", "rank")]
    # a sharp imitation, so that many actions are below the floor
    sharp = Policy.load(reviewed.weights["imitation"])
    sharp.temperature = 0.02
    (_, rows), plausible = reviewed_predictions([sharp, reviewers[1]], reviewed.annotations, 64)
    assert any(not all(row) for row in plausible)
    probabilities = sharp.predictions(reviewed.annotations)
    for row, allowed, annotation, prediction in zip(rows, plausible, reviewed.annotations, probabilities, strict=True):
        assert prediction.probability is not None
        assert allowed == (prediction.probability >= 0.01).tolist()
        assert allowed[row.best] or row.best == annotation.chosen
        compared = [i for i in range(len(allowed)) if allowed[i] or i == annotation.chosen]
        assert row.loss == pytest.approx(row.shown[compared].max() - row.shown[annotation.chosen], abs=1e-5)


def test_values_without_an_evaluation_have_a_caveat(reviewed: Reviewed) -> None:
    kinds = [(model["caveat_kind"], bool(model["caveat"])) for model in reviewed.review["models"]]
    assert kinds == [(None, False)] + [("not_evaluated", True)] * 3


@pytest.mark.parametrize(("is_better", "kind"), [(True, None), (False, "not_better")])
def test_values_have_the_verdict_of_their_card(reviewed: Reviewed, is_better: bool, kind: str | None) -> None:
    policy = Policy.load(reviewed.weights["rank"])
    less = {"value": 0.01, "low": -0.02, "high": 0.04, "decisions": 900}
    verdict = {"is_better": is_better, "sentence": "no better than the scores alone", "less_scores": less}
    policy.card["evaluation"] = {"verdict": verdict}
    (game,) = read_games(str(reviewed.record))
    review = review_of("r", game, annotate_game(game), [SEAT], [Reviewer("rank", policy)], 64, 0.2)
    (model,) = review["models"]
    assert model["caveat_kind"] == kind and (model["caveat"] == verdict["sentence"]) != is_better
    assert model["evaluation"] == {"difference": 0.01, "interval": [-0.02, 0.04]}


def test_a_review_replaces_no_file_without_force(
    reviewed: Reviewed, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, data = tmp_path / "out.html", tmp_path / "out.json"
    command = [str(reviewed.record), reviewed.weights["imitation"], "--seat", "0", "-o", str(out), "--json", str(data)]
    for existing in (out, data):
        existing.write_text("mine")
        assert main(command) == 1
        assert f"{existing}: exists: name another file, or replace it with --force" in capsys.readouterr().err
        assert existing.read_text() == "mine"
        existing.unlink()
    out.write_text("mine")
    assert main([*command, "--force"]) == 0 and out.read_text() != "mine"


LOG = "2021070100gm-00a9-0000-0123abcd"
ADDRESS = f"https://tenhou.net/0/?log={LOG}&tw=1"


def test_an_address_is_reviewed_with_its_file_and_its_seat(
    reviewed: Reviewed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = simulated(5, rules="tenhou")
    (tmp_path / "mine.xml").write_bytes(tenhou_xml(made))
    (tmp_path / f"{LOG}.xml").write_bytes(tenhou_xml(made))
    monkeypatch.chdir(tmp_path)
    for named in (["mine.xml"], []):
        command = [ADDRESS, *named, reviewed.weights["imitation"], "-o", "out.html", "--json", "out.json", "--force"]
        assert main(command) == 0
        review = json.loads(Path("out.json").read_text())
        assert (review["seat"], review["source"]["log"]) == (1, LOG)
        assert review["players"][1]["name"] == "\u8ab01"
        assert review["rounds"][2]["link"] == f"https://tenhou.net/0/?log={LOG}&tw=1&ts=2"


def test_an_address_alone_is_answered_with_what_to_download_and_run(
    reviewed: Reviewed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    weights = reviewed.weights["imitation"]
    assert main([ADDRESS, weights, "-o", "out.html"]) == 1
    error = capsys.readouterr().err
    assert f"open https://tenhou.net/0/log/?{LOG}" in error
    assert f"kanachan-review '{ADDRESS}' {LOG}.xml {weights} -o out.html" in error
    uuid = "210815-6da08e40-2605-42fb-a5e3-f8aa5940362a"
    assert main([f"https://game.mahjongsoul.com/?paipu={uuid}", weights, "-o", "out.html"]) == 1
    assert f"{uuid}.json" in capsys.readouterr().err


def test_the_file_of_an_address_must_be_its_game(
    reviewed: Reviewed, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / f"{LOG[:-1]}e.xml"
    other.write_bytes(tenhou_xml(simulated(5, rules="tenhou")))
    assert main([ADDRESS, str(other), reviewed.weights["imitation"], "-o", str(tmp_path / "out.html")]) == 1
    assert f"the game {LOG[:-1]}e, but the address is of {LOG}" in capsys.readouterr().err


def test_a_player_is_chosen_by_name(reviewed: Reviewed, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    start, *events = events_of(5)
    record = write_record(tmp_path / "named.jsonl", [{**start, "names": ["Alice", "Bob", "Carol", "Dave"]}, *events])
    assert review_with(reviewed, tmp_path, "--seat", "Carol", record=record)["seat"] == 2
    assert main([str(record), reviewed.weights["imitation"], "-o", str(tmp_path / "x.html"), "--seat", "Eve"]) == 1
    assert "no player has this name: 0 Alice, 1 Bob, 2 Carol, 3 Dave, all" in capsys.readouterr().err
