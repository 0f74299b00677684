"""Which moments are decision points, and which choices another seat's claim hides."""

import pytest

from annotate.blocks import Field
from annotate.game.decisions import KINDS, is_hidden, kind_of
from annotate.vocabulary import VOCABULARIES
from tests.support.rare_rounds import THREE_WINNERS
from tests.support.rounds import DULL, V, choice, options, play_round, words

CLAIMS = {"chi": "chi 12m", "pon": "pon", "kan": "kan", "ron": "ron", "skip": "skip"}
TOKENS = {name: next(t for t in range(V.action.size) if words(t) == word) for name, word in CLAIMS.items()}


def hides(options_: str, outcome: str, chosen: str | None = None) -> bool:
    outcome = {"kan": "daiminkan"}.get(outcome, outcome)
    tokens = [TOKENS[name] for name in (*options_.split(), "skip")]
    return is_hidden(tokens, outcome, TOKENS[chosen] if chosen else None, V)


def test_a_forced_discard_in_riichi_is_no_decision_point() -> None:
    played = play_round("0 riichi 8m", ["123m456p789s1122z", *DULL[1:]], "8m")
    draws = [event for event in played.events if event["type"] == "tsumo" and event["actor"] == 0]
    assert len(draws) > 10
    assert all({"tsumo", "ron"} & options(decision) for decision in played.of(0)[1:])


def test_an_observation_does_not_depend_on_what_the_other_seats_answer() -> None:
    one = play_round("0 discard 3p; 1 chi 45p; 2 pon", ["3p", "45p", "33p", ""]).decisions[1:3]
    two = play_round("0 discard 3p; 1 skip; 2 skip", ["3p", "45p", "33p", ""]).decisions[1:3]
    assert [d.observation for d in one] == [d.observation for d in two]


@pytest.mark.parametrize(
    ("outcome", "hidden", "known"),
    [
        ("pass", "", "chi/pon/kan pon/chi pon/ron/chi ron/pon ron/chi kan pon ron"),
        ("chi", "", "chi/pon/kan pon/chi pon/ron/chi ron/pon ron/chi kan pon ron"),
        ("pon", "chi/chi ron", "ron/pon ron/kan pon"),
        ("kan", "chi/chi ron", "ron/pon ron/kan pon"),
        ("ron", "chi/pon/kan pon/chi ron/pon ron", "ron"),
    ],
)
def test_another_seats_claim_hides_the_choices_that_it_overrides(outcome: str, hidden: str, known: str) -> None:
    assert [options for options in hidden.split("/") if options and not hides(options, outcome)] == []
    assert [options for options in known.split("/") if hides(options, outcome)] == []
    assert outcome == "pass" or not hides("chi kan pon ron", outcome, outcome)  # it was carried out


@pytest.mark.parametrize("chosen", ["chi", "skip"])
def test_a_choice_known_in_play_is_hidden_from_a_record_like_an_unknown_one(chosen: str) -> None:
    assert hides("chi", "pon", chosen) and not hides("ron", "ron", "skip")


def test_in_play_the_choices_that_a_record_would_hide_are_marked() -> None:
    played = play_round("0 discard 3p; 1 chi 45p; 2 pon", ["3p", "45p", "33p", ""])
    assert [(choice(d), d.is_preempted) for d in played.decisions[:3]] == [
        ("discard 3p", False),
        ("chi 45p", True),
        ("pon", False),
    ]


def test_in_play_at_anothers_ron_a_passed_call_is_marked_but_a_passed_ron_is_not() -> None:
    played = play_round("0 discard 3p; 1 skip; 2 skip; 3 ron", THREE_WINNERS)
    assert [(options(d), d.is_preempted) for d in played.decisions[1:]] == [
        ({"chi 24p", "chi 45p", "ron", "skip"}, True),
        ({"ron", "skip"}, False),
        ({"ron", "skip"}, False),
    ]


def test_reports_name_the_kind_of_every_action() -> None:
    actions: dict[str, Field] = {name: vocabulary.action for name, vocabulary in VOCABULARIES.items()}
    kinds = {kind_of(token, VOCABULARIES[name]) for name, field in actions.items() for token in range(field.size)}
    assert kinds == set(KINDS)


def test_a_discard_with_riichi_is_of_the_kind_riichi() -> None:
    assert [kind_of(token, V) for token in range(4)] == ["discard", "riichi", "discard", "riichi"]
