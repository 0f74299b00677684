"""The common behaviour of the parsers of all commands."""

import pytest

from annotate.runtime.arguments import CommandParser


def parser() -> CommandParser:
    made = CommandParser("program")
    made.add_argument("input")
    made.add_argument("-o", "--output", required=True)
    made.add_argument("-j", "--processes")
    return made


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["x", "--out", "y"], "--out: no such option; did you mean --output?"),
        (["x", "--out=y"], "--out: no such option; did you mean --output?"),
        (["x", "-o", "y", "--proceses", "2"], "--proceses: no such option; did you mean --processes?"),
        (["x", "-o", "y", "--zzz"], "error: --zzz: no such option\n"),
        (["x"], "the following arguments are required: -o/--output"),
    ],
)
def test_an_unknown_option_is_named_together_with_the_intended_one(
    given: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        parser().parse_args(given)
    assert stopped.value.code == 2
    assert expected in capsys.readouterr().err


def test_positional_arguments_may_follow_options() -> None:
    made = CommandParser("program")
    made.add_argument("inputs", nargs="+")
    made.add_argument("-j", type=int)
    found = made.parse_args(["a", "-j", "2", "b"])
    assert (found.inputs, found.j) == (["a", "b"], 2)
    assert made.parse_args(["-j", "2", "--", "-a"]).inputs == ["-a"]
