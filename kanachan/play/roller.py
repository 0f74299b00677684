"""Plays games of self-play and encodes them as rows of shards, directly from the games in progress."""

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from annotate.game.record import Event
from annotate.game.record_writer import rounds_of
from annotate.game.results import GameSummary
from annotate.replay.replay import annotation_of, game_part, round_part, round_summary
from annotate.runtime.signals import StopRequest
from kanachan.data.played_games import PlayedGame, encode_played
from kanachan.play.agent import GameKey
from kanachan.play.agent_factory import agents_of
from kanachan.play.game import Game
from kanachan.play.rollout import BatchedGames
from kanachan.play.selfplay import SelfPlay
from kanachan.play.together import usual_together

if TYPE_CHECKING:
    from kanachan.play.remote_network import ServerAddress


@dataclass(frozen=True, kw_only=True)
class Roller:
    """Plays games of self-play in one process, many together; a stream of units (`kanachan.play.units.Serve`).

    Args:
        order_seed: of the order of rows in the shards.
        together: games that advance together; None: `kanachan.play.together.usual_together`.
        records: folder for the games' records.
        server: a process that computes the networks; None: each roller does.
    """

    selfplay: SelfPlay
    order_seed: int = 0
    together: int | None = None
    device: str = "cpu"
    records: Path | None = None
    server: "ServerAddress | None" = None

    @property
    def num_together(self) -> int:
        """How many games advance together."""
        return self.together or usual_together(self.selfplay.players, self.selfplay.vocabulary)

    def __call__(self, numbers: Iterator[int], stop: StopRequest) -> Generator[tuple[int, PlayedGame]]:
        """Yields the number of each game, as they end, and the game; until a stop is requested.

        Raises:
            IllegalAction: a player has chosen an action that is not possible.
            ValueError: a program among the players fails otherwise.
        """
        failed: list[tuple[int, PlayedGame]] = []

        def begin(key: GameKey) -> Game:
            return Game(self.selfplay.setup(key.wall), logs_decisions=True)

        def fail(key: GameKey, error: BaseException) -> None:
            words = " ".join(f"{type(error).__name__}: {error}".split())
            text = f"game {key.wall} of seed {self.selfplay.seed} ({self.selfplay.game_id(key.wall)}): {words}"
            failed.append((key.wall, PlayedGame(b"", text)))

        games = self.selfplay
        made = agents_of(
            games.letters,
            games.seed,
            games.vocabulary,
            self.device,
            use_bf16=games.precision == "bf16",
            explore=games.explore,
            server=self.server,
        )
        with made as agents:
            running = BatchedGames(begin, agents, self._finish, on_failure=fail)
            keys = (GameKey(number, 0) for number in numbers)
            has_more = True
            while (has_more or len(running)) and stop.received is None:
                has_more = has_more and running.fill(keys, self.num_together)
                yield from running.advance()
                yield from failed
                failed.clear()

    def _finish(self, game: Game, events: list[Event]) -> tuple[int, PlayedGame]:
        if self.records is not None:
            game.write_record(self.records, events)
        setup, rounds = game.setup, rounds_of(events)
        of_rounds = [round_part(of_round) for of_round in rounds]
        scores, grading_deltas = tuple(game.table.scores), tuple(game.grading_deltas)
        of_game = game_part(scores, grading_deltas)
        summaries = [round_summary(events[0], part[0][1:]) for events, part in zip(rounds, of_rounds, strict=True)]
        summary = GameSummary(setup.room, setup.style, setup.grades, summaries, scores, grading_deltas)
        assert game.log is not None
        # a choice that another seat's call or ron hid had no effect, and a record would not show it
        logged = [each for each in game.log.decisions if not each.decision.is_preempted]
        annotations = [
            annotation_of(setup.id, each.decision, of_rounds[each.decision.round_index], of_game) for each in logged
        ]
        log_probabilities, values = [each.log_probability for each in logged], [each.value for each in logged]
        seed, vocabulary = self.order_seed, setup.vocabulary
        rows = encode_played(annotations, summary, log_probabilities, values, seed, vocabulary)
        return game.key.wall, PlayedGame(rows)
