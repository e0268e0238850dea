"""Payloads: what is written comes back equal, and what cannot is refused with its path."""

import enum
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Annotated, Any, Literal, NamedTuple, NewType, TypedDict
from uuid import UUID
from zoneinfo import ZoneInfo

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from makegood import Secret
from makegood.errors import PayloadError
from makegood.payload import (
    PAYLOAD_MAX,
    MissingPath,
    canonical,
    codec_for,
    compile_template,
    convert,
    decode,
    differing_paths,
    encode,
    resolve,
)


class Colour(enum.Enum):
    RED = "red"


@dataclass
class Leg:
    price: float
    at: datetime | None = None


@dataclass
class Trip:
    name: str
    legs: list[Leg] = field(default_factory=list)
    extra: dict[str, float | None] = field(default_factory=dict)


@dataclass
class LongTrip(Trip):
    nights: int = 3


@dataclass(eq=False)
class Plain:
    count: int
    sizes: tuple[int, ...] = ()
    rate: float | None = field(default=None, compare=False)


@dataclass
class Square:
    side: int
    area: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        if self.side < 0:
            raise ValueError("a side is not negative")


class Seat(msgspec.Struct, rename="camel", frozen=True):
    row_number: int
    taken_by: str | None = None


class Window(Seat, frozen=True):
    view: str = "sea"


class Point(NamedTuple):
    x: int
    y: int


class Options(TypedDict, total=False):
    meal: str


TripId = NewType("TripId", str)
BERLIN = ZoneInfo("Europe/Berlin")
NAIVE = datetime(2026, 1, 1, 12)  # noqa: DTZ001
TIMES = ["2024-03-31T02:30:00+01:00", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999-11:30"]

# --- what is kept

KEPT: list[tuple[Any, Any]] = [
    (None, None),
    (None, Any),
    (True, Any),
    (2**70, int),
    (-0.0, float),
    (5e-324, float),
    (sys.float_info.max, float),
    ("\0\u202e\U0001f980", str),
    ({"a": [1, 2.5, None, {"b": "c"}]}, Any),
    ({"a": 1}, dict[str, object]),
    (Trip("x", [Leg(1.5), Leg(2.0, datetime(2026, 1, 1, tzinfo=UTC))], {"y": None}), Trip),
    (Seat(3, "me"), Seat),
    (Seat(3), Seat | None),
    ({"meal": "late"}, Options),
    (Point(1, 2), Point),
    (TripId("t"), TripId),
    (Colour.RED, Colour),
    ("b", Literal["a", "b"]),
    (b"\x00\xff", bytes),
    (Decimal("1.10"), Decimal),
    (Decimal("-1E+400"), Decimal),
    (UUID(int=5), UUID),
    (date(1, 1, 1), date),
    (time(23, 59, 59, 999999), time),
    *((datetime.fromisoformat(text), datetime) for text in TIMES),
    (timedelta(days=-1, microseconds=3), timedelta),
    (timedelta.max, timedelta),
    ({3, 1, 2}, set[int]),
    (frozenset("ab"), frozenset[str]),
    ((1, "a"), tuple[int, str]),
    ({1: "a"}, dict[int, str]),
    ({date(2026, 1, 1): 1}, dict[date, int]),
    ([[[]]], list[list[list[int]]]),
]


@pytest.mark.parametrize(("value", "hint"), KEPT)
def test_kept_exactly(value: Any, hint: Any) -> None:
    raw = encode(value, hint)
    back = decode(raw, hint)
    assert back == value
    assert type(back) is type(value)
    assert msgspec.json.format(raw, indent=-1) == raw
    assert encode(back, hint) == raw
    assert convert(msgspec.json.decode(raw), hint) == value


def test_the_json_is_compact_and_has_the_names_of_the_wire() -> None:
    assert encode(Seat(3, "me"), Seat) == b'{"rowNumber":3,"takenBy":"me"}'
    assert encode([1, {"b": 1, "a": 2}], Any) == b'[1,{"b":1,"a":2}]'


def test_equal_values_are_equal_bytes() -> None:
    assert encode(Leg(5), Leg) == encode(Leg(5.0), Leg) == b'{"price":5.0,"at":null}'
    assert encode({"b", "a", "c"}, set[str]) == b'["a","b","c"]'
    assert encode(3, Decimal) == encode(Decimal(3), Decimal) == b'"3"'


def test_where_the_hint_asks_for_a_sequence_any_sequence_will_do() -> None:
    assert decode(encode((1, 2), Sequence[int]), Sequence[int]) == [1, 2]
    assert decode(encode({"a": 1}, Mapping[str, int]), Mapping[str, int]) == {"a": 1}


def test_values_without_an_equality_of_their_own_are_compared_by_their_fields() -> None:
    back = decode(encode(Plain(1, (2, 3)), Plain), Plain)
    assert (back.count, back.sizes) == (1, (2, 3))
    with pytest.raises(
        PayloadError, match=r"^value\.rate cannot be kept exactly: float inf would be read back as None"
    ):
        encode(Plain(1, rate=math.inf), Plain)


def test_a_field_that_the_constructor_does_not_take_is_kept() -> None:
    square = Square(3)
    square.area = 9
    assert decode(encode(square, Square), Square) == square


@pytest.mark.parametrize("fold", [0, 1])
def test_the_hour_that_comes_twice_keeps_its_offset(fold: int) -> None:
    twice = datetime(2024, 10, 27, 2, 30, fold=fold, tzinfo=BERLIN)
    back = decode(encode(twice, datetime), datetime)
    assert back.utcoffset() == twice.utcoffset()
    assert back.astimezone(UTC) == twice.astimezone(UTC)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=5),
    max_leaves=20,
)
LEGS = st.builds(
    Leg,
    st.floats(allow_nan=False, allow_infinity=False),
    st.none()
    | st.datetimes(
        timezones=st.just(UTC) | st.just(BERLIN), allow_imaginary=False, min_value=NAIVE.replace(1950)
    ),
)
TRIPS = st.builds(
    Trip,
    st.text(),
    st.lists(LEGS, max_size=4),
    st.dictionaries(st.text(), st.none() | st.floats(allow_nan=False, allow_infinity=False), max_size=3),
)


def same(one: Any, other: Any) -> bool:
    """Equal, and of equal types all the way down."""
    if type(one) is not type(other):
        return False
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    return bool(one == other)


@given(JSON)
def test_all_json_is_kept_without_a_hint(value: Any) -> None:
    assert same(decode(encode(value, Any), Any), value)


@given(TRIPS)
def test_all_trips_are_kept(trip: Trip) -> None:
    raw = encode(trip, Trip)
    back = decode(raw, Trip)
    assert (back.name, back.extra) == (trip.name, trip.extra)
    for leg, kept in zip(trip.legs, back.legs, strict=True):
        assert kept.price == leg.price
        assert (kept.at and kept.at.astimezone(UTC)) == (leg.at and leg.at.astimezone(UTC))
    assert same(convert(msgspec.json.decode(raw), Trip).legs, back.legs) or any(leg.at for leg in back.legs)


# --- what is refused

NESTED: list[Any] = []
NESTED.append(NESTED)

ODD = timezone(timedelta(minutes=53, seconds=28))
"""As the clocks of Berlin went until 1893."""
REFUSED: list[tuple[Any, Any, str]] = [
    (
        Trip("x", [Leg(1.0), Leg(math.nan)]),
        Trip,
        r"^input\.legs\[1\]\.price: .*NaN and infinity have no JSON",
    ),
    (
        Trip("x", extra={"tax": math.inf}),
        Trip,
        r"^input\.extra\.tax cannot be kept .* inf would be read back as None",
    ),
    ({"a": [1, -math.inf]}, Any, r"^input\.a\[1\] cannot be kept"),
    (Decimal("NaN"), Decimal, r"^input cannot be kept exactly: Decimal\('NaN'\) is never equal to itself"),
    ({1: 2}, Any, r"^input cannot be kept exactly: dict \{1: 2\} would be read back as dict \{'1': 2\}"),
    ({1: 2}, dict[str, int], "^input cannot be kept"),
    ({"a": {(1, 2): 3}}, Any, r"^input\.a: .*keys of a JSON object are strings"),
    ({"a b": {None: 3}}, Any, r"^input\['a b'\]: .*keys of a JSON object are strings"),
    ("\ud800", str, r"^input holds half of a surrogate pair \('\\ud800'\)"),
    (Trip("x", [], {"\udfff": 1.0}), Trip, r"^input\.extra \(a key\) holds half of a surrogate pair"),
    (Trip(5), Trip, r"^input\.name: Expected `str`, got `int`"),  # type: ignore[arg-type]
    (True, int, "^input: Expected `int`, got `bool`"),
    (1.0, int, "^input: Expected `int`, got `float`"),
    (2**53 + 1, float, "^input cannot be kept exactly: int 9007199254740993 would be read back as float"),
    (1.1, Decimal, "^input cannot be kept exactly"),
    (
        [datetime(1880, 1, 1, tzinfo=ODD)],
        list[datetime],
        r"^input\[0\] .*: its UTC offset is not in whole min",
    ),
    (
        time(9, tzinfo=ODD),
        time,
        "^input .*: its UTC offset is not in whole minutes, .* in JSON; give it in UTC$",
    ),
    (1.5, Decimal | None, r'^input cannot .* float 1\.5 .*; a float .* digits, write Decimal\("12\.50"\)$'),
    ({"a": [{1.5}]}, dict[str, list[set[Decimal]]], r"^input\.a\[0\]\[0\] cannot .* float 1\.5"),
    ({1.5: 1}, dict[Decimal, int], r"^input \(a key\) cannot be kept exactly: float 1\.5"),
    ({Decimal("1.5"): 1}, dict[float, int], r"^input \(a key\) cannot be kept exactly: Decimal"),
    (5, None, "^input: Expected `null`, got `int`"),
    (None, int, "^input: Expected `int`, got `null`"),
    (LongTrip("x"), Trip, r"^input cannot be kept exactly: LongTrip\(.* would be read back as Trip\("),
    (Window(1), Seat, r"^input cannot be kept exactly: Window\("),
    ({"meal": "late", "sauce": 1}, Options, "^input cannot be kept"),
    (
        Leg(1.0),
        Any,
        r"^input cannot be kept exactly: Leg\(.*\) would be read back as dict .*declare the type",
    ),
    (
        [(1, 2)],
        Any,
        r"^input\[0\] cannot be kept exactly: tuple \(1, 2\) would be read back as list \[1, 2\]",
    ),
    ({1, 2}, Any, "^input cannot be kept exactly: set"),
    (b"x", Any, "^input cannot be kept exactly: bytes b'x' would be read back as str"),
    ({"at": NAIVE}, dict[str, Any], r"^input\.at cannot be kept exactly"),
    (UUID(int=1), Any, "^input cannot be kept exactly: UUID"),
    (datetime(1890, 1, 1, tzinfo=BERLIN), datetime, "^input cannot be kept exactly"),
    (datetime(2026, 1, 1, tzinfo=timezone(timedelta(seconds=1))), datetime, "^input cannot be kept exactly"),
    ([object()], Any, r"^input\[0\]: an object of type object cannot be written as JSON; use a dataclass"),
    (Trip("x", [Leg(1.0, print)]), Trip, r"^input\.legs\[0\]\.at: an object of type builtin_function"),  # type: ignore[arg-type]
    (NESTED, Any, "^input is nested too deeply, or holds itself"),
    (complex(1), complex, "^type complex cannot be written as JSON"),
    (1, list[complex], "^type complex cannot be written as JSON"),
    (1, str | datetime, "^type .* cannot be told apart in JSON; declare one of them"),
    (
        NAIVE,
        datetime,
        '^input is a datetime without a time zone, which is another moment on every .*as .*00Z" have it',
    ),
    (
        Trip("x", [Leg(1.0), Leg(2.0, NAIVE)]),
        Trip,
        r"^input\.legs\[1\]\.at is a datetime without a time zone",
    ),
    ("x" * PAYLOAD_MAX, str, r"^input takes 1,048,578 bytes as JSON; a payload may take 1,048,576"),
]


@pytest.mark.parametrize(("value", "hint", "why"), REFUSED)
def test_refused_with_its_path(value: Any, hint: Any, why: str) -> None:
    with pytest.raises(PayloadError, match=why):
        encode(value, hint, "input")


def test_the_limit_is_measured_on_what_is_stored() -> None:
    assert len(encode("x" * (PAYLOAD_MAX - 2), str)) == PAYLOAD_MAX
    with pytest.raises(PayloadError, match="keep the data where it is"):
        encode("é" * (PAYLOAD_MAX // 2), str)


@pytest.mark.parametrize(
    ("raw", "hint", "why"),
    [
        (b"{", Any, "^result: Input data was truncated"),
        (
            b'{"price":1,"at":"soon"}',
            Leg,
            r'^result\.at: Invalid RFC3339 .*, write it as "2027-01-31T09:30:00Z"$',
        ),
        (b'"much"', Decimal, '^result: Invalid decimal string, write it as "12.50"$'),
        (
            b'{"a":[1.5,{"b":12345678901234567.89}]}',
            Any,
            r"^result\.a\[1\]\.b: a number of more digits than a float",
        ),
        (b"[0.1,1e400]", Any, r"^result\[1\]: a number of more digits"),
        (b'{"a":1}', dict[int, int], r"^result: Expected `int`, got `str` as a key"),
        (
            b"9007199254740993",
            float,
            r"^result: int 9007199254740993 would be read as float 9007199254740992\.0",
        ),
        (
            b'{"a":[1,9007199254740993]}',
            dict[str, list[float]],
            r"^result\.a\[1\]: int .* is not equal; declare",
        ),
        (b"[0.1,1e-400]", list[float], r"^result\[1\]: a number that is too small .* as 0; declare Decimal$"),
        (
            b'{"a":-0.%s2}' % (b"0" * 323),
            dict[str, float],
            r"^result\.a: a number that is too small for a float",
        ),
        (b"1e-99999999999999999999", float, "^result: a number that is too small for a float"),
        (b"1e-99999999999999999999", Any, "^result: a number of more digits than a float keeps"),
        (b"[1,9007199254740993]", set[float], r"^result\[1\]: int 9007199254740993 would be read as float"),
        (
            b"[[0.5,1],[1e-400,1]]",
            frozenset[tuple[float, int]],
            r"^result\[1\]\[0\]: a number that is too small",
        ),
        (b'{"at":null}', Leg, "^result: Object missing required field `price`"),
        (b'{"side":-1}', Square, "^result: a side is not negative"),
        (b'"\xff"', str, "^result: "),
        (b"[" * 5000 + b"]" * 5000, Any, "^result is nested too deeply"),
    ],
)
def test_unreadable_json_is_named_with_its_path(raw: bytes, hint: Any, why: str) -> None:
    with pytest.raises(PayloadError, match=why):
        decode(raw, hint, "result")


def test_a_large_int_is_a_float_only_where_one_is_equal_to_it() -> None:
    assert decode(b"[9007199254740992,1]", list[float]) == [2.0**53, 1.0]
    assert decode(b"9007199254740993", float | int) == 2**53 + 1
    large = {(2.0**53, 2**53 + 1), (1.0, 1)}
    assert decode(b"[[9007199254740992,9007199254740993],[1,1]]", set[tuple[float, int]]) == large
    assert decode(b"[0,9007199254740993]", set[Decimal]) == {Decimal(0), Decimal(2**53 + 1)}
    assert decode(b"[5e-324,0e-400]", list[float]) == [5e-324, 0.0]
    assert convert({"a": 2**53 + 1, "b": 1}, dict[str, int]) == {"a": 2**53 + 1, "b": 1}
    with pytest.raises(PayloadError, match=r"^shop/pay\.b\[0\]: int 9007199254740993 would be read as float"):
        convert({"b": [2**53 + 1]}, dict[str, list[float]], "shop/pay")
    with pytest.raises(PayloadError, match=r"^card: an int would be read as a float, which is not equal"):
        convert(2**53 + 1, Annotated[float, Secret], "card")


def test_what_a_users_own_type_raises_is_named_too() -> None:
    class Moody(msgspec.Struct):
        mood: str

        def __post_init__(self) -> None:
            raise LookupError("no mood today")

    with pytest.raises(PayloadError, match=r"^trip cannot be read as its type: LookupError: no mood today"):
        decode(b'{"mood":"x"}', Moody, "trip")
    with pytest.raises(PayloadError, match="LookupError"):
        convert({"mood": "x"}, Moody, "trip")


def test_a_hint_that_cannot_be_found_says_so() -> None:
    @dataclass
    class Lost:
        where: "Nowhere"  # type: ignore[name-defined]  # noqa: F821

    with pytest.raises(PayloadError, match="name 'Nowhere' is not defined"):
        codec_for(Lost)


def test_a_codec_is_made_once_per_hint() -> None:
    assert codec_for(Trip | None) is codec_for(Trip | None)
    assert codec_for(None) is codec_for(None)
    assert codec_for(Trip) is not codec_for(Leg)


# --- templates

VALUES = {
    "input": {"who": "ann", "legs": [{"price": 3}, {"price": 4}], "nothing": None},
    "flight": "XY12",
}


@pytest.mark.parametrize(
    ("template", "finished"),
    [
        (5, 5),
        (None, None),
        ({"$ref": "flight"}, "XY12"),
        ({"$ref": "input", "path": ["legs", 1, "price"]}, 4),
        ({"$ref": "input", "path": ["legs", -1, "price"]}, 4),
        ({"$ref": "input", "path": ["nothing"]}, None),
        (
            {"a": [{"$ref": "flight"}, 1], "b": {"c": {"$ref": "input", "path": ["who"]}}},
            {"a": ["XY12", 1], "b": {"c": "ann"}},
        ),
        ({"$lit": {"$ref": "flight"}}, {"$ref": "flight"}),
        ([], []),
        ({}, {}),
    ],
)
def test_templates_are_filled_in(template: Any, finished: Any) -> None:
    assert resolve(template, VALUES) == finished
    assert resolve(template, VALUES) == finished
    assert compile_template(template)(VALUES) == finished


@pytest.mark.parametrize(
    ("name", "path", "said"),
    [
        ("hotel", (), "hotel"),
        ("input", ("name",), "input.name"),
        ("input", ("legs", 2), "input.legs[2]"),
        ("input", ("legs", "price"), "input.legs.price"),
        ("input", ("nothing", "a"), "input.nothing.a"),
        ("input", (0,), "input[0]"),
        ("input", ("two words",), "input['two words']"),
        ("flight", (0,), "flight[0]"),
    ],
)
def test_a_path_that_is_not_there_is_named(name: str, path: tuple[str | int, ...], said: str) -> None:
    with pytest.raises(MissingPath) as missing:
        resolve({"x": [{"$ref": name, "path": list(path)}]}, VALUES)
    assert (missing.value.name, missing.value.path) == (name, path)
    assert str(missing.value).startswith(f"{said} is not there")
    assert isinstance(missing.value, PayloadError)


def test_a_template_made_where_an_old_one_lay_is_not_taken_for_it() -> None:
    for n in range(20_000):
        assert resolve({"n": n}, {}) == {"n": n}


# --- comparing


def test_the_canonical_form_knows_meaning_not_spelling() -> None:
    assert (
        canonical(b' {"b": [1, 2], "a": {"d": null, "c": "\\u00e9"}} ')
        == '{"a":{"c":"é","d":null},"b":[1,2]}'.encode()
    )
    with pytest.raises(PayloadError, match=r"^payload: "):
        canonical(b"{")


@pytest.mark.parametrize(
    ("one", "other", "paths"),
    [
        (b'{"a":1,"b":2}', b'{"b":2,"a":1}', []),
        (b'{"a":[1,2],"b":{"c":1}}', b'{"a":[1,3,4],"b":{}}', ["input.a[1]", "input.a[2]", "input.b.c"]),
        (b"1", b"1.0", ["input"]),
        (b'{"a":[]}', b'{"a":{}}', ["input.a"]),
        (b'{"a":null}', b"{}", ["input.a"]),
        (b"true", b"1", ["input"]),
    ],
)
def test_differing_paths(one: bytes, other: bytes, paths: list[str]) -> None:
    assert differing_paths(one, other) == paths


@given(JSON, JSON)
def test_paths_differ_exactly_when_canonical_forms_do(one: Any, other: Any) -> None:
    for raw, second in ((one, other), (one, one)):
        pair = encode(raw, Any), encode(second, Any)
        assert (differing_paths(*pair) == []) == (canonical(pair[0]) == canonical(pair[1]))
