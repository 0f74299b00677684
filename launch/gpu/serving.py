"""Parts inference, arena and selfplay: forward passes, games of one process, games of all cores."""

import itertools
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec

import torch
from bench import PLAYER, Bench, Lacking, Row, Trainee

import kanachan.play.policy_agent
from annotate.game.record import Event
from annotate.runtime.signals import StopRequest
from annotate.runtime.workers import num_cores
from annotate.vocabulary import FOUR_PLAYERS
from kanachan.data.pack_options import Packing
from kanachan.data.played_games import PlayedGames
from kanachan.inference.choice import Action
from kanachan.play.agent import ActRequest, Agent, BatchKey, GameKey, SeededSampler
from kanachan.play.agent_factory import make_agent
from kanachan.play.agent_spec import parse_agent
from kanachan.play.game import Game
from kanachan.play.match import Precision
from kanachan.play.roller import Roller
from kanachan.play.rollout import BatchedGames
from kanachan.play.selfplay import SelfPlay
from kanachan.play.selfplay_run import Execution, run_selfplay

_BATCHES = {False: (16, 64, 256, 1024, 4096), True: (4, 16)}
_SIZES = {False: ("small", "base", "large"), True: ("tiny",)}
_SECONDS = {False: 6.0, True: 0.05}
_GAMES = {False: 300, True: 1}


def measure_inference(bench: Bench) -> Iterator[Row]:
    """Measures whole situations, each of another round, as they are on the device."""
    for size in _SIZES[bench.is_tiny]:
        for batch in _BATCHES[bench.is_tiny]:
            yield bench.measured(f"{size}, {batch} decisions", lambda s=size, b=batch: _forward(bench, s, b))


def _forward(bench: Bench, size: str, batch: int) -> Row:
    found: Row = {}
    for use_bf16, is_packed in ((False, False), (True, False), (True, True)):
        given = next(bench.batches(batch, is_packed=is_packed, neighbours=1)).to(bench.device)
        trainee = Trainee(bench.device, size, use_bf16=use_bf16)
        trainee.network.eval()
        with torch.inference_mode():
            seconds = bench.median_seconds(lambda t=trainee, g=given: t.output(g))
        name = f"{'bf16' if use_bf16 else 'fp32'}, {'packed' if is_packed else 'padded'}"
        found |= {f"decisions/s, {name}": batch / seconds}
    return found


class _Counting:
    """An agent that counts its decisions."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self.plays_forced = agent.plays_forced
        self.num_decisions = 0

    def group(self, request: ActRequest) -> BatchKey:
        return self._agent.group(request)

    def act(self, requests: Sequence[ActRequest]) -> list[Action]:
        self.num_decisions += len(requests)
        return self._agent.act(requests)

    def end(self, game: GameKey, seat: int, events: Sequence[Event]) -> None:
        self._agent.end(game, seat, events)

    def close(self) -> None:
        self._agent.close()


def measure_arena(bench: Bench) -> Iterator[Row]:
    """Measures `PLAYER` in all seats of many games of one process, with cached events, in the middle of long play."""
    precisions: tuple[Precision, ...] = ("fp32", "bf16")
    for precision in precisions:
        for rows in _BATCHES[bench.is_tiny]:
            yield bench.measured(f"{rows} rows, {precision}", lambda r=rows, p=precision: _play(bench, r, p))


def _play(bench: Bench, rows: int, precision: Precision) -> Row:
    together = 2 * rows if bench.is_tiny else max(128, 2 * rows)
    selfplay = _games(PLAYER, precision, bench.device.type)
    (letter,) = selfplay.letters
    numbers = itertools.count()
    with _rows_of_batches(rows):
        agent = make_agent(
            parse_agent(PLAYER),
            SeededSampler(0, letter),
            selfplay.vocabulary,
            bench.device.type,
            use_bf16=precision == "bf16",
        )
        counting = _Counting(agent)
        running = BatchedGames(
            lambda key: Game(selfplay.setup(key.wall)), {letter: counting}, lambda game, events: None
        )

        def play(seconds: float) -> float:
            """Plays for about so long; returns decisions a second."""
            start, before = time.perf_counter(), counting.num_decisions
            while (passed := time.perf_counter() - start) < seconds or counting.num_decisions == before:
                while len(running) < together:
                    running.begin(GameKey(next(numbers), 0))
                running.advance()
            return (counting.num_decisions - before) / passed

        play(_SECONDS[bench.is_tiny] / 2)  # to the middle of rounds
        return {"games together": together, "decisions/s": play(_SECONDS[bench.is_tiny])}


def _games(player: str, precision: Precision, device: str) -> SelfPlay:
    """Returns the settings of games of one player in all seats."""
    return SelfPlay(
        vocabulary=FOUR_PLAYERS, players=(player,), shares=(1.0,), style=0, precision=precision, device=device
    )


@contextmanager
def _rows_of_batches(rows: int) -> Iterator[None]:
    """Sets how many rows the batches of networks that play have, which is no setting of the program."""
    of_device = kanachan.play.policy_agent._ROWS
    before = dict(of_device)
    of_device.update(dict.fromkeys(of_device, rows))
    try:
        yield
    finally:
        of_device.update(before)


def measure_selfplay(bench: Bench) -> Iterator[Row]:
    """Measures whole runs of kanachan-selfplay, with the start of the processes and the last games."""
    settings: list[tuple[str, Precision, str, int]] = [("cpu", "fp32", PLAYER, 128), ("cpu", "bf16", PLAYER, 128)]
    settings.append(("cpu", "fp32", PLAYER.replace("@", "!int8@"), 128))
    precisions: tuple[Precision, ...] = ("fp32", "bf16")
    settings += [("cuda", precision, PLAYER, together) for precision in precisions for together in (128, 512)]
    for device, precision, player, together in settings[:1] + settings[3:4] if bench.is_tiny else settings:
        what = f"{player}, {device}, {precision}, {together} games together"
        yield bench.measured(what, lambda d=device, p=precision, n=player, t=together: _selfplay(bench, d, p, n, t))


def _selfplay(bench: Bench, device: str, precision: Precision, player: str, together: int) -> Row:
    if device == "cuda" and not bench.is_gpu:
        raise Lacking("torch sees no GPU")
    if "!int8" in player and find_spec("onnxruntime") is None:
        raise Lacking("ONNX Runtime is not installed")
    workers = 1 if bench.is_tiny else num_cores()
    selfplay = _games(player, precision, device)
    folder = bench.work / "selfplay" / f"{player.replace('/', '-')}-{device}-{precision}-{together}"
    roller = Roller(selfplay=selfplay, device=device, together=together)
    execution = Execution(backend="inline" if bench.is_tiny else "processes", workers=workers)
    played = PlayedGames(
        folder, _GAMES[bench.is_tiny], selfplay.as_json(), "measurement", Packing(), selfplay.vocabulary
    )
    with played.opened(force=True, restart=True):
        run = run_selfplay(roller, played, execution, lambda _: None, StopRequest())
        decisions = played.num_decisions
        played.publish()
    return {"processes": workers, "games/s": run.num_played / run.seconds, "decisions/s": decisions / run.seconds}
