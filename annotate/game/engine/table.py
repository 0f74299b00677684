"""The rules of the game, by riichienv: walls, stepping, legal actions, scores. Only this package imports riichienv.

A `Table` is one replayed round of a record, or one whole game. Its `turns` are the seats that must act now, each with
its options by action token; `step` plays one choice for each. This module also hides the engine's faults and
conventions: riichi and its discard are one action, the dealer's first discard is always a tedashi, and an illegal
action raises an error.

For speed, the engine does not have the seats' points (they are 0) while nothing can be paid. For a closed hand with
1,000 points it would evaluate each discard for riichi at every turn, once to list the options and once to check the
played action, which takes two thirds of the time of its steps. It gets the points only for steps that may pay some
(`_may_pay`: riichi and the step after it, wins, kans, the end of a round), and when a hand may declare riichi
(`_with_riichi`). So either `_withheld` has the points and the engine's are all 0, or it is empty and the engine has
them. If the engine has paid points or ended the round while they were withheld, an assertion fails.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from riichienv import ActionType, GameRule, Phase, RiichiEnv

from annotate.game.engine.faults import best_win_of_first_turn, withhold_dora
from annotate.game.engine.hand_evaluator import shanten
from annotate.game.engine.options import Move, Options, reader_of
from annotate.game.progression import CALLS, call_indices
from annotate.game.record import STICK, Event, Rules
from annotate.game.tiles import NAME_OF_ID, NUM_DEAD, NUM_INDICATORS, TILE_OF_MJAI, WINDS
from annotate.vocabulary import FIRST_HONOUR, Vocabulary

_MODES = {4: "4p-red", 3: "3p-red"}  # without the length

# attributes of the engine's classes are slow to look up
_DISCARD, _ANKAN, _KAKAN, _TSUMO = ActionType.DISCARD, ActionType.ANKAN, ActionType.KAKAN, ActionType.TSUMO
_PAYS_NOTHING = frozenset((ActionType.DISCARD, ActionType.PASS, ActionType.CHI, ActionType.PON))
"""actions that pay nothing, unless riichi was just declared or the round ends; they end it only on the last tile, on
four equal winds, on a fourth riichi and after four kans"""
_MOST_DORA = 2
"""most open indicators with which a fourth kan is still far: after k kans at least k indicators are open"""
_WIND_KINDS = range(FIRST_HONOUR, FIRST_HONOUR + 4)
_CLOSED_HAND = 14
"""tiles in a hand without melds, including the drawn tile"""
_WAIT_RESPONSE = Phase.WaitResponse

# The walls of a game's rounds are generated from consecutive seeds, so the seeds of games must lie far apart.
_SEED_STRIDE = 1_000_003


@dataclass(slots=True)
class Turn:
    """A seat that must act, its options, and its view of the table."""

    seat: int
    observation: Any
    """riichienv's Observation: melds, discards, riichi_declared ...; do not use its scores, which may be 0"""
    hand: list[int]
    """concealed tiles, physical, including the drawn one"""
    drawn: int | None
    dora_indicators: list[int]
    """physical tiles, face up"""
    scores: list[int]
    """of all seats, in points"""
    left: int
    """live wall tiles not yet drawn"""
    target: int | None
    """the seat whose tile may be claimed; None on the seat's own turn"""
    options: Options
    events: Sequence[str]
    """mjai events (JSON) seen by the seat since its last turn, except its own reach; none if the engine has no log"""


class Table:
    """A round or a game in progress. Events of a game are read from the engine's log. A table of one round gets them
    by `add_event`, which is faster, as its caller has them from a record (see `annotate.replay.consistency`)."""

    keeps_points = False
    """whether the engine always has the points"""

    def __init__(
        self,
        env: RiichiEnv,
        observations: Mapping[int, Any],
        vocabulary: Vocabulary,
        *,
        is_wall_true: bool,
        logs_events: bool,
    ) -> None:
        self._env = env
        self._withheld: list[int] = []
        """points by seat while the engine does not have them, else empty"""
        self._was_riichi = False
        """whether the last step declared riichi, so that the next step may pay the stick"""
        self._logs_events = logs_events
        self._reader = reader_of(vocabulary)
        self._discarded = vocabulary.progression["discard"]
        self.vocabulary = vocabulary
        self.is_wall_true = is_wall_true
        self._followed = [0] * vocabulary.num_seats
        self._num_events = 0
        self._riichi_seat: int | None = None
        self._unlogged_ankan: dict[int, Event] = {}
        """by round: a closed kan that may be robbed; the engine logs it only if nobody has robbed it"""
        self._shown: Sequence[int] = ()
        """tiles of the last declared closed kan"""
        self.progression: list[int] = [vocabulary.progression["begin"].first]
        """tokens of the current round's public events so far"""
        self.round_index = -1 if logs_events else 0
        """index of the current round at this table"""
        self.undealt: list[list[int]] = []
        """for each started round: the undealt physical tiles, in the order of the wall"""
        self.left = vocabulary.num_live
        self.turns: list[Turn] = []
        self._look(observations)

    @classmethod
    def of_round(
        cls,
        rules: Rules,
        start: Event,
        wall: Sequence[int],
        vocabulary: Vocabulary,
        *,
        is_wall_true: bool = True,
        logs_events: bool = False,
    ) -> Self:
        """Creates a table that plays one round from `start` (mjai start_kyoku) with a given wall (physical tiles).
        `is_wall_true`: False if the unseen part of the wall is made up. Unless it `logs_events` like a table of a game,
        the caller passes every event after `start` to `add_event` before it reads the progression."""
        env, observations = new_round(rules, start, wall, vocabulary, logs_events=logs_events)
        return cls(env, observations, vocabulary, is_wall_true=is_wall_true, logs_events=logs_events)

    @classmethod
    def of_game(cls, rules: Rules, style: int, seed: int, vocabulary: Vocabulary) -> "Table":
        """Creates a table that plays a whole game: `style` 0 East only, 1 East and South."""
        mode = f"{_MODES[vocabulary.num_seats]}-{('east', 'half')[style]}"
        # a seed given to reset() has no effect
        env = RiichiEnv(game_mode=mode, rule=_rule(rules), seed=seed * _SEED_STRIDE)
        return cls(env, env.reset(), vocabulary, is_wall_true=True, logs_events=True)

    @property
    def done(self) -> bool:
        return self._env.done()

    @property
    def scores(self) -> list[int]:
        return list(self._withheld or self._env.scores())

    @property
    def winners(self) -> set[int]:
        return set(self._env.win_results)

    @property
    def win_results(self) -> Mapping[int, Any]:
        """riichienv's WinResult of each winner of the round: yaku, han, fu ..."""
        return dict(self._env.win_results)

    @property
    def num_dora(self) -> int:
        """Number of open dora indicators."""
        return len(self._env.dora_indicators)

    @property
    def unlogged_ankan(self) -> Event | None:
        """The closed kan that may be robbed now; the engine logs it only later."""
        return self._unlogged_ankan.get(self.round_index)

    @property
    def deposits(self) -> int:
        return int(self._env.riichi_sticks)

    @property
    def hands(self) -> list[list[int]]:
        """The concealed tiles of every seat, physical."""
        # the engine removes a closed kan from the hand only after nobody has robbed it
        return [[tile for tile in hand if tile not in self._shown] for hand in self._env.hands]

    @property
    def live_wall(self) -> list[int]:
        """The tiles that can still be drawn, physical, the next one first."""
        return self._env.wall[: NUM_DEAD - 1 : -1]

    def log(self) -> list[Event]:
        """Returns all events so far as mjai, with all hands open. Slow: call it once."""
        assert self._logs_events, "the engine keeps no log"
        events: list[Event] = []
        unlogged, round_index = dict(self._unlogged_ankan), -1
        for event in self._env.mjai_log:
            round_index += event["type"] == "start_kyoku"
            if event["type"] == "hora" and round_index in unlogged:
                events.append(unlogged.pop(round_index))
            events.append(event)
        return events

    def withhold_dora(self) -> None:
        """Leaves the indicator of an earlier kan face down. To be called before a kakan that will be robbed."""
        withhold_dora(self._env)

    def step(self, moves: Mapping[int, Move]) -> None:
        """Plays one move for each seat of `turns`."""
        assert moves.keys() == {turn.seat for turn in self.turns}
        if self.keeps_points or self._may_pay(moves):
            self._give_points_back()
        elif not self._withheld:
            self._withheld = self._env.scores()
            self._env.set_scores([0] * len(self._withheld))
        self._was_riichi = False
        num_dora = NUM_INDICATORS
        if self.turns[0].target is None:
            ((action, _),) = moves.values()
            self._shown = action.consume_tiles if action.action_type == _ANKAN else ()
            if action.action_type == _KAKAN:
                num_dora = len(self.turns[0].dora_indicators)
            elif action.action_type == _TSUMO and self.turns[0].observation.forced_tedashi:
                seat = self.turns[0].seat
                moves = {seat: (best_win_of_first_turn(self._env, seat, action), None)}
        observations = self._env.step({seat: action for seat, (action, _) in moves.items()})
        for seat, (_, riichi_discard) in moves.items():
            if riichi_discard is not None:
                observations = self._discarded_in_riichi(seat, riichi_discard, observations[seat])
        # after an illegal action the engine returns a penalty and no observations
        assert observations or self._env.done(), moves
        self._look(observations, num_dora)
        if self._logs_events:
            self._log_ankan(moves)

    def _discarded_in_riichi(self, seat: int, tile: int, observation: Any) -> Mapping[int, Any]:
        """Discards the tile (physical) with which a seat has declared riichi; returns the observations after it."""
        self._was_riichi = True
        if self._logs_events:
            self._follow(seat, observation)
        actions = (action for action in observation.legal_actions() if action.tile == tile)
        discard = next(action for action in actions if action.action_type == _DISCARD)
        observations: Mapping[int, Any] = self._env.step({seat: discard})
        return observations

    def _log_ankan(self, moves: Mapping[int, Move]) -> None:
        """Adds the event of a closed kan that may be robbed, which the engine logs only after the seats' reactions."""
        for seat, (action, _) in moves.items():
            if action.action_type == _ANKAN and self.turns and self.turns[0].target == seat:
                consumed = [NAME_OF_ID[i] for i in action.consume_tiles]
                event = {"type": "ankan", "actor": seat, "consumed": consumed}
                self.add_event(event)
                self._unlogged_ankan[self.round_index] = event

    def _may_pay(self, moves: Mapping[int, Move]) -> bool:
        turn = self.turns[0]
        if self._was_riichi or turn.left == 0 or len(turn.dora_indicators) > _MOST_DORA:
            return True
        for action, _ in moves.values():
            if action.action_type not in _PAYS_NOTHING:
                return True
        if turn.target is not None or turn.left < self.vocabulary.num_live - self.vocabulary.num_seats:
            return False
        ((action, _),) = moves.values()  # a wind in the first go-around, perhaps the fourth one
        return action.tile // 4 in _WIND_KINDS

    @property
    def _target(self) -> int | None:
        """The seat whose tile may be claimed now; None at a seat's own turn."""
        return self._env.current_player if self._env.phase == _WAIT_RESPONSE else None

    def _look(self, observations: Mapping[int, Any], num_dora: int = NUM_INDICATORS) -> None:
        """Determines whose turn it is. `num_dora`: number of indicators visible to seats that could rob a kan."""
        env = self._env
        if env.done():
            self.turns = []
            assert not self._withheld, "the round has ended while the engine was without points"
            assert self.left == len(env.wall) - NUM_DEAD, (self.left, len(env.wall))
            return
        seats = sorted(observations)
        events: dict[int, list[str]] = {}
        if self._logs_events:
            events = {seat: self._follow(seat, observations[seat]) for seat in seats}
        target = self._target
        self.turns = []
        for seat in seats:
            observation = observations[seat]
            # the engine reveals an earlier kan's indicator as soon as the next kan is declared; see withhold_dora
            dora = observation.dora_indicators[: num_dora if target is not None else None]
            hand = observation.hand
            drawn = observation.drawn_tile if target is None and len(hand) % 3 == 2 else None
            if drawn is not None:
                self.left -= 1
            if target is None:
                observation = self._with_riichi(seat, observation, hand)
            options = self._reader.options(observation, hand, drawn, target)
            if options:
                seen, scores = events.get(seat, ()), self.scores
                self.turns.append(Turn(seat, observation, hand, drawn, dora, scores, self.left, target, options, seen))

    def _with_riichi(self, seat: int, observation: Any, hand: Sequence[int]) -> Any:
        """Returns the engine's observation for a seat on its own turn, with riichi among its actions if it is possible;
        then the engine gets the points back. `observation`: the same, without riichi if the engine lacked points."""
        if not self._withheld or self._withheld[seat] < STICK or shanten(hand, len(self._withheld)) > 0:
            return observation
        if observation.riichi_declared[seat]:  # it stays tenpai
            return observation
        if len(hand) < _CLOSED_HAND and any(meld.opened for meld in observation.melds[seat]):
            return observation
        self._give_points_back()
        return self._env.get_observation(seat)

    def _give_points_back(self) -> None:
        if self._withheld:
            assert not any(self._env.scores()), f"{self._env.scores()} were paid while the engine was without points"
            self._env.set_scores(self._withheld)
            self._withheld = []

    def _follow(self, seat: int, observation: Any) -> list[str]:
        """Adds the events since the last call, and returns the events that `seat` has not seen yet. Every seat sees all
        events, so each event is added only once."""
        events: list[str] = observation.new_events()
        first = self._followed[seat]
        self._followed[seat] = first + len(events)
        for text in events[self._num_events - first :]:
            self.add_event(json.loads(text))
        self._num_events = max(self._num_events, self._followed[seat])
        return events

    def add_event(self, event: Event) -> None:
        """Adds a public mjai event to the progression of the round."""
        kind = event["type"]
        if kind == "start_kyoku":
            assert not self._withheld, "a round has ended while the engine was without points"
            self.progression = [self.vocabulary.progression["begin"].first]
            self.round_index += 1
            self.undealt.append([self._env.drawn_tile, *self._env.wall[::-1]])  # the dealer has drawn
            self._riichi_seat = None
            self.left = self.vocabulary.num_live
        elif kind == "reach":
            self._riichi_seat = event["actor"]
        elif kind == "dahai":
            seat = event["actor"]
            by_seat, by_tile, by_tsumogiri, by_riichi = self._discarded.strides
            token = self._discarded.first + seat * by_seat + TILE_OF_MJAI[event["pai"]] * by_tile
            self.progression.append(token + event["tsumogiri"] * by_tsumogiri + (seat == self._riichi_seat) * by_riichi)
            self._riichi_seat = None
        elif kind == "ankan" and self.round_index in self._unlogged_ankan:
            del self._unlogged_ankan[self.round_index]
        elif kind in CALLS:
            seat = event["actor"]
            indices = call_indices(event, kind, seat, self.vocabulary.num_seats)
            self.progression.append(self.vocabulary.progression[kind].token(seat, *indices))


def new_round(
    rules: Rules, start: Event, wall: Sequence[int], vocabulary: Vocabulary, *, logs_events: bool
) -> tuple[RiichiEnv, Mapping[int, Any]]:
    """Returns the engine at the start of a round, and the first observations; arguments as for `Table.of_round`."""
    mode = f"{_MODES[vocabulary.num_seats]}-single"
    env = RiichiEnv(game_mode=mode, rule=_rule(rules), skip_mjai_logging=not logs_events)
    observations = env.reset(
        oya=start["oya"],
        wall=list(wall),
        round_wind=WINDS[start["bakaze"]],
        scores=list(start["scores"]),
        honba=start["honba"],
        kyotaku=start["kyotaku"],
    )
    return env, observations


def _rule(rules: Rules) -> GameRule:
    rule = {"tenhou": GameRule.default_tenhou, "mjsoul": GameRule.default_mjsoul}[rules]()
    rule.dealer_first_discard_is_tedashi = True  # records do not distinguish
    return rule
