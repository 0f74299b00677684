"""Recorded games become annotations, or the round that disagrees is named."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from annotate.annotation import Annotation, check, format_line, parse_line
from annotate.game.grading import mjsoul_delta
from annotate.game.record import Event, Round, Rules
from annotate.records.reading import read_games
from annotate.replay.replay import Disagreement, ReplayResult, annotate_game, replay_round
from tests.golden.golden import LINES, lines_text
from tests.support.rare_rounds import KAKAN, ROUNDS, TENPAI, THREE_WINNERS, events_of
from tests.support.real_records import real_records
from tests.support.rounds import (
    DULL,
    NUM_SEATS,
    Played,
    V,
    choice,
    dora_of,
    game_of,
    play_round,
    situation,
    start_of_round,
    writer_of,
)


def replayed(events: Played | list[Event], rules: Rules = "mjsoul"):
    events = events.events if isinstance(events, Played) else events
    found = replay_round(Round(tuple(events)), rules, writer_of())
    return found.play.decisions, found.results, found.play.num_unknown


def annotated(*rounds: Round, **header) -> ReplayResult:
    report = annotate_game(game_of(*rounds, **header))
    for annotation in report.annotations:
        check(annotation, V)
    return report


def grades_of(annotation: Annotation) -> list[int]:
    values = [at for name, at in map(V.sparse.describe, annotation.sparse) if name == "standing"]
    return [at["grade_or_rank"] for at in values if at["grade_or_rank"] < 16]


def changed(played: Played, kind: str, index: int = 0, **values) -> Round:
    """The round with one event, the `index`-th of its kind, changed."""
    events = [dict(event) for event in played.events]
    place = [i for i, event in enumerate(events) if event["type"] == kind][index]
    events[place] |= values
    return Round(tuple(events))


@pytest.mark.parametrize("name", ROUNDS)
def test_a_record_gives_the_decisions_that_were_taken(name: str) -> None:
    events, taken = events_of(name, "mjsoul")
    decisions, _, num_unknown = replayed(events)
    assert decisions == [decision for decision in taken if not decision.is_preempted]
    assert num_unknown == sum(decision.is_preempted for decision in taken)


def test_a_call_passed_while_a_chi_is_made_is_a_real_skip() -> None:
    decisions, _, num_unknown = replayed(play_round("0 discard 3p; 1 chi 45p", ["3p", "45p", "33p", ""]))
    assert num_unknown == 0
    assert [(decision.seat, choice(decision)) for decision in decisions[1:3]] == [(1, "chi 45p"), (2, "skip")]


def test_a_pon_that_kept_the_red_five_in_the_hand_replays_as_it_was() -> None:
    used = play_round("0 discard 5p; 1 pon; 1 discard 9m", ["5p", "055p9m"])
    kept = changed(used, "pon", consumed=["5p", "5p"])
    (one, _, _), (two, _, _) = replayed(used), replayed(list(kept.events))

    red, ordinary = 353 + 36, 353 + 53
    assert [choice(d) for d in two] == [choice(d) for d in one]
    after = [next(d for d in decisions if len(d.observation.progression) == 3) for decisions in (one, two)]
    assert [(red in d.observation.sparse, ordinary in d.observation.sparse) for d in after] == [
        (False, True),
        (True, False),
    ]


def test_an_earlier_kans_dora_stays_hidden_when_the_next_kan_is_robbed() -> None:
    script = "0 discard 3p; 1 pon; 1 discard 9m; 0 discard 7p; 1 pon; 1 discard 9s; 1 kakan 3p; 1 kakan 7p; 3 ron"
    played = play_round(script, KAKAN, "5z2z1z4z2z1z4z3p", dora="3z4z", rinshan="7p5z", rules="tenhou")
    with_dora, without = played.events, [event for event in played.events if event["type"] != "dora"]
    assert len(with_dora) - len(without) == 1

    (one, _, _), (two, _, _) = replayed(with_dora, "tenhou"), replayed(without, "tenhou")
    assert one == two
    assert dora_of(one[-1]) == ["3z"]


def test_later_events_of_the_record_do_not_show_in_decisions() -> None:
    hands = ["3p", "45p", "33p", ""]
    ends = [
        play_round(f"0 cut; 0 discard 3p; {end}", hands, "1z2z3z4z5z6z")
        for end in ("1 chi 45p", "2 pon", "2 skip", "2 skip; 1 cut; 2 discard 3p")
    ]
    seen = [[situation(d) for d in replayed(played)[0] if len(d.observation.progression) < 5] for played in ends]
    assert len(seen[0]) >= 4
    assert seen[0] == seen[1] == seen[2] == seen[3]


def test_a_draw_without_a_reason_is_known_by_the_rules() -> None:
    played = play_round("0 kyushu", ["19m19p19s1234z258p"], "5m")
    events = [{key: value for key, value in event.items() if key != "reason"} for event in played.events]
    assert replayed(events)[1] == [(18, 0, 0, 0, 0)] * NUM_SEATS


ABORT = {"type": "ryukyoku", "reason": "sufuurenta", "deltas": [0, 0, 0, 0]}
WIN = play_round("0 riichi 8m; 0 tsumo", [TENPAI, *DULL[1:]], "8m...1z", dora="3z", ura="9m", rules="tenhou")


@pytest.mark.parametrize(
    "recorded, message",
    [
        (changed(WIN, "hora", deltas=[1, 0, 0, -1]), "change of the scores: record [-999, 0, 0, -1], engine"),
        (changed(WIN, "dahai", 1, pai="9p"), "not a legal action: dahai (actor 1, pai 9p"),
        (changed(WIN, "dahai", 2, tsumogiri=False), "not a legal action: dahai (actor 2"),
        (changed(WIN, "tsumo", 1, actor=2), "seat 1 is to act after drawing"),
        (changed(WIN, "dahai", 1, actor=2), "seat 1 is to act, but the record continues with dahai (actor 2"),
        (changed(WIN, "hora", target=1), "seat 0 is to act, but the record continues with hora"),
        (Round((*WIN.events, ABORT)), "the round is over, but the record continues with ryukyoku (reason sufuurenta"),
        (
            Round((*WIN.events[:-1], WIN.events[1], WIN.events[-1])),
            "seat 0 is to act after drawing E, not after tsumo (actor 0, pai 8m)",
        ),
        (Round((WIN.events[0], ABORT)), "seat 0 is to act after drawing 5mr, but the record has no draw before that"),
        (Round(WIN.events[:-1]), "the record ends before the round is over"),
        (Round((*WIN.events, WIN.events[-1])), "the record continues with hora"),
        (Round(tuple(e for e in WIN.events if e["type"] != "reach_accepted")), "change of the scores: record [19000, "),
        (changed(WIN, "start_kyoku", honba=300), "out of range"),
        (changed(WIN, "start_kyoku", dora_marker="6s"), "engine [24000, -8000, -8000, -8000]"),
    ],
)
def test_a_disagreement_is_reported_with_its_round_and_the_first_difference(recorded: Round, message: str) -> None:
    with pytest.raises(Disagreement) as caught:
        replay_round(recorded, "tenhou", writer_of())
    assert message in str(caught.value)

    (left_out,) = annotated(recorded, rules=("tenhou",)).left_out
    assert left_out.startswith(f"{recorded.name}: ") and message in left_out


def test_a_round_that_disagrees_does_not_affect_the_other_rounds() -> None:
    good = play_round("0 discard 3p; 1 ron", THREE_WINNERS, start=start_of_round(oya=0))
    other = play_round("1 cut; 2 cut", start=start_of_round(oya=1, wind="S", honba=2))
    bad = changed(good, "hora", deltas=[0, 0, 0, 0])

    report = annotated(good.round, bad, other.round)
    assert report.num_rounds == 2
    assert [text.split(":")[0] for text in report.left_out] == ["East 1-0"]
    assert len(report.annotations) == len(annotated(good.round).annotations) + len(annotated(other.round).annotations)


def test_rules_are_tried_in_turn_and_the_first_ones_report_the_difference() -> None:
    played = play_round("0 discard 3p; 1 ron; 2 ron; 3 ron", THREE_WINNERS, rules="mjsoul")
    assert annotated(played.round, rules=("tenhou", "mjsoul")).left_out == []

    bad = changed(played, "hora", 2, deltas=[0, 0, 0, 0])
    for rules in (("tenhou", "mjsoul"), ("mjsoul", "tenhou")):
        (text,) = annotated(bad, rules=rules).left_out
        assert text == annotated(bad, rules=rules[:1]).left_out[0]


def test_the_end_of_the_game_is_taken_from_the_record() -> None:
    scores, deltas = (20000, 40000, 20000, 20000), (-9, 165, 7, -240)
    report = annotated(play_round("").round, final_scores=scores, grading_deltas=deltas)
    for annotation in report.annotations:
        seat = V.sparse["seat"].indices(next(t for t in annotation.sparse if 7 <= t <= 10))[0]
        assert annotation.results[5:] == (1, 0, 2, 3, (1, 0, 2, 3)[seat], scores[seat], deltas[seat])
    assert report.notes == []


def test_missing_room_and_grades_get_defaults_and_a_note() -> None:
    report = annotated(play_round("").round, room=None, grades=None)
    assert report.annotations[0].sparse[0] == 4
    assert grades_of(report.annotations[0]) == [14] * NUM_SEATS
    assert report.notes == ["room or grades unknown: defaults taken"]

    chosen = annotate_game(game_of(play_round("").round, room=None, grades=None), room=1, grades=(5,)).annotations[0]
    assert chosen.sparse[0] == 1
    assert grades_of(chosen) == [5] * NUM_SEATS


def test_a_missing_change_of_grading_points_follows_mahjong_souls_table_and_is_noted() -> None:
    report = annotated(play_round("").round, grading_deltas=None, room=3, grades=(11,) * NUM_SEATS)
    for annotation in report.annotations:
        rank, score, change = annotation.results[9:12]
        assert change == mjsoul_delta(rank, score, room=3, grade=11, style=1, num_seats=4) != 0
    assert report.notes == ["change of grading points not recorded: Mahjong Soul's for the rooms and grades written"]


def test_without_an_end_ranks_and_scores_follow_from_the_last_round_and_leftover_deposits() -> None:
    start = start_of_round(kyotaku=2, scores=(24000, 30000, 20000, 24000))
    played = play_round("0 kyushu", ["19m19p19s1234z258p"], "5m", start=start)
    report = annotated(played.round, final_scores=None, incomplete="the file is cut off")

    assert report.annotations[0].results[5:11] == (1, 0, 3, 2, 1, 24000)
    ended = annotated(played.round, final_scores=(24000, 32000, 20000, 24000), grading_deltas=(0,) * NUM_SEATS)
    assert ended.annotations == report.annotations
    assert report.left_out == ["the file is cut off"]
    assert report.notes == ["end of the game missing: ranks and scores are those after its last whole round"]


def test_the_golden_lines_are_unchanged() -> None:
    assert lines_text() == LINES.read_text()


def test_the_golden_lines_are_valid_and_show_every_kind_of_own_turn_and_claim() -> None:
    annotations = [parse_line(line, V) for line in LINES.read_text().splitlines()]
    chosen = {V.action.describe(a.actions[a.chosen])[0] for a in annotations}
    assert chosen == {*"discard ankan kakan tsumo kyushu skip chi pon daiminkan ron".split()}


def annotate_records(paths: Iterable[Path]) -> Iterator[ReplayResult]:
    """Annotates one record after another and checks its lines."""
    for path in paths:
        for game in read_games(str(path)):
            assert all(recorded.wall is not None for recorded in game.rounds)  # by the seed
            report = annotate_game(game)
            for annotation in report.annotations[::10]:
                assert parse_line(format_line(annotation), V) == annotation
                seat = V.sparse["seat"].indices(next(t for t in annotation.sparse if 7 <= t <= 10))[0]
                assert annotation.results[9] == annotation.results[5 + seat]
            yield report


@pytest.mark.records
@pytest.mark.parametrize("folder", ["tenhou/houou-4p-2020", "tenhou/houou-4p-2021"])
def test_a_sample_of_real_games_replays_whole(folder: str) -> None:
    reports = list(annotate_records(real_records(folder)[::150]))
    assert [text for report in reports for text in report.left_out] == []
    assert all(len(report.annotations) > 100 and not report.notes for report in reports)


@pytest.mark.records
@pytest.mark.slow
def test_all_real_games_replay_whole() -> None:
    paths = real_records("tenhou/houou-4p-2020") + real_records("tenhou/houou-4p-2021")
    num_rounds = 0
    for report in annotate_records(paths):
        assert report.left_out == []
        num_rounds += report.num_rounds
    assert num_rounds > 10_000
