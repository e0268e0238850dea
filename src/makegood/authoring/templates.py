"""From values given in a plan to templates: literals written exactly, references where they stand."""

import inspect
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, NoReturn, ParamSpec, TypeVar, cast

import msgspec

from makegood.authoring.hints import admits, clash, is_open, members, shown
from makegood.authoring.places import here
from makegood.authoring.references import Reference, origin_of
from makegood.authoring.shapes import NoPart, part_by_key, written_otherwise
from makegood.errors import PayloadError, PlanError
from makegood.payload import Part, Template, at, codec_for, field_as_written, field_names, fields_of

P = ParamSpec("P")
M = TypeVar("M")


class _Built:
    """What build() gives: a model's fields, some of them references, until the task makes the model."""

    __slots__ = ("_fields", "_model")

    def __init__(self, model: Any, fields: dict[str, Any]) -> None:
        self._model = model
        self._fields = fields

    def __getattr__(self, name: str) -> NoReturn:
        raise PlanError(
            f"{here()}: {name!r} of a built {shown(self._model)} is the value that you gave to build()"
        )

    def __repr__(self) -> str:
        return f"<built {shown(self._model)}>"


def build(model: Callable[P, M], /, *args: P.args, **fields: P.kwargs) -> M:
    """A model whose fields may be references; needed where the model validates what it is made of.

    Raises PlanError for fields that the model has not, or that are missing.
    """
    known = fields_of(model)
    if known is None or args:
        raise PlanError(
            f"{here()}: build() takes a dataclass, a Struct, a TypedDict, a NamedTuple, an attrs class or a "
            "pydantic model, and its fields by name: build(Model, field=value)"
        )
    for name in fields:
        if name not in known:
            raise PlanError(f"{here()}: {shown(model)} has no field {name!r}; its fields: {', '.join(known)}")
    # In an array every field has its place, so that none may be left out.
    needed = (name for name, part in known.items() if part.required or isinstance(part.key, int))
    missing = [name for name in needed if name not in fields]
    if missing:
        raise PlanError(f"{here()}: build({shown(model)}, ...) is not given the field {missing[0]!r}")
    return cast(M, _Built(model, dict(fields)))


def template_of(value: Any, hint: Any, where: str, recording: object) -> Template:
    """The template of a value given in a plan for a type; raises PlanError naming line and path.

    `recording` is the plan being recorded: references of another one are refused.
    """
    try:
        return _Writer(recording).write(value, hint, where)
    except PayloadError as error:
        raise PlanError(f"{here()}: {error}") from None
    except RecursionError:
        raise PlanError(f"{here()}: {where} is nested too deeply, or holds itself") from None


class _Writer(NamedTuple):
    recording: object

    def write(self, value: Any, hint: Any, where: str) -> Template:
        if isinstance(value, Reference):
            return self._reference(value, hint, where)
        if not _holds_reference(value):
            return _literal(value, hint, where)
        if isinstance(value, dict):
            return self._object(value, hint, where)
        if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
            _check_kept(value, hint, where)
            return [self.write(v, _part(hint, n).hint, at(where, (n,))) for n, v in enumerate(value)]
        return self._model(value, hint, where)

    def _reference(self, reference: Reference, hint: Any, where: str) -> Template:
        origin = origin_of(reference)
        if origin.recording is not self.recording:
            raise PlanError(
                f"{here()}: {where} refers to {origin}, which belongs to another plan; "
                "pass its value in through the input"
            )
        if clash(hint, origin.hint):
            raise PlanError(
                f"{here()}: {where} takes {shown(hint)}, and {origin} is {shown(origin.hint)}, which no task "
                f"could read; give another value, or change one of the two types{origin.doubt}"
            )
        return {"$ref": origin.name, "path": list(origin.path)} if origin.path else {"$ref": origin.name}

    def _object(self, value: dict[Any, Any], hint: Any, where: str) -> Template:
        for key in value:
            if not isinstance(key, str) or key.startswith("$"):
                raise PlanError(
                    f"{here()}: {where} holds references, so its keys must be strings without a leading $, "
                    f"not {key!r}"
                )
        return {k: self.write(v, _part(hint, k).hint, at(where, (k,))) for k, v in value.items()}

    def _model(self, value: Any, hint: Any, where: str) -> Template:
        model, given = _model_of(value)
        parts = fields_of(model) or {}
        if not admits(hint, model) or all(map(is_open, members(hint))):
            raise PlanError(
                f"{here()}: {where} is a {shown(model)} with references in it, but the parameter's type is "
                f"{shown(hint)}; declare the parameter as {shown(model)}"
            )
        written = {
            parts[name].key: self._field(model, name, part, parts[name], at(where, (name,)))
            for name, part in given.items()
        }
        return _with_tag(model, written)

    def _field(self, model: Any, name: str, value: Any, part: Part, where: str) -> Template:
        if not part.foreign:
            return self.write(value, part.hint, where)
        if _holds_reference(value):
            _check_readable(model, part.hint, where)
            return self.write(value, part.hint, where)
        try:
            return _escaped(field_as_written(model, name, value))
        except Exception as error:  # a model of the user's own may raise anything
            why = " ".join(str(error).split())
            raise PayloadError(f"{where} cannot be written by {shown(model)}: {why}") from None


def _check_readable(model: Any, hint: Any, where: str) -> None:
    if written_otherwise(hint):
        raise PlanError(
            f"{here()}: {where} holds bytes or a timedelta, which {shown(model)} reads in its own way, so "
            "no reference can stand there; declare the field as str, or make the model in an action"
        )


def _part(hint: Any, key: str | int) -> Part:
    """A container's part as far as its hint tells; a wrong hint is for the type checker to find."""
    try:
        return part_by_key(hint, key)
    except NoPart:
        return Part(key, Any)


def _check_kept(value: Any, hint: Any, where: str) -> None:
    if isinstance(value, tuple) and all(map(is_open, members(hint))):
        raise PlanError(
            f"{here()}: {where} would be read back as a list; "
            "pass a list, or declare the parameter's type as a tuple"
        )


def _holds_reference(value: Any) -> bool:
    if isinstance(value, Reference | _Built):
        return True
    return any(map(_holds_reference, _contents(value)))


def _contents(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, list | tuple):
        yield from value
    elif field_names(value):
        yield from _model_of(value)[1].values()


def _model_of(value: Any) -> tuple[Any, dict[str, Any]]:
    """A model's class, and its fields by name."""
    if isinstance(value, _Built):
        return value._model, value._fields
    names = fields_of(type(value)) or {}
    return type(value), {name: getattr(value, name) for name in names if hasattr(value, name)}


def _with_tag(model: Any, written: dict[Any, Template]) -> Template:
    """The fields as the model's JSON has them: an object or an array, the tag of a Struct in front."""
    config: Any = getattr(model, "__struct_config__", None)
    tag = None if config is None else config.tag
    if hasattr(model, "_fields") or (config is not None and config.array_like):
        return [*([] if tag is None else [tag]), *(written[n] for n in sorted(written))]
    return written if tag is None else {config.tag_field: tag, **written}


def _literal(value: Any, hint: Any, where: str) -> Template:
    if inspect.iscoroutine(value):
        value.close()
        raise PlanError(
            f"{here()}: {where} is a call of {value.__name__}, which makes no step; "
            f"write step({value.__name__}, ...)"
        )
    return _escaped(msgspec.json.decode(codec_for(hint).encode(value, where)))


def _escaped(literal: Any) -> Template:
    if isinstance(literal, dict):
        if any(key.startswith("$") for key in literal):
            return {"$lit": literal}
        return {key: _escaped(part) for key, part in literal.items()}
    return [_escaped(part) for part in literal] if isinstance(literal, list) else literal
