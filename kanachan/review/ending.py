"""Describes the end of a recorded round for a review: winning hands, yaku, payments, and all hands."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from annotate.game.record import Event
from annotate.game.results import EXHAUSTIVE, NAGASHI
from annotate.game.tiles import dora_of
from annotate.game.winning import Win
from kanachan.review.course import Course, winning_tile
from kanachan.review.tile_names import NORTH, kind_of_tile, name_of, sorted_tiles

Data = dict[str, Any]
_DRAWS = (EXHAUSTIVE[0], NAGASHI)


def ending_of(course: Course, wins: Sequence[Win], deltas: Sequence[int], tenpai: Sequence[bool] | None) -> Data:
    """Returns the end of a round as data. By seat, `deltas`: the total change of the score in the round; `tenpai`: only
    at an exhaustive draw."""
    start, last = course.events[0], course.events[-1]
    indicators = [name_of(start["dora_marker"])]
    indicators += [name_of(event["dora_marker"]) for event in course.events if event["type"] == "dora"]
    reason = None
    if last["type"] == "ryukyoku":
        reason = EXHAUSTIVE[0] if tenpai is not None else last.get("reason")  # names differ between dialects
    moment = course.moment(course.end)
    hands = [
        {
            "tiles": sorted_tiles([*tiles, *([drawn] if drawn else [])]),
            "melds": list(map(asdict, melds)),
            "norths": norths,
        }
        for tiles, drawn, melds, norths in zip(moment.concealed, moment.drawn, moment.melds, moment.norths, strict=True)
    ]
    by_seat = {win.seat: win for win in wins}
    return {
        "type": "win" if last["type"] == "hora" else "draw" if reason in _DRAWS else "abort",
        "reason": reason,
        "wins": [
            _win(event, course, by_seat[event["actor"]], indicators)
            for event in course.events
            if event["type"] == "hora"
        ],
        "hands": hands,
        "tenpai": None if tenpai is None else list(tenpai),
        "dora_indicators": indicators,
        "scores_before": list(start["scores"]),
        "deltas": list(deltas),
        "scores_after": [score + delta for score, delta in zip(start["scores"], deltas, strict=True)],
    }


def _win(event: Event, course: Course, win: Win, indicators: Sequence[str]) -> Data:
    seat, dealer, vocabulary = event["actor"], course.events[0]["oya"], course.vocabulary
    is_tsumo = event["target"] == seat
    moment = course.moment(course.end)
    melds, norths = moment.melds[seat], moment.norths[seat]
    tile = winning_tile(course.events, event)
    tiles = [*moment.concealed[seat], tile, *(name for meld in melds for name in meld.tiles), *[NORTH] * norths]
    dora = [dora_of(kind_of_tile(name), vocabulary) for name in indicators]
    han = win.han_of_yaku(
        is_open=any(meld.kind != "ankan" for meld in melds),
        dora=sum(dora.count(kind_of_tile(name)) for name in tiles),
        red=sum(name[0] == "0" for name in tiles),
        norths=norths,
    )
    yaku = [
        {"name": yaku.name, "name_ja": yaku.name_ja, "han": number} for yaku, number in zip(win.yaku, han, strict=True)
    ]
    return {
        "seat": seat,
        "source": None if is_tsumo else event["target"],
        "hand": moment.concealed[seat],
        "melds": list(map(asdict, melds)),
        "tile": tile,
        "yaku": yaku,
        "han": win.han,
        "fu": win.fu,
        "yakuman": win.num_yakuman,
        "points": win.points(is_dealer=seat == dealer, is_tsumo=is_tsumo, num_seats=vocabulary.num_seats),
        "ura_indicators": list(map(name_of, event.get("ura_markers", ()))),
    }
