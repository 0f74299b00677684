"""Recognises the rules, room and length of Mahjong Soul's games; rules other than those of ranked games are refused."""

from collections.abc import Sequence

from google.protobuf.message import Message

THREE_PLAYERS = "a three-player game: three players are not supported yet"

_RANKED, _FRIENDS, _CONTEST = 2, 1, 4
"""config.category"""
_ROOM_AND_STYLE = {
    mode_id + style: (room, style) for room, mode_id in enumerate((2, 5, 8, 11, 15)) for style in range(2)
}
"""by config.meta.mode_id of ranked games"""
_THREE_PLAYER_MODE_IDS = range(17, 27)
_STYLES = {1: 0, 2: 1}
"""by config.mode.mode of other games"""
_THREE_PLAYER_MODES = range(11, 15)

_FIRST_GRADES = {101: 0, 102: 3, 103: 6, 104: 9, 105: 12}
"""by level.id without its last two digits, which are a step 1 ... 3"""
_CELESTIAL = 15
_CELESTIAL_LEVELS = (106, 107)

# A room states its own rules, or none (0 everywhere); a contest also those below.
_ROOM_RULES = {"dora_count": 3, "init_point": 25000, "fandian": 30000, "shiduan": 1}
_CONTEST_RULES = {
    "can_jifei": True,
    "liqibang_value": 1000,
    "changbang_value": 300,
    "noting_fafu_1": 1000,
    "noting_fafu_2": 1500,
    "noting_fafu_3": 3000,
    "have_liujumanguan": True,
    "have_biao_dora": True,
    "have_gang_biao_dora": True,
    "have_li_dora": True,
    "have_gang_li_dora": True,
    "have_sifenglianda": True,
    "have_sigangsanle": True,
    "have_sijializhi": True,
    "have_jiuzhongjiupai": True,
    "have_helelianzhuang": True,
    "have_helezhongju": True,
    "have_tingpailianzhuang": True,
    "have_tingpaizhongju": True,
    "have_yifa": True,
    "have_nanruxiru": True,
}
# thinking time, the bonus for places, hints and the robots' strength, which do not change the play
_FREE = (
    *("time_fixed", "time_add", "jingsuanyuandian", "shunweima_2", "shunweima_3", "shunweima_4"),
    *("bianjietishi", "ai_level"),
)


def room_and_style(config: Message, unknown_rules: Sequence[str]) -> tuple[int | None, int]:
    """Returns the room, None if the game is not ranked, and the style: 0 East only, 1 East and South.

    Args:
        config: GameConfig.
        unknown_rules: names of stated rules that are not in the table of fields.

    Raises:
        ValueError: a game for three, by other rules than ranked games, or of an unknown kind.
    """
    if config.category not in (_RANKED, _FRIENDS, _CONTEST):
        raise ValueError(f"whether the game is ranked is not known (head.config.category {config.category})")
    mode, mode_id = config.mode.mode, config.meta.mode_id
    is_ranked = config.category == _RANKED
    if (mode_id in _THREE_PLAYER_MODE_IDS) if is_ranked else (mode in _THREE_PLAYER_MODES):
        raise ValueError(THREE_PLAYERS)
    if is_ranked and mode_id not in _ROOM_AND_STYLE:
        raise ValueError(f"a ranked game of a kind that is not known (mode_id {mode_id})")
    others = _other_rules(config.mode)
    if not is_ranked:  # the rules of a ranked game do not change with additional settings
        others += [f"{name} (not known here)" for name in unknown_rules]
    if others:
        raise ValueError(f"a game by other rules than ranked games, which is not supported: {', '.join(others)}")
    if is_ranked:
        return _ROOM_AND_STYLE[mode_id]
    if mode not in _STYLES:
        raise ValueError(f"neither an East nor a South game (mode {mode}): its length is not supported")
    return None, _STYLES[mode]


def grade(level: int) -> int:
    """Returns the four-player grade 0 ... 15 of an account's level.id; raises ValueError if it has none."""
    name, step = divmod(level, 100)
    if name in _CELESTIAL_LEVELS and step >= 1:
        return _CELESTIAL
    if name not in _FIRST_GRADES or not 1 <= step <= 3:
        raise ValueError(f"level.id {level} is not a four-player grade")
    return _FIRST_GRADES[name] + step - 1


def _other_rules(mode: Message) -> list[str]:
    """Returns the rules in which the game differs from ranked ones, by the protocol's names."""
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
