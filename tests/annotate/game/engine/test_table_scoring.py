"""What wins of three players are paid, against the package `mahjong`, which shares no code with the engine."""

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from annotate.game.engine.hand_evaluator import shanten
from annotate.game.engine.table import Table, Turn
from annotate.game.hands import Hands
from annotate.game.record import Event
from annotate.game.tiles import TILE_OF_ID
from tests.support.rounds import V3, play_three

pytest.importorskip("mahjong", reason="the package mahjong is not installed (it is in the extra `test`)")
from mahjong.hand_calculating.hand import HandCalculator
from mahjong.hand_calculating.hand_config import HandConfig, OptionalRules
from mahjong.meld import Meld

RULES = OptionalRules(has_open_tanyao=True, has_aka_dora=True, has_double_yakuman=False, is_three_player=True)
HONOURS = "ESWNPFC"
EAST = 27
NUM_DRAWS = 55
KINDS_OF_MELDS = {"pon": Meld.PON, "daiminkan": Meld.KAN, "ankan": Meld.KAN, "kakan": Meld.SHOUMINKAN}
LIABLE = ("Daisangen", "Dai Suushii")
"""yaku for which somebody who has fed the last set pays; that is not computed here"""


def kind_of(name: str) -> int:
    """The kind of a tile of mjai, 0 … 33, as the package numbers them."""
    return EAST + HONOURS.index(name) if name in HONOURS else "mps".index(name[1]) * 9 + int(name[0]) - 1


class Ids:
    """Physical tiles as the package numbers them: the first of each five is red."""

    def __init__(self) -> None:
        self._used: Counter[int] = Counter()

    def __call__(self, name: str) -> int:
        kind = kind_of(name)
        if name.endswith("r"):
            return 4 * kind
        is_five = kind < EAST and kind % 9 == 4
        self._used[kind] += 1
        return 4 * kind + self._used[kind] - 1 + is_five


@dataclass
class Seat:
    """What a seat has done."""

    riichi: str = ""
    """'', riichi or double"""
    can_win_at_once: bool = False
    """ippatsu"""
    has_discarded: bool = False


class Following:
    """A round, followed event by event as far as the value of a win depends on it."""

    def __init__(self, start: Event) -> None:
        self.start = start
        self.held = Hands(start)
        self.seats = [Seat() for _ in start["tehais"]]
        self.indicators = [start["dora_marker"]]
        self.left = NUM_DRAWS
        self.deposits = start["kyotaku"]
        self.is_replacing = self.is_replaced = False
        """the next, and the last draw is from the dead wall"""
        self.is_undisturbed = True
        self.claimed = ("", "")
        """the last tile that others could claim, and by which event"""
        self.num_winners = 0
        self._declaring: Seat | None = None
        self._before_interruption: list[bool] = []

    def follow(self, event: Event) -> None:
        kind, seat = event["type"], self.seats[event["actor"]] if "actor" in event else None
        self.held.follow(event)
        if kind == "dora":
            self.indicators.append(event["dora_marker"])
        elif kind == "reach_accepted":
            self.deposits += 1
        elif seat is None:
            return
        elif kind == "reach":
            seat.riichi = "riichi" if seat.has_discarded or not self.is_undisturbed else "double"
            self._declaring = seat
        elif kind == "tsumo":
            self.left -= 1
            self.is_replaced, self.is_replacing = self.is_replacing, False
        elif kind == "dahai":
            seat.can_win_at_once, seat.has_discarded = seat is self._declaring, True
            self._declaring, self.claimed = None, (event["pai"], kind)
        else:
            self._call(kind, event)

    def _call(self, kind: str, event: Event) -> None:
        if kind in ("ankan", "kakan", "kita"):
            self.claimed = ("N" if kind == "kita" else event.get("pai") or event["consumed"][0], kind)
        self.is_replacing = kind != "pon"
        self.is_undisturbed = False
        self._before_interruption = [each.can_win_at_once for each in self.seats]
        for each in self.seats:
            each.can_win_at_once = False

    def payments(self, win: Event) -> tuple[list[int], list[str]]:
        """What every seat gains by a win, and its yaku."""
        actor, is_tsumo, ids = win["actor"], win["target"] == win["actor"], Ids()
        seat, hand, oya = self.seats[actor], self.held.concealed[actor], self.start["oya"]
        tile, claimed_by = (hand[-1], "tsumo") if is_tsumo else self.claimed
        concealed = hand[:-1] if is_tsumo else hand
        melds = [
            Meld(KINDS_OF_MELDS[meld.kind], sorted(map(ids, meld.tiles)), opened=meld.kind != "ankan")
            for meld in self.held.melds[actor]
        ]
        tiles = [*(id for meld in melds for id in meld.tiles), *map(ids, concealed)]
        winning = ids(tile)
        at_once = seat.can_win_at_once
        if claimed_by in ("ankan", "kakan", "kita"):
            at_once = self._before_interruption[actor]
        is_first = self.is_undisturbed and not seat.has_discarded
        found = HandCalculator().estimate_hand_value(
            [*tiles, winning],
            winning,
            melds=melds,
            dora_indicators=[4 * kind_of(name) + 3 for name in self.indicators],
            ura_dora_indicators=[4 * kind_of(name) + 3 for name in win.get("ura_markers", [])] if seat.riichi else [],
            config=HandConfig(
                is_tsumo=is_tsumo,
                is_riichi=bool(seat.riichi),
                is_daburu_riichi=seat.riichi == "double",
                is_ippatsu=bool(seat.riichi) and at_once,
                is_rinshan=is_tsumo and self.is_replaced,
                is_chankan=claimed_by in ("ankan", "kakan"),
                is_haitei=is_tsumo and not self.left and not self.is_replaced,
                is_houtei=claimed_by == "dahai" and not self.left,
                is_tenhou=is_tsumo and is_first and actor == oya,
                is_chiihou=is_tsumo and is_first and actor != oya,
                player_wind=EAST + (actor - oya) % 3,
                round_wind=EAST + HONOURS.index(self.start["bakaze"]),
                options=RULES,
                num_nuki_dora=self.held.norths[actor],
            ),
        )
        assert found.error is None, (found.error, win)
        return self._deltas(win, found.cost), [str(yaku) for yaku in found.yaku]

    def _deltas(self, win: Event, cost: dict[str, Any]) -> list[int]:
        actor, is_first = win["actor"], self.num_winners == 0
        self.num_winners += 1
        honba = 100 * self.start["honba"] * is_first
        gains = [0] * 3
        if win["target"] == actor:
            for payer in {0, 1, 2} - {actor}:
                is_main = self.start["oya"] in (payer, actor)
                gains[payer] -= cost["main" if is_main else "additional"] + honba
        else:
            gains[win["target"]] -= cost["main"] + 2 * honba
        gains[actor] -= sum(gains) - 1000 * self.deposits * is_first
        return gains


@dataclass
class Compared:
    """A win, the engine's payments and those computed here."""

    start: Event
    """of the round"""
    win: Event
    paid: list[int]
    expected: list[int]
    yaku: list[str]
    claimed_by: str
    norths: int


def compared(events: Sequence[Event]) -> Iterator[Compared]:
    """The wins of a log of rounds."""
    following: Following | None = None
    for event in events:
        if event["type"] == "start_kyoku":
            following = Following(event)
        elif event["type"] == "hora":
            assert following is not None
            claimed_by = "tsumo" if event["target"] == event["actor"] else following.claimed[1]
            expected, yaku = following.payments(event)
            norths = following.held.norths[event["actor"]]
            yield Compared(following.start, event, list(event["deltas"]), expected, yaku, claimed_by, norths)
        elif following is not None:
            following.follow(event)


class Eager:
    """Wins wherever it can, calls more than is good, and otherwise keeps the hands nearest to tenpai."""

    SHARES = {"ron": 1, "tsumo": 1, "kita": 0.8, "ankan": 0.7, "kakan": 0.7, "daiminkan": 0.3, "pon": 0.3}
    RIICHI = 0.8

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)

    def choose(self, turn: Turn) -> int:
        described = {token: V3.action.describe(token) for token in turn.options}
        declares = self._rng.random() < self.RIICHI
        discards = []
        for token, (kind, values) in described.items():
            if self._rng.random() < self.SHARES.get(kind, 0):
                return token
            if kind == "discard" and (declares or not values["riichi"]):
                discards.append(
                    (-values["riichi"], self._distance(turn.hand, values["tile"]), self._rng.random(), token)
                )
        return min(discards)[-1] if discards else V3.action["skip"].token()

    @staticmethod
    def _distance(hand: Sequence[int], tile: int) -> int:
        rest = list(hand)
        rest.remove(next(each for each in rest if TILE_OF_ID[each] == tile))
        return shanten(rest, 3)


def log_of_game(seed: int) -> list[Event]:
    table, players = Table.of_game("tenhou", 1, seed, V3), [Eager(3 * seed + seat) for seat in range(3)]
    while not table.done:
        table.step({turn.seat: turn.options[players[turn.seat].choose(turn)][0] for turn in table.turns})
    return table.log()


@pytest.mark.slow
def test_wins_of_three_players_are_paid_as_another_package_computes_them() -> None:
    wins = [win for seed in range(120) for win in compared(log_of_game(seed)) if not set(LIABLE) & set(win.yaku)]
    print(len(wins), Counter(win.claimed_by for win in wins), Counter(win.norths for win in wins))
    assert len(wins) > 600
    assert [win for win in wins if win.paid != win.expected] == []
    assert {win.claimed_by for win in wins} >= {"tsumo", "dahai"}
    assert {win.norths for win in wins} >= {0, 1, 2, 3}
    yaku = {name for win in wins for name in win.yaku}
    assert {"Riichi", "Ippatsu", "Rinshan Kaihou", "Houtei Raoyui", "Aka Dora 1", "Ura Dora 2"} <= yaku
    assert any(win.start["honba"] and win.start["kyotaku"] for win in wins)


@pytest.mark.parametrize(
    ("script", "hands", "draws", "claimed_by"),
    [
        ("1 riichi 1m; 2 cut; 0 kita; 1 ron", ["4z19m147p258s1235z", "123p456p789s22z44z", ""], "6z1m7z7z", "kita"),
        ("0 kita; 0 kita; 0 tsumo", ["44z123p456p789s11z"], "5z", "tsumo"),
    ],
)
def test_a_round_is_paid_likewise(script: str, hands: list[str], draws: str, claimed_by: str) -> None:
    (win,) = compared(play_three(script, hands, draws, rinshan="1z5z").events)
    assert (win.claimed_by, win.paid) == (claimed_by, win.expected)
