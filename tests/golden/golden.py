"""Rewrites tests/golden/golden.jsonl, a game of five rounds made up here, and golden.txt, its annotation lines.

    python -m tests.golden.golden

To be run only where annotations were meant to change; the difference is to be read and explained.
"""

import json
from pathlib import Path

from annotate.annotation import format_line
from annotate.game.record import Event
from annotate.game.results import final_scores, leftover_deposits, round_delta
from annotate.records.reading import read_games
from annotate.replay.replay import annotate_game
from tests.support.rounds import NUM_SEATS, play_round, start_of_round

DATA = Path(__file__).parent
RECORD = DATA / "golden.jsonl"
LINES = DATA / "golden.txt"

HEADER = {
    "id": "golden",
    "rules": "mjsoul",
    "style": 1,
    "room": 3,
    "grades": [11, 12, 13, 14],
    "grading_deltas": [156, 47, -18, -230],
}
# dealer, honba; then as for play_round
ROUNDS = [
    (  # nine terminals and honours, after a pass
        (0, 0),
        "0 discard 5s; 1 kyushu",
        ["5s", "19m19p19s123z2468m", "55s"],
        "..",
        {},
    ),
    (  # riichi, another seat's riichi, a closed kan in riichi, a win with ura dora
        (0, 1),
        "0 riichi 8m; 1 riichi 9s; 0 ankan 1m; 0 tsumo",
        ["111m456p789s2233z", "234m678p345s778p9s"],
        "8m8p5z6z1m",
        {"rinshan": "2z", "dora": "9p9p", "ura": "9m1z"},
    ),
    (  # a pon with a red five, a chi, an open kan, an added kan that is robbed
        (0, 2),
        "0 discard 5p; 1 pon; 1 discard 9m; 2 chi 78m; 2 discard 1z; 3 kan; 3 cut; 1 kakan 5p; 3 ron",
        ["5p", "05p9m", "78m1z", "111z234s678s67p22s"],
        "4z2z5p",
        {"rinshan": "5z", "dora": "9s8s"},
    ),
    (  # two winners of one tile, and a third who passes
        (1, 0),
        "1 discard 3p; 2 ron; 0 ron",
        ["234m567m678s66s45p", "3p", "456m678m456s22p45p", "234m678m345s88p45p"],
        "",
        {"dora": "0p"},
    ),
    (  # a closed kan robbed by thirteen orphans
        (2, 0),
        "2 ankan 1z; 0 ron",
        ["19m19p19s2345677z", "", "111z"],
        "1z",
        {},
    ),
]


def record() -> list[Event]:
    events: list[Event] = [{"type": "start_game", "kanachan": HEADER}]
    scores, kyotaku = [25000] * NUM_SEATS, 0
    played = []
    for (oya, honba), script, hands, draws, more in ROUNDS:
        start = start_of_round(oya, "E", honba, kyotaku, scores)
        played = play_round(script, hands, draws, start=start, **more).events
        events += [*played, {"type": "end_kyoku"}]
        scores = [score + delta for score, delta in zip(scores, round_delta(played, NUM_SEATS), strict=True)]
        kyotaku = leftover_deposits(played)
    return [*events, {"type": "end_game", "scores": list(final_scores(played))}]


def record_text() -> str:
    return "".join(f"{json.dumps(event, sort_keys=True, separators=(',', ':'))}\n" for event in record())


def lines_text() -> str:
    (game,) = read_games(str(RECORD))
    report = annotate_game(game)
    assert not report.left_out, report.left_out
    return "".join(f"{format_line(annotation)}\n" for annotation in report.annotations)


if __name__ == "__main__":
    RECORD.write_text(record_text())
    LINES.write_text(lines_text())
