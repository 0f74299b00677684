"""A program that speaks mjai as Mortal's does, answering only where it can act: it claims nothing, and discards the
drawn tile. Its last argument is the seat; with `leaves` before the seat, it ends with a game.
"""

import json
import sys

from annotate.game.mjai_actions import events_of_option
from annotate.game.seat_view import SeatTable
from annotate.records.mjai.events import seen_event
from annotate.vocabulary import FOUR_PLAYERS as V


def main(habit: str, seat: int) -> None:
    table: SeatTable | None = None
    for line in sys.stdin:
        event = json.loads(line)
        if event["type"] == "start_kyoku":
            table = SeatTable.of_start("mjsoul", seen_event(event, V.num_seats), seat, V)
        elif event["type"] == "end_kyoku":
            table = None
        elif event["type"] == "end_game" and habit == "leaves":
            sys.exit()
        elif table is not None and (turn := table.follow(seen_event(event, V.num_seats))) is not None:
            skip, drawn = V.action["skip"].first, {"pai": event.get("pai"), "tsumogiri": True}
            cuts = [t for t in turn.options if drawn.items() <= events_of_option(turn, t, V)[0].items()]
            token = skip if skip in turn.options else [*cuts, *turn.options][0]
            print(json.dumps(events_of_option(turn, token, V)[0]), flush=True)


if __name__ == "__main__":
    main(sys.argv[-2], int(sys.argv[-1]))
