"""The mjlog reader, on documents put together here and on real ones."""

import base64
import re
from collections.abc import Iterator, Sequence
from itertools import islice

import pytest

from annotate.game.record import Event, Game, places_dealt
from annotate.game.tiles import NAME_OF_ID
from annotate.records.tenhou.wall import SEED_PREFIX, walls_of_seed
from annotate.records.tenhou.xml_reader import read_tenhou_xml
from annotate.vocabulary import FOUR_PLAYERS
from tests.support.real_records import real_records

NAME = "2026010100gm-00a9-0000-abcdef01.mjlog"
HEADER = '<GO type="169" lobby="0"/><UN n0="a" n1="b" n2="c" n3="d" dan="16,17,18,20"/><TAIKYOKU oya="0"/>'
# every seat holds one copy of 1m ... 9m 1p ... 4p
HANDS = " ".join(f'hai{seat}="{",".join(str(4 * kind + seat) for kind in range(13))}"' for seat in range(4))
INIT = f'<INIT seed="0,0,0,1,1,135" ten="250,250,250,250" oya="0" {HANDS}/>'
DRAW = '<RYUUKYOKU ba="0,0" sc="250,15,250,15,250,-15,250,-15"{}/>'
# seat 1 calls 1m with 2m 3m: code 0x4 chi, 0x3 from the left, copies 0 1 1
CHI = f'<N who="1" m="{1 << 7 | 1 << 5 | 0x4 | 0x3}"/>'
OWARI = ' owari="265,10.0,265,10.0,235,-10.0,235,-10.0"'
END = DRAW.format(OWARI)


def document(*elements: str, header: str = HEADER) -> bytes:
    return f'<mjloggm ver="2.3">{header}{"".join(elements)}</mjloggm>'.encode()


def read(*elements: str, header: str = HEADER) -> Game:
    return read_tenhou_xml(document(*elements, header=header), NAME)


def events(*elements: str, end: str = END) -> list[Event]:
    """The events between the deal and the end of a round."""
    return list(read(INIT, *elements, end).rounds[0].events[1:-1])


def test_a_round_starts_with_the_deal() -> None:
    second = (
        INIT.replace('seed="0,0,0', 'seed="5,2,1')
        .replace('oya="0"', 'oya="1"')
        .replace("250,250,250,250", "-3,503,250,250")
    )
    start = read(second, END.replace('ba="0,0"', 'ba="2,1"')).rounds[0].events[0]
    assert {name: value for name, value in start.items() if name != "tehais"} == {
        "type": "start_kyoku",
        "bakaze": "S",
        "dora_marker": "C",
        "kyoku": 2,
        "honba": 2,
        "kyotaku": 1,
        "oya": 1,
        "scores": [-300, 50300, 25000, 25000],
    }
    assert start["tehais"][0] == ["1m", "2m", "3m", "4m", "5mr", "6m", "7m", "8m", "9m", "1p", "2p", "3p", "4p"]
    assert start["tehais"][3] == ["1m", "2m", "3m", "4m", "5m", "6m", "7m", "8m", "9m", "1p", "2p", "3p", "4p"]


def test_a_riichi_that_is_written_after_its_discard_is_read_as_declared_before_it() -> None:
    discard, declared = "<D0/>", '<REACH who="0" step="1"/>'
    paid = '<REACH who="0" ten="240,250,250,250" step="2"/>'
    gone = '<BYE who="1"/>'
    usual, late = (
        read(INIT, gone, "<T53/>", *order, paid, "<U54/>", END.replace('ba="0,0"', 'ba="0,1"'))
        for order in ((declared, discard), (discard, declared))
    )
    assert late.rounds == usual.rounds
    assert usual.rounds[0].automatic


def test_a_call_of_another_tile_than_the_last_discard_is_refused() -> None:
    with pytest.raises(ValueError, match="not the last discard"):
        events("<T53/>", "<D4/>", CHI)


AGARI = (
    '<AGARI ba="0,0" hai="0,1" machi="16" ten="30,1000,0" yaku="1,1" doraHai="135"{} who="{}" fromWho="{}" sc="{}"{}/>'
)
SC = "250,-10,250,10,250,0,250,0"


def test_counters_and_deposits_at_the_end_must_agree_with_the_round() -> None:
    riichi = ("<T53/>", '<REACH who="0" step="1"/>', "<D0/>", '<REACH who="0" ten="240,250,250,250" step="2"/>')
    assert read(INIT, *riichi, END.replace('ba="0,0"', 'ba="0,1"')).rounds
    assert read(INIT, *riichi, END.replace('ba="0,0" ', "")).rounds
    for elements, message in (
        ((INIT, *riichi, END), '<RYUUKYOKU ba="0,0">: 0 counters and 1 deposits by the round itself'),
        ((INIT, AGARI.format("", 1, 0, SC, "").replace('ba="0,0"', 'ba="1,0"')), '<AGARI ba="1,0">: 0 counters and 0'),
        ((INIT.replace('seed="0,0', 'seed="0,3'), END), "3 counters and 0 deposits"),
    ):
        with pytest.raises(ValueError, match=re.escape(message)):
            read(*elements)


def test_room_grades_and_changes_come_from_tenhous_table_and_dan() -> None:
    game = read(INIT, END)
    assert (game.rules, game.style, game.room, game.grades) == (("tenhou",), 1, 4, (12, 13, 14, 15))
    assert game.final_scores == (26500, 26500, 23500, 23500)
    assert game.grading_deltas == (90, 45, 0, 0)  # the last place is of the highest rank, which loses nothing
    assert game.incomplete is None


@pytest.mark.parametrize(("kind", "style", "room"), [(1, 0, 0), (0x89, 1, 1), (0x61, 0, 2), (0xE1, 0, 4), (0xA9, 1, 4)])
def test_the_type_of_a_game_gives_its_table_and_length(kind: int, style: int, room: int) -> None:
    game = read(INIT, END, header=HEADER.replace("169", str(kind)))
    assert (game.style, game.room) == (style, room)


def test_a_private_lobby_is_unranked() -> None:
    game = read(INIT, END, header=HEADER.replace('lobby="0"', 'lobby="10011"'))
    assert (game.room, game.grades, game.grading_deltas) == (None, None, None)


def test_a_record_without_dan_has_a_room_but_no_grades() -> None:
    game = read(INIT, END, header='<GO type="169"/><UN n0="a" n1="b" n2="c" n3="d"/>')
    assert (game.room, game.grades, game.grading_deltas) == (4, None, None)


def test_unknown_attributes_and_elements_are_ignored() -> None:
    assert events("<T53/>", '<LATER since="2030"/>', '<DORA hai="0" since="2030"/>')[1]["type"] == "dora"


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        (0xAB, "without red fives"),
        (0xAD, "without open tanyao"),
        (0x2A9, "unknown rule variant"),
    ],
)
def test_other_rules_are_refused_with_the_reason(kind: int, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        read(INIT, END, header=HEADER.replace("169", str(kind)))


def test_a_file_cut_off_anywhere_keeps_whole_rounds_only() -> None:
    whole = document(INIT, "<T53/>", "<D53/>", DRAW.format(""), INIT.replace("0,0,0", "1,0,0", 1), "<T53/>", END)
    whole = whole.replace(
        b'seed="1,0,0,1,1,135" ten="250,250,250,250" oya="0"', b'seed="1,0,0,1,1,135" ten="250,250,250,250" oya="1"'
    )
    first_end, second_end = whole.index(b'/><INIT seed="1') + 2, whole.index(b"</mjloggm>")
    for length in range(whole.index(b"<UN"), len(whole) - len("</mjloggm>") + 9, 7):
        game = read_tenhou_xml(whole[:length], NAME)
        assert len(game.rounds) == (length >= first_end) + (length >= second_end)
        assert (game.incomplete is None) == (length >= second_end)


def test_a_last_round_that_might_lack_a_second_winner_is_not_kept() -> None:
    win = AGARI.format("", 1, 0, SC, "")
    whole = document(INIT, "<T16/>", "<D16/>", win)
    assert len(read_tenhou_xml(whole, NAME).rounds) == 1
    assert len(read_tenhou_xml(whole.removesuffix(b"</mjloggm>"), NAME).rounds) == 0


def test_a_round_whose_second_winner_cannot_be_read_is_lost() -> None:
    first, second = AGARI.format("", 1, 0, SC, ""), AGARI.format("", 2, 0, SC, "")
    following = INIT.replace("0,0,0", "1,0,0", 1).replace('oya="0"', 'oya="1"')
    game = read(INIT, "<T16/>", "<D16/>", first, second.replace('machi="16"', 'machi="144"'), following, "<T53/>", END)
    assert len(game.rounds) == 1
    (lost,) = game.lost
    assert lost.name == "East 1-0" and "144" in lost.problem


SEED = SEED_PREFIX + base64.b64encode(bytes(range(208)) * 12).decode()


def init_of(number: int, wall: Sequence[int]) -> str:
    """The start of a round with the hands of a wall."""
    hands = [[wall[place] for place in places] for places in places_dealt(number % 4, 4)]
    dealt = " ".join(f'hai{seat}="{",".join(map(str, hand))}"' for seat, hand in enumerate(hands))
    return f'<INIT seed="{number},0,0,1,1,{wall[-5]}" ten="250,250,250,250" oya="{number % 4}" {dealt}/>'


@pytest.mark.parametrize("numbers", [(0, 1, 2, 3, 4), (1, 2, 3), (0, 3, 4), (0, 2, 2, 3)])
@pytest.mark.parametrize("altered", [None, 2])
def test_each_round_has_the_wall_that_deals_its_hands_though_rounds_are_missing_or_repeated(
    numbers: tuple[int, ...], altered: int | None
) -> None:
    walls = list(islice(walls_of_seed(SEED, FOUR_PLAYERS), 5))
    starts = [init_of(number, range(136) if number == altered else walls[number]) for number in numbers]
    rounds = [element for start in starts for element in (start, DRAW.format(""))]
    game = read(*rounds, header=f'<SHUFFLE seed="{SEED}"/>{HEADER}')
    found = dict(reversed(list(zip(numbers, (recorded.wall for recorded in game.rounds), strict=True))))
    expected = {number: tuple(map(NAME_OF_ID.__getitem__, walls[number])) for number in numbers if number != altered}
    assert {number: wall for number, wall in found.items() if number != altered} == expected


def test_a_damaged_seed_loses_one_round_and_the_others_have_no_wall() -> None:
    game = read(INIT, DRAW.format(""), INIT, END, header=f'<SHUFFLE seed="{SEED.replace("A", "!", 1)}"/>{HEADER}')
    (lost,) = game.lost
    assert lost.name == "East 1-0" and lost.problem.startswith("a damaged seed: ")
    assert [recorded.wall for recorded in game.rounds] == [None]


@pytest.mark.parametrize(
    "name", [NAME, "2026010100gm-00a9-0000-abcdef01&tw=2.xml", "2026010100gm-00a9-0000-abcdef01.mjlog.gz"]
)
def test_the_id_is_tenhous_log_name(name: str) -> None:
    assert read_tenhou_xml(document(INIT, END), name).id == "2026010100gm-00a9-0000-abcdef01"


def test_without_a_log_name_the_id_follows_from_the_content() -> None:
    one, same, other = document(INIT, END), document(INIT, END), document(INIT, "<T53/>", END)
    ids = [read_tenhou_xml(data, name).id for data, name in ((one, "a.xml"), (same, "b.xml"), (other, "a.xml"))]
    assert ids[0] == ids[1] != ids[2]


def malformed() -> Iterator[tuple[bytes, str]]:
    good = document(INIT, "<T53/>", END)
    yield good.replace(b"<T53/>", b"<T53"), "malformed XML"
    yield good.replace(END.encode(), INIT.encode()), "this one has not ended"
    yield good.replace(b"<T53/>", b'<DORA hai="136"/>'), "0 ... 135"
    yield good.replace(b"<T53/>", b'<N who="1"/>'), "<N> without m"
    yield good.replace(b'ten="250,', b'ten="99999999999,'), "out of range"
    yield good.replace(b'oya="0" hai', b'oya="2" hai'), "dealer"
    yield good.replace(b'hai0="0,', b'hai0="1,'), "all different"
    yield good.replace(b"<RYUUKYOKU", b'<RYUUKYOKU type="rain"'), "unknown kind of draw"
    yield good.replace(b'dan="16', b'dan="21'), "dan"
    yield good.replace(b'<GO type="169" lobby="0"/>', b""), "GO"
    yield good.replace(INIT.encode(), b""), "outside of a round"
    yield document(INIT, DRAW.format("")) + document(INIT, END), "several games"
    yield b'<!DOCTYPE a [<!ENTITY b "c">]>' + good, "document type"
    yield b"<html>" + good + b"</html>", "unexpected element <html>"


@pytest.mark.parametrize(("data", "reason"), list(malformed()))
def test_a_malformed_document_is_refused_with_the_reason(data: bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason.replace("...", r"\.\.\.")):
        read_tenhou_xml(data, NAME)


@pytest.mark.records
def test_real_games_with_rare_events_are_read() -> None:
    games = {path.name: read_tenhou_xml(path.read_bytes(), path.name) for path in real_records("tenhou/corner-cases")}
    assert sorted(name for name, game in games.items() if game.incomplete) == [
        "2011020401gm-00a9-0000-f6eff225-no-round-end.mjlog",
        "encdec-kan-opened-01.mjlog",
        "upd-aft-ron3.mjlog",
    ]
    assert all(game.rounds and not game.lost for game in games.values())


@pytest.mark.parametrize("rest", [b"\0", b"\n<!-- read", b"\n\n"])
def test_content_after_a_game_changes_nothing(rest: bytes) -> None:
    whole = document(INIT, END)
    assert read_tenhou_xml(whole + rest, "x").rounds == read_tenhou_xml(whole, "x").rounds
