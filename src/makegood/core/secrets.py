"""Which parts of payloads nobody shall see. The plan document says so: a reader needs no code to hide them.

A secret is the path to it from the value it lies in; "*" in a path stands for every item or key.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import date, datetime, time, timedelta
from typing import Any, TypeAlias

import msgspec

Path: TypeAlias = tuple[str | int, ...]

EVERY = "*"
HIDDEN = "***"
"""What is shown in the place of a secret."""
TEXT_MIN = 3
"""Characters that a secret has which is looked for in texts."""


def hide(json: Any, secrets: Collection[Path], instead: Callable[[Any], Any] = lambda _: HIDDEN) -> Any:
    """Decoded JSON, with everything secret replaced."""
    if not secrets:
        return json
    if () in secrets:
        return instead(json)
    if isinstance(json, dict):
        return {key: hide(part, below(secrets, key), instead) for key, part in json.items()}
    if isinstance(json, list):
        return [hide(part, below(secrets, n), instead) for n, part in enumerate(json)]
    return json


def below(secrets: Iterable[Path], key: str | int) -> list[Path]:
    """The secrets of a part. An index that counts from the end may be any."""
    last = isinstance(key, int) and key < 0
    return [
        path[1:]
        for path in secrets
        if path and (path[0] in (key, EVERY) or (last and isinstance(path[0], int)))
    ]


def secrets_in(template: Any, secrets: Mapping[str, Collection[Path]]) -> list[Path]:
    """The secrets of what a template becomes, where those of the values that it refers to are known."""
    match template:
        case {"$ref": name}:
            return _secrets_at(list(secrets.get(name, ())), template.get("path", ()))
        case {"$lit": _}:
            return []
        case dict():
            parts: Iterable[tuple[Any, Any]] = template.items()
        case list() | tuple():
            parts = enumerate(template)
        case _:
            return []
    return [(key, *path) for key, part in parts for path in secrets_in(part, secrets)]


def covers(secrets: Iterable[Path], path: Path) -> bool:
    """Whether these hide all that is at a path."""
    return () in _secrets_at(list(secrets), path)


def _secrets_at(secrets: list[Path], path: Iterable[str | int]) -> list[Path]:
    for key in path:
        if () in secrets:
            return [()]
        secrets = below(secrets, key)
    return secrets


def traced(template: Any, secret: Path) -> Iterator[tuple[str, Path]]:
    """Which parts of which values a secret of what a template becomes is taken from.

    The name is empty where it stands in the template itself.
    """
    match template:
        case {"$ref": name}:
            path = (EVERY if isinstance(key, int) and key < 0 else key for key in template.get("path", ()))
            yield name, (*path, *secret)
        case None:
            return
        case dict() | list() | tuple() if secret and "$lit" not in template:
            parts = template.items() if isinstance(template, dict) else enumerate(template)
            for key, part in parts:
                for rest in below([secret], key):
                    yield from traced(part, rest)
        case dict() | list() | tuple() if not secret and "$lit" not in template:
            for part in template.values() if isinstance(template, dict) else template:
                yield from traced(part, ())
        case _:
            yield "", secret


def texts_of(json: Any, secrets: Collection[Path], fields: Collection[str] = ()) -> Iterator[str]:
    """The texts and numbers that are secret, as they may stand in an error; none too short to tell.

    A key in what is secret is one of them, unless it is the name of one of these `fields`.
    """
    if not secrets:
        return
    if isinstance(json, dict | list):
        whole = () in secrets
        if whole and isinstance(json, dict):
            yield from (key for key in json if key not in fields and len(key) >= TEXT_MIN)
        for key, part in json.items() if isinstance(json, dict) else enumerate(json):
            yield from texts_of(part, [()] if whole else below(secrets, key), fields)
    elif () in secrets and not isinstance(json, bool) and json is not None and len(str(json)) >= TEXT_MIN:
        yield str(json)


def without(text: str, secret: Iterable[str]) -> str:
    """A text without these secrets, as they are and as JSON, Python and a URL write them, nested as well."""
    forms = {form for one in secret for form in _forms(one) if len(form) >= TEXT_MIN}
    for form in sorted(forms, key=len, reverse=True):
        text = text.replace(form, HIDDEN)
    return _without_meant(text, forms) if forms and any(sign in text for sign in "\\%+") else text


def _without_meant(text: str, forms: Iterable[str]) -> str:
    """A text without what means the same as one of these forms, however it is written."""
    pieces, octets = _read(text)
    read = [_read(form)[1] for form in forms if len(form) <= 4 * len(text)]
    meant = {one.rstrip(b"\\") for octets in read for one in (bytes(octets), _in_latin_1(octets))}
    for form in sorted(meant, key=len, reverse=True):
        at = octets.find(form) if len(form) >= TEXT_MIN else -1
        while at >= 0:
            end = at + len(form)
            pieces[at:end] = [HIDDEN, *[""] * (len(form) - 1)]
            octets[at:end] = bytes(len(form))
            at = octets.find(form, end)
    return "".join(pieces)


def _read(text: str) -> tuple[list[str], bytearray]:
    """What a text means, in UTF-8, and a piece of it for each octet: "" for all but a character's first.

    Secrets are read in the same way, for no text tells in which notation it is. So backslashes go with what
    follows them, however many (each nesting doubles them), and "+" is a space.
    """
    pieces: list[str] = []
    octets = bytearray()
    for found in re.finditer(_PIECE, text):
        kind = str(found.lastgroup)
        meaning = _MEANING[kind](found[kind])
        pieces += found[0] if kind == "ascii" else [found[0], *[""] * (len(meaning) - 1)]
        octets += meaning
    return pieces, octets.replace(b"+", b" ")


def _in_latin_1(octets: bytearray) -> bytes:
    """The same with an octet for each character, as Python's ascii() writes it, if that can be."""
    try:
        return octets.decode().encode("latin-1")
    except UnicodeError:
        return bytes(octets)


def _in_utf8(character: str) -> bytes:
    return character.encode("utf-8", "surrogatepass")


_BACKSLASH = r"(?:\\|%(?:25)*5c)"
_PIECE = (
    r"(?ais)(?P<ascii>[\0-$&-\[\]-\x7f]+)"
    rf"|{_BACKSLASH}++u(?P<pair>d[89ab][\da-f]{{2}}{_BACKSLASH}++ud[c-f][\da-f]{{2}})"
    rf"|{_BACKSLASH}++(?P<point>(?-i:U)00(?:0[\da-f]|10)[\da-f]{{4}}|u[\da-f]{{4}})"
    rf"|(?:{_BACKSLASH}++x|{_BACKSLASH}*+%(?:25)*)(?P<octet>[\da-f]{{2}})"
    rf"|{_BACKSLASH}++(?P<letter>(?-i:[btnfr]))"
    rf"|{_BACKSLASH}*(?P<itself>.)"
)
"""Compiled by the first text that needs it: most processes never read one."""
_LETTERS = str.maketrans("btnfr", "\b\t\n\f\r")
_MEANING: dict[str, Callable[[str], bytes]] = {
    "ascii": str.encode,
    "pair": lambda pair: _in_utf8(bytes.fromhex(pair[:4] + pair[-4:]).decode("utf-16-be")),
    "point": lambda point: _in_utf8(chr(int(point[1:], 16))),
    "octet": bytes.fromhex,
    "letter": lambda letter: letter.translate(_LETTERS).encode(),
    "itself": _in_utf8,
}


def _forms(secret: str) -> Iterator[str]:
    """The secret, and how Python shows what may be behind it."""
    yield from (secret, repr(secret)[1:-1])
    for kind in _WRITTEN_AS_TEXT:
        try:
            yield from _python_forms(msgspec.convert(secret, kind))
        except (ValueError, OverflowError):  # it is no text of that kind
            continue


_WRITTEN_AS_TEXT = (bytes, datetime, date, time, timedelta)
"""Types that Python shows otherwise than JSON does: one of them may be behind any text."""


def _python_forms(value: Any) -> Iterator[str]:
    """How Python writes a value, but for the time zone: each library has a class of its own for that."""
    if isinstance(value, bytes):
        yield from (repr(value)[2:-1], value.decode("utf-8", "replace"))
    elif isinstance(value, datetime | time):
        clock = value.replace(tzinfo=None)
        yield from (str(clock), repr(clock)[:-1])
    else:
        yield from (str(value), repr(value))
