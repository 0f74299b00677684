"""kanachan-review: writes a page about a player's decisions in a game record, with the networks' predictions."""

import argparse
import shlex
import sys
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from annotate.game.origin import Player, printable
from annotate.game.record import Game
from annotate.records.addresses import ReplayAddress, is_address, is_record_address, parse_address, seat_in
from annotate.records.finding import IN_ARCHIVE, archive_of, is_record_name
from annotate.records.reading import Record, find_records, read_record, records_of, stem
from annotate.replay.replay import annotate_game
from annotate.runtime.arguments import CommandParser, add_force_option
from annotate.runtime.files import check_output, require_exists, writing_text
from annotate.runtime.terminal import require_positive, run_cleanly
from kanachan.cli.environment import set_environment
from kanachan.cli.options import WEIGHTS_HELP, add_assumptions, add_device_option, require_policies, require_vocabulary
from kanachan.config import WEIGHTS_NAME
from kanachan.models.card import weights_file
from kanachan.models.reference import FIRST_STAGE, HUB_PREFIX, NAME, is_reference_name, resolved, shipped_name

if TYPE_CHECKING:
    from kanachan.review.models import Reviewer

PROGRAM = "kanachan-review"
DEFAULT_THRESHOLD = 0.2
ALL_SEATS = "all"
_DESCRIPTION = """Evaluates networks on all decisions of one or all players of a game, and writes an HTML page, a single
file that needs no network connection. It shows the table as the player saw it, the possible actions with their
probabilities or values, the action played, the largest losses, and the expected result over the game."""


def main(argv: Sequence[str] | None = None) -> int:
    set_environment()
    parser = _parser()
    arguments = parser.parse_args(argv)
    require_positive(parser, arguments, "game")
    if not 0 <= arguments.threshold <= 1:
        parser.error(f"--threshold must be 0 ... 1, not {arguments.threshold}")
    arguments.given = sys.argv[1:] if argv is None else argv
    return run_cleanly(PROGRAM, lambda: _review(arguments))


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(PROGRAM, description=_DESCRIPTION)
    parser.add_argument(
        "record",
        metavar="RECORD",
        help="game record in any format that kanachan-annotate reads; or a member of an "
        "archive, such as archive.zip!folder/game.xml; or the address of a Tenhou or Mahjong Soul replay, followed by "
        "the record unless the current folder has it under the name in the address (nothing is fetched)",
    )
    parser.add_argument(
        "weights",
        metavar="WEIGHTS",
        nargs="*",
        default=[],
        help=f"{WEIGHTS_HELP}; one or several, of any stages, for the game's number of players (default: {NAME}, "
        f"for three players {shipped_name(FIRST_STAGE, 3)})",
    )
    parser.add_argument(
        "--seat",
        metavar="SEAT",
        help="player to review: 0 is the first dealer of the game, 1 the next player to the right, and so on; or a "
        "player's name; or all, for one page of all players (default: the player in the address, else all)",
    )
    parser.add_argument(
        "-o", "--output", metavar="HTML", help="page to write (default: the record's name with .html, in this folder)"
    )
    parser.add_argument(
        "--json",
        metavar="FILE",
        help="also write the page's data as JSON; compressed by suffix (.gz, .zst); -: standard output",
    )
    add_force_option(parser)
    parser.add_argument(
        "--threshold",
        type=float,
        metavar="SHARE",
        default=DEFAULT_THRESHOLD,
        help="smallest difference, 0 ... 1, at which a decision differs: of the probabilities of the best action and "
        "the action played, or of their values as a share of a large difference in this game (default: %(default)s)",
    )
    parser.add_argument(
        "--anonymous", action="store_true", help="leave out the names of the players, the game and its address"
    )
    parser.add_argument(
        "--rounds",
        metavar="LIST",
        help="rounds to review, such as E1,S3.1: East 1 with any honba, and South 3 with one honba (default: all)",
    )
    parser.add_argument("--game", type=int, metavar="N", help="number of the game (from 1), if a record has several")
    add_assumptions(parser)
    add_device_option(parser)
    return parser


def _review(arguments: argparse.Namespace) -> None:
    holds_record = is_record_address(arguments.record)
    address = parse_address(arguments.record) if is_address(arguments.record) and not holds_record else None
    if address is not None:
        _locate(arguments, address)
    if arguments.output is None:
        arguments.output = _default_output(arguments.record, address)
    for path in arguments.weights:
        if is_record_name(path) and Path(path).is_file():
            raise ValueError(f"{path}: one record is reviewed at a time; after it, weights are expected")
    require_policies(*arguments.weights)
    _check_outputs(arguments)
    game, record = _game(arguments.record, arguments.game)
    if not arguments.weights:
        arguments.weights = [shipped_name(FIRST_STAGE, game.vocabulary.num_seats)]
    require_vocabulary(game.vocabulary, record, *arguments.weights)
    if address is not None:
        game = _addressed(game, address, record)
        seat = address.seat_in(game.origin)
    else:
        seat = seat_in(arguments.record if holds_record else Path(arguments.record).name)
    seats = chosen_seats(str(seat) if arguments.seat is None and seat is not None else arguments.seat, game, record)
    replayed = annotate_game(game, arguments.room, arguments.grades)
    for text in replayed.left_out:
        print(f"{PROGRAM}: left out: {record}: {text}", file=sys.stderr)
    if not replayed.annotations:
        raise ValueError(f"{record}: no round of the game could be replayed, so there is nothing to review")

    # Heavy imports come only now, after the arguments and the record have been found valid.
    import json

    from kanachan.review.page import page
    from kanachan.review.report import review_of

    is_whole = arguments.rounds is None and game.incomplete is None and not replayed.left_out
    reviewers = _reviewers(arguments, is_whole=is_whole)
    if arguments.anonymous:
        game, record = _anonymous(game), "a game"
    review = review_of(record, game, replayed, seats, reviewers, arguments.threshold, arguments.rounds)
    for text in review["notes"]:
        print(f"{PROGRAM}: {text}", file=sys.stderr)
    with writing_text(arguments.output) as file:
        file.write(page(review))
    if arguments.json is not None:
        with writing_text(arguments.json) as file:
            file.write(json.dumps(review, ensure_ascii=False) + "\n")
    for part in review.get("reviews", [review]):
        _report(part, arguments.output)


def _default_output(record: str, address: ReplayAddress | None) -> str:
    if address is not None:
        return f"{address.log}.html"
    return "review.html" if is_record_address(record) else f"{stem(Path(record.rpartition(IN_ARCHIVE)[2]).name)}.html"


def _locate(arguments: argparse.Namespace, address: ReplayAddress) -> None:
    """Replaces an address in the arguments with its record: the next argument, or a file in the current folder. Raises
    ValueError if there is none; the message says where to get the record, and the command to run then."""
    first = arguments.weights[0] if arguments.weights else ""
    if Path(archive_of(first)[0]).is_file() and not first.endswith(".safetensors"):
        arguments.record, arguments.weights = first, arguments.weights[1:]
        return
    if first and not is_reference_name(first) and not first.startswith(HUB_PREFIX):
        require_exists(first)
    found = address.file_in(Path())
    if found is None:
        file = f"{address.log}.{'xml' if address.platform == 'tenhou' else 'json'}"
        given = [part for word in arguments.given for part in ((word, file) if word == address.text else (word,))]
        command = shlex.join([PROGRAM, *given])
        raise ValueError(f"{address.text}: nothing is fetched: {address.advice}, then run: {command}")
    arguments.record = found


def _addressed(game: Game, address: ReplayAddress, record: str) -> Game:
    """Returns the game with the log of its address as id. Raises ValueError if the record is of another game."""
    origin = game.origin
    if origin.log not in (None, address.log):
        raise ValueError(f"{record}: the game {origin.log}, but the address is of {address.log}")
    return replace(game, id=address.log, origin=replace(origin, platform=address.platform, log=address.log))


def _anonymous(game: Game) -> Game:
    players = tuple(Player(grade=player.grade) for player in game.origin.players)
    return replace(game, id="a game", origin=replace(game.origin, log=None, players=players))


def _check_outputs(arguments: argparse.Namespace) -> None:
    inputs = [arguments.record, *(str(weights_file(path)) for path in arguments.weights)]
    check_output(arguments.output, inputs, force=arguments.force)
    if arguments.json is not None:
        check_output(arguments.json, inputs, may_stream=True, force=arguments.force)
        if Path(arguments.json).resolve() == Path(arguments.output).resolve():
            raise ValueError(f"--json {arguments.json}: the page is written there; name another file")


def _game(path: str, number: int | None) -> tuple[Game, str]:
    """Returns the game to review and the name of its record. Raises ValueError if there is not exactly one record, if
    it has no game of that number, or if it has several games and no number is given."""
    if is_record_address(path):
        records = [Record("the address", len(path), path.encode())]
    else:
        records = list(islice(records_of(find_records([path])), 2))
    if len(records) != 1:
        raise ValueError(f"{path}: one record is reviewed at a time; of archives, name a member: archive.zip!game.xml")
    name = records[0].name
    games = read_record(records[0])
    if number is None and len(games) > 1:
        raise ValueError(f"{name} holds {len(games)} games: choose one with --game 1 ... {len(games)}")
    number = number or 1
    if number > len(games):
        raise ValueError(f"{name}: --game {number}: it has {len(games)} games")
    return games[number - 1], printable(name)


def chosen_seats(given: str | None, game: Game, record: str) -> list[int]:
    """Returns the seats that an option names: a number, a player's name, or all, which is also the default. Raises
    ValueError, which lists the seats, if no player or several players have that name."""
    seats = range(game.vocabulary.num_seats)
    if given in (None, ALL_SEATS):
        return list(seats)
    if given in map(str, seats):
        return [int(given)]
    names = [player.name or "" for player in game.origin.players]
    found = [seat for seat, name in enumerate(names) if name == given]
    found = found or [seat for seat, name in enumerate(names) if name.casefold() == given.casefold()]
    if len(found) != 1:
        problem = "several players have this name" if found else "not a seat, and no player has this name"
        listed = ", ".join(f"{seat} {name}".strip() for seat, name in enumerate(names or [""] * len(seats)))
        raise ValueError(f"{record}: --seat {given}: {problem}: {listed}, {ALL_SEATS}")
    return found


def _reviewers(arguments: argparse.Namespace, *, is_whole: bool) -> "list[Reviewer]":
    from kanachan.inference.policy import Policy
    from kanachan.models.device import chosen_device
    from kanachan.review.models import Reviewer
    from kanachan.review.rating import scale_of

    device = chosen_device(arguments.device)
    names = _names(arguments.weights)
    return [
        # the scale is of whole games
        Reviewer(name, Policy.load(path, device), scale_of(path) if is_whole else None)
        for name, path in zip(names, arguments.weights, strict=True)
    ]


def _names(paths: Sequence[str]) -> list[str]:
    """Returns short names for weights: the names of the package's weights; otherwise the shortest end of the path of
    the run's folder or of the file that distinguishes it, as whole paths may have names of users."""
    files = [resolved(path) for path in paths]
    runs = [(file.parent if file.name == WEIGHTS_NAME else file).resolve() for file in files]
    short = [run.with_name(run.stem) if run.suffix == ".safetensors" else run for run in runs]
    named = [
        Path(path) if is_reference_name(path) else run if short.count(name) > runs.count(run) else name
        for path, run, name in zip(paths, runs, short, strict=True)
    ]
    return [
        path if is_reference_name(path) else _end(own, [o for o, r in zip(named, runs, strict=True) if r != run])
        for path, own, run in zip(paths, named, runs, strict=True)
    ]


def _end(path: Path, others: Sequence[Path]) -> str:
    """Returns the shortest end of a path that is not an end of others; if there is none, the path."""
    ends = (path.parts[-length:] for length in range(1, len(path.parts)))
    distinct = (end for end in ends if all(other.parts[-len(end) :] != end for other in others))
    return str(Path(*next(distinct, path.parts)))


def _report(review: dict[str, Any], output: str) -> None:
    from kanachan.evaluation.tables import decimals

    decisions, rounds = len(review["decisions"]), len(review["rounds"])
    lines = [f"{output}: {decisions} decisions of seat {review['seat']} in {rounds} rounds"]
    width = max(len(model["name"]) for model in review["models"])
    for model in review["models"]:
        overall = model["summary"][0]
        if model["unit"] == "probability":
            rest = f"mean probability of the action played {overall['mean_probability']:.1%}, "
            rest += f"rating {model['rating']:.1f}, {model['bad_moves_per_100']:.1f} bad moves in 100"
        else:
            rest = f"mean loss {overall['mean_loss']:,.{decimals(model['scale'])}f} {model['unit']}"
        lines.append(f"  {model['name']:<{width}}  agreement {overall['agreed'] / decisions:.1%}, {rest}")
        if model["caveat"] is not None:
            lines.append(f"  {'':<{width}}  {model['caveat']}")
    print("\n".join(lines), file=sys.stderr)
