"""The parts of Mahjong Soul's messages that this program reads: their wire format, and their conversion from JSON.

Field numbers come from the protocol. Fields that are not in the table are skipped, in protobuf as in JSON, so
records of later clients can be read as long as the fields in the table do not change their meaning.
"""

from functools import cache, lru_cache
from typing import Any, NamedTuple

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError, Message

PACKAGE = "lq"

# message: its fields as "number name type"; * precedes the type of a repeated field
_MESSAGES = {
    "Wrapper": "1 name string, 2 data bytes",
    "ResGameRecord": "1 error Error, 3 head RecordGame, 4 data bytes, 5 data_url string",
    "Error": "1 code uint32",
    "RecordGame": (
        "1 uuid string, 5 config GameConfig, 11 accounts *Account, 12 result GameEndResult, 13 robots *Account"
    ),
    "GameConfig": "1 category uint32, 2 mode GameMode, 3 meta GameMetaData",
    "GameMode": "1 mode uint32, 6 detail_rule GameDetailRule, 7 testing_environment GameTestingEnvironmentSet",
    "GameTestingEnvironmentSet": "1 paixing uint32, 2 left_count uint32",
    "GameMetaData": "2 mode_id uint32",
    "GameDetailRule": (
        "3 dora_count uint32, 4 shiduan uint32, 5 init_point uint32, 6 fandian uint32, 7 can_jifei bool,"
        "8 tianbian_value uint32, 9 liqibang_value uint32, 10 changbang_value uint32, 11 noting_fafu_1 uint32,"
        "12 noting_fafu_2 uint32, 13 noting_fafu_3 uint32, 14 have_liujumanguan bool, 15 have_qieshangmanguan bool,"
        "16 have_biao_dora bool, 17 have_gang_biao_dora bool, 18 ming_dora_immediately_open bool, 19 have_li_dora bool,"
        "20 have_gang_li_dora bool, 21 have_sifenglianda bool, 22 have_sigangsanle bool, 23 have_sijializhi bool,"
        "24 have_jiuzhongjiupai bool, 25 have_sanjiahele bool, 26 have_toutiao bool, 27 have_helelianzhuang bool,"
        "28 have_helezhongju bool, 29 have_tingpailianzhuang bool, 30 have_tingpaizhongju bool, 31 have_yifa bool,"
        "32 have_nanruxiru bool, 39 have_zimosun bool, 40 disable_multi_yukaman bool, 41 fanfu uint32,"
        "42 guyi_mode uint32, 43 dora3_mode uint32, 44 begin_open_mode uint32, 45 jiuchao_mode uint32,"
        "46 muyu_mode uint32, 47 open_hand uint32, 48 xuezhandaodi uint32, 49 huansanzhang uint32, 50 chuanma uint32,"
        "51 reveal_discard uint32, 60 disable_leijiyiman bool, 62 disable_double_yakuman uint32,"
        "63 disable_composite_yakuman uint32, 64 enable_shiti uint32, 65 enable_nontsumo_liqi uint32,"
        "66 disable_double_wind_four_fu uint32, 67 disable_angang_guoshi uint32, 68 enable_renhe uint32,"
        "69 enable_baopai_extend_settings uint32,"
        # without effect on the play: thinking time, the placement bonus, hints, robots
        "1 time_fixed uint32, 2 time_add uint32, 33 jingsuanyuandian uint32, 34 shunweima_2 int32,"
        "35 shunweima_3 int32, 36 shunweima_4 int32, 37 bianjietishi bool, 38 ai_level uint32"
    ),
    "Account": "1 account_id uint32, 2 seat uint32, 3 nickname string, 7 level AccountLevel, 8 level3 AccountLevel",
    "AccountLevel": "1 id uint32",
    "GameEndResult": "1 players *PlayerItem",
    "PlayerItem": "1 seat uint32, 3 part_point_1 int32, 5 grading_score int32",
    "GameDetailRecords": "1 records *bytes, 2 version uint32, 3 actions *GameAction",
    "GameAction": "3 result bytes, 4 user_input GameUserInput",
    "GameUserInput": "1 seat uint32, 2 type uint32, 11 cpg GameChiPengGang",
    "GameChiPengGang": "1 type uint32, 2 index uint32, 3 cancel_operation bool",
    "OptionalOperationList": "1 seat uint32, 2 operation_list *OptionalOperation",
    "OptionalOperation": "1 type uint32, 2 combination *string",
    "LiQiSuccess": "1 seat uint32, 4 failed bool",
    "RecordNewRound": (
        "1 chang uint32, 2 ju uint32, 3 ben uint32, 4 dora string, 5 scores *int32, 6 liqibang uint32,"
        "7 tiles0 *string, 8 tiles1 *string, 9 tiles2 *string, 10 tiles3 *string,"
        "12 operation OptionalOperationList, 14 paishan string, 16 doras *string, 19 operations *OptionalOperationList"
    ),
    "RecordDealTile": (
        "1 seat uint32, 2 tile string, 5 liqi LiQiSuccess, 6 doras *string, 8 operation OptionalOperationList"
    ),
    "RecordDiscardTile": (
        "1 seat uint32, 2 tile string, 3 is_liqi bool, 5 moqie bool, 8 doras *string, 9 is_wliqi bool,"
        "10 operations *OptionalOperationList"
    ),
    "RecordChiPengGang": (
        "1 seat uint32, 2 type uint32, 3 tiles *string, 4 froms *uint32, 5 liqi LiQiSuccess,"
        "8 operation OptionalOperationList"
    ),
    "RecordAnGangAddGang": (
        "1 seat uint32, 2 type uint32, 3 tiles string, 6 doras *string, 7 operations *OptionalOperationList"
    ),
    "RecordBaBei": "1 seat uint32, 6 doras *string, 7 operations *OptionalOperationList",
    "RecordHule": "1 hules *HuleInfo, 3 delta_scores *int32, 5 scores *int32",
    "HuleInfo": "3 hu_tile string, 4 seat uint32, 5 zimo bool, 8 doras *string, 9 li_doras *string",
    "RecordLiuJu": "1 type uint32, 5 liqi LiQiSuccess",
    "RecordNoTile": "1 liujumanguan bool, 3 scores *NoTileScoreInfo",
    "NoTileScoreInfo": "2 old_scores *int32, 3 delta_scores *int32",
}

RECORDS = tuple(name for name in _MESSAGES if name.startswith("Record") and name != "RecordGame")
"""the messages of a game's events"""


class _Misfit(ValueError):
    """A JSON value does not fit its field; the message names its place."""


class _Field(NamedTuple):
    number: int
    name: str
    type: str
    is_repeated: bool


def decode(name: str, data: bytes) -> Message:
    """Decodes the message `name`. Raises ValueError if `data` is not such a message."""
    try:
        return _classes()[name].FromString(data)
    except DecodeError:
        raise ValueError(f"cut off or damaged: no {name} where one is expected") from None


def of_json(name: str, content: Any, where: str) -> tuple[Message, list[str]]:
    """Converts a JSON object to the message `name`; also returns its keys without a field. Keys may be written in any
    usual way: is_liqi, isLiqi; part_point_1, partPoint1, partPoint_1. Raises ValueError for a value of the wrong type
    or out of range; the message names the place, which starts with `where`."""
    message = _classes()[name]()
    return message, _fill(message, name, content, where)


def _fill(message: Message, name: str, content: Any, where: str) -> list[str]:
    """Copies the content of a JSON object into `message`, of type `name`. Returns the keys that have no field and whose
    value is not null, 0, false or empty."""
    if type(content) is not dict:
        raise _Misfit(f"{where} must be an object, not {ascii(content)[:40]}")
    fields = _fields(name)
    unknown = []
    for key, value in content.items():
        field = fields.get(squeezed(key))
        if field is None:
            unknown += [f"{where}.{key}"] * bool(value)
        elif value is not None:
            try:
                if field.is_repeated or field.type in _MESSAGES:
                    unknown += _fill_part(getattr(message, field.name), field, value, f"{where}.{key}")
                else:
                    setattr(message, field.name, value)
            except _Misfit:
                raise
            except (TypeError, ValueError) as error:
                raise _Misfit(f"{where}.{key}: {ascii(value)[:40]}: {error}") from None
    return unknown


def _fill_part(part: Any, field: _Field, value: Any, where: str) -> list[str]:
    """Copies a JSON value into the message or the repeated values of a field; returns the keys without a field."""
    if not field.is_repeated:
        part.SetInParent()
        return _fill(part, field.type, value, where)
    if type(value) is not list:
        raise _Misfit(f"{where} must be a list, not {ascii(value)[:40]}")
    if field.type not in _MESSAGES:
        part.extend(value)
        return []
    filled = [_fill(part.add(), field.type, each, f"{where}[{i}]") for i, each in enumerate(value)]
    return [key for unknown in filled for key in unknown]


@lru_cache(maxsize=10_000)
def squeezed(key: str) -> str:
    """Returns a key in lower case without underscores, so that all ways of writing it are equal."""
    return key.replace("_", "").lower()


@cache
def _fields(name: str) -> dict[str, _Field]:
    fields = {}
    for text in _MESSAGES[name].split(","):
        number, field, kind = text.split()
        fields[squeezed(field)] = _Field(int(number), field, kind.removeprefix("*"), kind.startswith("*"))
    return fields


@cache
def _classes() -> dict[str, type[Message]]:
    proto = descriptor_pb2.FileDescriptorProto
    file = proto(name="annotate/records/majsoul.proto", package=PACKAGE, syntax="proto3")
    field_proto = descriptor_pb2.FieldDescriptorProto
    for name in _MESSAGES:
        message = file.message_type.add(name=name)
        for field in _fields(name).values():
            added = message.field.add(name=field.name, number=field.number)
            added.label = field_proto.LABEL_REPEATED if field.is_repeated else field_proto.LABEL_OPTIONAL
            if field.type in _MESSAGES:
                added.type, added.type_name = field_proto.TYPE_MESSAGE, f".{PACKAGE}.{field.type}"
            else:
                added.type = getattr(field_proto, f"TYPE_{field.type.upper()}")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{PACKAGE}.{name}")) for name in _MESSAGES
    }
