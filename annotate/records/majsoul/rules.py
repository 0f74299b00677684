"""Recognises the rules, room and length of Mahjong Soul's games; refuses rules that differ from ranked games."""

from collections.abc import Sequence

from google.protobuf.message import Message

from annotate.game.grading import CELESTIAL

_RANKED, _FRIENDS, _CONTEST = 2, 1, 4
"""values of config.category"""
_RANKED_GAMES = {
    mode_id + style: (room, style, 4) for room, mode_id in enumerate((2, 5, 8, 11, 15)) for style in range(2)
} | {17 + 2 * room + style: (room, style, 3) for room in range(5) for style in range(2)}
"""room, style and number of seats by config.meta.mode_id"""
_STYLES = {1: 0, 2: 1}
"""style of other games by config.mode.mode"""
_THREE_PLAYER_MODES = range(11, 15)

_CELESTIAL_LEVELS = (6, 7)

# A room states these rules, or none (0 everywhere); a contest also states _CONTEST_RULES.
_ROOM_RULES = {"dora_count": 3, "init_point": 25000, "fandian": 30000, "shiduan": 1}
_CONTEST_RULES = {
    "liqibang_value": 1000,
    "changbang_value": 300,
    "noting_fafu_1": 1000,
    "noting_fafu_2": 1500,
    "noting_fafu_3": 3000,
} | dict.fromkeys(
    "can_jifei have_liujumanguan have_biao_dora have_gang_biao_dora have_li_dora have_gang_li_dora have_sifenglianda "
    "have_sigangsanle have_sijializhi have_jiuzhongjiupai have_helelianzhuang have_helezhongju have_tingpailianzhuang "
    "have_tingpaizhongju have_yifa have_nanruxiru".split(),
    True,
)
# thinking time, placement bonus, hints and the robots' strength, which do not change the play
_FREE = "time_fixed time_add jingsuanyuandian shunweima_2 shunweima_3 shunweima_4 bianjietishi ai_level".split()


def kind_of_game(config: Message, unknown_rules: Sequence[str]) -> tuple[int | None, int, int]:
    """Returns the room, None if the game is not ranked; the style, 0 East only, 1 East and South; and the number of
    players. Raises ValueError for a game with other rules than ranked games, or of an unknown kind. `config`:
    GameConfig; `unknown_rules`: names of stated rules that are not in the table of fields."""
    if config.category not in (_RANKED, _FRIENDS, _CONTEST):
        raise ValueError(f"whether the game is ranked is not known (head.config.category {config.category})")
    mode, mode_id = config.mode.mode, config.meta.mode_id
    is_ranked = config.category == _RANKED
    if not is_ranked and mode in _THREE_PLAYER_MODES:
        raise ValueError("a game of three players in a room or a contest: only ranked ones are supported")
    if is_ranked and mode_id not in _RANKED_GAMES:
        raise ValueError(f"a ranked game of a kind that is not known (mode_id {mode_id})")
    others = _other_rules(config.mode)
    if not is_ranked:  # the rules of a ranked game do not change with additional settings
        others += [f"{name} (not known here)" for name in unknown_rules]
    if others:
        raise ValueError(f"a game by other rules than ranked games, which is not supported: {', '.join(others)}")
    if is_ranked:
        return _RANKED_GAMES[mode_id]
    if mode not in _STYLES:
        raise ValueError(f"neither an East nor a South game (mode {mode}): its length is not supported")
    return None, _STYLES[mode], 4


def grade(level: int, num_seats: int) -> int:
    """Returns the grade 0 ... 15 of an account's level.id, or level3.id; raises ValueError if it has none."""
    # digit 1 is 1, or 2 for three players; the last two are a step 1 ... 3
    (kind, name), step = divmod(level // 100, 100), level % 100
    if kind == (2 if num_seats == 3 else 1):
        if name in _CELESTIAL_LEVELS and step >= 1:
            return CELESTIAL
        if 1 <= name <= 5 and 1 <= step <= 3:
            return 3 * name + step - 4
    raise ValueError(f"level.id {level} is not a grade of {num_seats} players")


def _other_rules(mode: Message) -> list[str]:
    """Returns the rules that differ from ranked games, with the protocol's names."""
    rule = mode.detail_rule
    stated = {field.name: value for field, value in rule.ListFields() if field.name not in _FREE and value}
    if stated.get("fanfu") == 1:
        del stated["fanfu"]  # one han to win: older rooms do not state it
    expected: dict[str, int] = {}
    for group in (_ROOM_RULES, _CONTEST_RULES):
        if not stated.keys().isdisjoint(group):
            expected |= group
    names = [name for name in (*expected, *stated) if stated.get(name, 0) != expected.get(name, 0)]
    others = [f"{name} {stated.get(name, 0)}" for name in dict.fromkeys(names)]
    others += [f"{field.name} {value}" for field, value in mode.testing_environment.ListFields() if value]
    return others
