"""What is found in JSON by the form of its type: fields that the type has not, and sets, put in order."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from makegood.errors import PayloadError
from makegood.payload import foreign
from makegood.payload.forms import Form
from makegood.payload.parts import at
from makegood.payload.secrets import NO_MARKS, Marks


class UnknownField(PayloadError):
    """JSON holds a field, at `path`, that the type which reads it does not have."""

    def __init__(self, path: str, form: Form) -> None:
        known = f"; it has {', '.join(form.names)}" if form.names else ""
        super().__init__(f"{path}: {form.type} has no such field{known}")
        self.path = path


def unknown_field(form: Form | None, json: Any, where: str, marks: Marks = NO_MARKS) -> UnknownField | None:
    """The first field that the type does not have, as the error to raise."""
    found = None if form is None else _unknown(form, json)
    return None if found is None else UnknownField(marks.shown(at(where, found.path), where), found.form)


def sort_sets(form: Form | None, json: Any) -> None:
    """Put the items of every set in an order that is the same for equal sets."""
    form = None if form is None else form.of(json)
    if form is None:
        return
    for _, part, inner in form.inner(json):
        sort_sets(inner, part)
    if form.is_set and isinstance(json, list):
        json.sort(key=msgspec.json.encode)


class _Unknown(NamedTuple):
    path: tuple[str | int, ...]
    form: Form


def _unknown(form: Form, json: Any) -> _Unknown | None:
    """The path is put together on the way out: where all is well, none is made."""
    known = form.of(json)
    if known is None:
        return None
    own = _own_unknown(known, json)
    if own is not None:
        return _Unknown(own, known)
    if known.flat:
        return None
    for key, part, inner in known.inner(json):
        found = _unknown(inner, part)
        if found is not None:
            return _Unknown((key, *found.path), found.form)
    return None


def _own_unknown(form: Form, json: Any) -> tuple[str | int, ...] | None:
    if form.names is not None:
        if not isinstance(json, dict) or json.keys() <= form.names.keys():
            return None
        return next((name,) for name in json if name not in form.names)
    if form.model is not None:
        return _dropped(form.model, json)
    if form.length is not None and isinstance(json, list) and len(json) > form.length:
        return (form.length,)
    return None


def _dropped(model: Any, json: Any) -> tuple[str | int, ...] | None:
    """The path of what a pydantic model drops of JSON that it can read."""
    try:
        kept = foreign.written(foreign.read(model, json))
    except Exception:  # it cannot read it, and says so when it is asked to
        return None
    return next(_lost(json, kept), None)


def _lost(given: Any, kept: Any) -> Iterator[tuple[str | int, ...]]:
    if isinstance(given, dict) and isinstance(kept, dict):
        for name, value in given.items():
            inner = _lost(value, kept[name]) if name in kept else iter([()])
            yield from ((name, *path) for path in inner)
    elif isinstance(given, list) and isinstance(kept, list):
        for number, (one, other) in enumerate(zip(given, kept, strict=False)):
            yield from ((number, *path) for path in _lost(one, other))
