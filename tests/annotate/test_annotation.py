"""Lines are written and parsed; wrong ones are refused, and the error names what is wrong."""

import pytest

from annotate.annotation import Annotation, Observation, check, format_line, parse_line, vocabulary_of_line
from annotate.vocabulary import FOUR_PLAYERS
from tests.support.random_annotations import altered, random_annotations

V = FOUR_PLAYERS
GOOD = Annotation(
    game="a-game",
    **Observation(
        sparse=(4, 6, 7, 11, 14, 54, 203, 287, 289, 307, 310, 327, 331, 347, 352, 353, 500),
        numeric=(0, 1, -2500, 52500, 25000, 25000),
        progression=(0, 5, 2128),
        actions=(0, 3, 221),
    )._asdict(),
    chosen=1,
    results=(3, -4000, -2000, -2000, 8000, 2, 1, 3, 0, 2, 23100, -27),
)
LINE = (
    "a-game\t4,6,7,11,14,54,203,287,289,307,310,327,331,347,352,353,500\t0,1,-2500,52500,25000,25000\t0,5,2128\t"
    "0,3,221\t1\t3,-4000,-2000,-2000,8000,2,1,3,0,2,23100,-27"
)


def test_a_line_has_seven_tab_separated_fields_of_comma_separated_integers() -> None:
    assert format_line(GOOD) == LINE
    assert parse_line(LINE, V) == GOOD


@pytest.mark.parametrize("ending", ["", "\n", "\r\n"])
def test_parsing_undoes_formatting(ending: str) -> None:
    for annotation in random_annotations(70, seed=1):
        assert parse_line(format_line(annotation) + ending, V) == annotation


def with_field(number: int, text: str) -> str:
    fields = LINE.split("\t")
    fields[number] = text
    return "\t".join(fields)


@pytest.mark.parametrize(
    "line, message",
    [
        ("", "7 tab-separated fields expected, 1 found"),
        (LINE + "\t0\t0", "7 tab-separated fields expected, 9 found"),
        (with_field(0, ""), "field 0 (game) is empty"),
        (with_field(1, ""), "field 1 (sparse) is not a comma-separated list of integers: ''"),
        (with_field(5, "0,1"), "field 5 (chosen) must be one integer, not '0,1'"),
        (with_field(2, "0,0,0,0,0"), "a decision of kanachan-3p; kanachan-4p is expected here"),
    ],
)
def test_a_line_of_the_wrong_form_is_refused_with_the_reason(line: str, message: str) -> None:
    with pytest.raises(ValueError) as caught:
        parse_line(line, V)
    assert str(caught.value) == message


RESULTS = GOOD.results


def without(token: int) -> tuple[int, ...]:
    return tuple(other for other in GOOD.sparse if other != token)


@pytest.mark.parametrize(
    "fields, message",
    [
        ({"sparse": (4, 7, 526)}, "field 1 (sparse), element 2: 526 is not in 0 ... 525"),
        ({"sparse": (-1, 7)}, "field 1 (sparse), element 0: -1 is not in 0 ... 525"),
        ({"sparse": (4, 7, 7)}, "field 1 (sparse) is not strictly ascending: a token is repeated or out of order"),
        ({"sparse": (4, 6)}, "field 1 (sparse) must name one seat (7 ... 10)"),
        ({"sparse": (4, 7, 8)}, "field 1 (sparse) must name one seat (7 ... 10)"),
        ({"sparse": without(11)}, "field 1 (sparse) must name one wind (11 ... 13)"),
        (
            {"sparse": (*GOOD.sparse[:6], 203, 204, *GOOD.sparse[7:])},
            "field 1 (sparse) must name one left (203 ... 272)",
        ),
        ({"sparse": without(310)}, "field 1 (sparse) must name one grade and one rank of every seat"),
        ({"numeric": (0, 0, 0, 0, 0)}, "a decision of kanachan-3p; kanachan-4p is expected here"),
        ({"numeric": (0, 1 << 31, 0, 0, 0, 0)}, "field 2 (numeric), element 1: 2147483648 is beyond 32 bits"),
        ({"progression": (0, 2129)}, "field 3 (progression), element 1: 2129 is not in 0 ... 2128"),
        ({"progression": (5,)}, "field 3 (progression) does not start with the beginning of the round, 0"),
        ({"progression": (0,) + (5,) * 112}, "field 3 (progression) has 113 events, more than 112"),
        ({"actions": (0, 537)}, "field 4 (actions), element 1: 537 is not in 0 ... 536"),
        ({"actions": (3, 3)}, "field 4 (actions) is not strictly ascending"),
        ({"actions": (3,)}, "field 4 (actions) has 1 elements: a decision has 2 to 256"),
        ({"chosen": 3}, "field 5 (chosen) is 3, outside the 3 possible actions"),
        ({"results": RESULTS[:11]}, "field 6 (results) must have 12 elements, not 11"),
        ({"results": (19, *RESULTS[1:])}, "field 6 (results), element 0: round result 19 is not in 0 ... 18"),
        (
            {"results": (*RESULTS[:5], 0, 1, 1, 3, *RESULTS[9:])},
            "field 6 (results): the ranks [0, 1, 1, 3] are not a permutation of 0 ... 3",
        ),
        ({"results": (*RESULTS[:9], 4, *RESULTS[10:])}, "field 6 (results): rank 4 is not in 0 ... 3"),
    ],
)
def test_an_impossible_value_is_refused_with_its_field_and_value(fields: dict, message: str) -> None:
    with pytest.raises(ValueError) as caught:
        check(altered(GOOD, **fields), V)
    assert str(caught.value) == message


def test_the_vocabulary_of_a_line_follows_from_its_number_of_numeric_elements() -> None:
    assert vocabulary_of_line(LINE) is V
    assert vocabulary_of_line(f"{LINE}\t0,1\n") is V
    with pytest.raises(ValueError, match=r"field 2 \(numeric\) must have 6 or 5 elements, not 3"):
        vocabulary_of_line(with_field(2, "0,0,0"))
