"""A program that speaks mjai: it discards the drawn tile, claims nothing, and answers every line. Its last argument is
the seat.

The word before the seat is `fair`, or how it misbehaves: `wins` claims a win at its first turn, `declares` declares
riichi there, `ends` ends there, `babbles` writes no JSON, `sleeps` answers nothing and ignores the end of its input,
`complains` answers the end of a game of several rounds with an error, `leaves` ends with a game.
"""

import json
import sys
import time

NONE = {"type": "none"}


def main(habit: str, seat: int) -> None:
    if habit == "sleeps":
        time.sleep(600)
    rounds = 0
    for line in sys.stdin:
        event = json.loads(line)
        answer: dict = NONE
        if event["type"] == "start_game":
            assert event["id"] == seat
        elif event["type"] == "start_kyoku":
            rounds += 1
            assert [hand[0] == "?" for hand in event["tehais"]] == [
                each != seat for each in range(len(event["scores"]))
            ]
        elif event["type"] == "tsumo":
            assert (event["pai"] == "?") == (event["actor"] != seat)
            if event["actor"] == seat:
                answer = {"type": "dahai", "actor": seat, "pai": event["pai"], "tsumogiri": True}
                if habit == "wins":
                    answer = {"type": "hora", "actor": seat, "target": seat}
                if habit == "declares":
                    answer = {"type": "reach", "actor": seat}
                if habit == "ends":
                    sys.exit(3)
        elif event["type"] == "end_game":
            if habit == "complains" and rounds > 1:
                answer = {"type": "error", "message": "no more"}
            if habit == "leaves":
                sys.exit()
        print("hello" if habit == "babbles" else json.dumps(answer), flush=True)


if __name__ == "__main__":
    main(sys.argv[-2], int(sys.argv[-1]))
