"""Runs self-play: plays the games that are missing in a folder, and adds them to the folder as rows of shards, encoded
directly from the games in progress."""

from collections.abc import Callable
from contextlib import closing
from functools import partial

from annotate.game.decisions import Decision, annotation_of
from annotate.game.record import Event
from annotate.game.record_writer import rounds_of
from annotate.game.results import GameSummary, game_part, round_part, round_summary
from annotate.runtime.signals import StopRequest
from annotate.vocabulary import Vocabulary
from kanachan.data.played_games import PlayedGame, PlayedGames
from kanachan.data.shard_writer import encode_rows
from kanachan.play.agent import GameKey
from kanachan.play.game import Game
from kanachan.play.playing import Execution, GameStream, play_games
from kanachan.play.selfplay import SelfPlay


def run_selfplay(
    stream: GameStream[PlayedGame], games: PlayedGames, on_game: Callable[[PlayedGame], object], stop: StopRequest
) -> None:
    """Plays the games that are missing in the folder, until it is complete or a stop is requested. Raises the errors of
    `play_games`, and OSError if the disk is full."""
    with closing(play_games(stream, [GameKey(number, 0) for number in games.missing], stop)) as played:
        for key, game in played:
            games.add(key.wall, game)
            on_game(game)
            if stop.received is not None:
                break
    games.write()


def stream_of(selfplay: SelfPlay, execution: Execution, order_seed: int = 0) -> GameStream[PlayedGame]:
    """Returns the stream that plays the games of self-play."""
    return GameStream(
        series=selfplay, finish=partial(_encoded, order_seed), fail=partial(_left_out, selfplay), execution=execution
    )


def _encoded(order_seed: int, game: Game, events: list[Event]) -> PlayedGame:
    setup, rounds = game.setup, rounds_of(events)
    of_rounds = [round_part(of_round) for of_round in rounds]
    scores, grading_deltas = tuple(game.table.scores), tuple(game.grading_deltas)
    of_game = game_part(scores, grading_deltas)
    summaries = [round_summary(events[0], part[0][1:]) for events, part in zip(rounds, of_rounds, strict=True)]
    summary = GameSummary(setup.series.room, setup.series.style, setup.grades, summaries, scores, grading_deltas)
    assert game.log is not None
    logged = [(decision, action) for decision, action in game.log if _has_effect(decision, setup.vocabulary)]
    annotations = [
        annotation_of(setup.id, decision, of_rounds[decision.round_index], of_game) for decision, _ in logged
    ]
    log_probabilities = [action.log_probability for _, action in logged]
    return PlayedGame(encode_rows(annotations, summary, order_seed, setup.vocabulary, log_probabilities))


def _has_effect(decision: Decision, vocabulary: Vocabulary) -> bool:
    """Returns whether another choice could have changed the game: False if another seat's call or ron hid the choice,
    as in records, unless the seat could win too. Thus whether a decision is kept never depends on its action."""
    may_win = any(vocabulary.action.block_of(token).name == "ron" for token in decision.observation.actions)
    return may_win or not decision.is_preempted


def _left_out(selfplay: SelfPlay, key: GameKey, error: BaseException) -> PlayedGame:
    words = " ".join(f"{type(error).__name__}: {error}".split())
    return PlayedGame(b"", f"game {key.wall} of seed {selfplay.seed} ({selfplay.game_id(key.wall)}): {words}")
