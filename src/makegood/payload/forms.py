"""What the JSON of a type looks like, as far as something must be found in it: its fields, its sets."""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
from msgspec import inspect as types

from makegood.payload.foreign import is_model


class Form(msgspec.Struct, eq=False):
    """The form of one type's JSON.

    `parts` are the forms of fixed parts by key, `every` that of all parts; what is left out holds nothing to
    be found. `names` are the fields that an object may have and `length` the most items of an array, None
    where there may be any; `model` is the pydantic model that it is.
    """

    type: str = ""
    parts: "dict[str | int, Form]" = msgspec.field(default_factory=dict)
    every: "Form | None" = None
    names: dict[str, None] | None = None
    length: int | None = None
    is_set: bool = False
    model: Any = None

    @property
    def flat(self) -> bool:
        """Whether nothing has to be found in its parts."""
        return not self.parts and self.every is None

    def of(self, json: Any) -> "Form | None":
        """The form that this very JSON has; None where it does not look like it."""
        return self

    def inner(self, json: Any) -> "Iterator[tuple[str | int, Any, Form]]":
        """The parts of such JSON, each with its key and its form."""
        if self.every is not None:
            pairs = (
                json.items() if isinstance(json, dict) else enumerate(json) if isinstance(json, list) else ()
            )
            for key, part in pairs:
                yield key, part, self.every
        if self.parts:
            there = (
                json if isinstance(json, dict) else dict(enumerate(json)) if isinstance(json, list) else {}
            )
            for key, form in self.parts.items():
                if key in there:
                    yield key, there[key], form


class OneOf(Form, eq=False):
    """A union: of its members JSON can only be the one with its tag, or else the one of its JSON type."""

    tag_field: str | int = 0
    tagged: dict[Any, Form] = msgspec.field(default_factory=dict)
    object: Form | None = None
    array: Form | None = None

    def of(self, json: Any) -> Form | None:
        if self.tagged:
            return self.tagged.get(_at(json, self.tag_field))
        return self.object if isinstance(json, dict) else self.array


def form_of(kind: types.Type) -> Form | None:
    """The form of a type's JSON; None where nothing has to be found in it."""
    return _Forms().of(kind)


class _Forms:
    """Makes the form of each class once, so that a type may hold itself."""

    def __init__(self) -> None:
        self._classes: dict[Any, Form] = {}

    def of(self, kind: types.Type) -> Form | None:
        match kind:
            case types.StructType() | types.DataclassType() | types.TypedDictType() | types.NamedTupleType():
                return self._with_fields(kind)
            case types.CustomType(cls=cls) if is_model(cls):
                return Form(type=cls.__name__, model=cls)
            case types.SetType(item_type=item) | types.FrozenSetType(item_type=item):
                return Form(every=self.of(item), is_set=True)
            case types.UnionType(types=members):
                return self._union(members)
            case types.TupleType(item_types=items):
                return self._fixed(Form(), enumerate(items))
            case types.DictType(value_type=item) | types.CollectionType(item_type=item):
                every = self.of(item)
                return None if every is None else Form(every=every)
            case types.Metadata(type=inner):
                return self.of(inner)
            case _:
                return None

    def _with_fields(self, kind: Any) -> Form:
        if kind.cls in self._classes:
            return self._classes[kind.cls]
        form = self._classes[kind.cls] = Form(type=getattr(kind.cls, "__name__", None) or repr(kind.cls))
        tagged = getattr(kind, "tag", None) is not None
        if is_array(kind):
            form.length = len(kind.fields) + tagged
            self._fixed(form, ((n, field.type) for n, field in enumerate(kind.fields, start=tagged)))
        else:
            fields = tuple(field.encode_name for field in kind.fields)
            form.names = dict.fromkeys((kind.tag_field, *fields) if tagged else fields)
            self._fixed(form, ((field.encode_name, field.type) for field in kind.fields))
        return form

    def _fixed(self, form: Form, kinds: Iterable[tuple[Any, types.Type]]) -> Form:
        made = {key: self.of(kind) for key, kind in kinds}
        form.parts = {key: part for key, part in made.items() if part is not None}
        return form

    def _union(self, members: Iterable[types.Type]) -> Form | None:
        union = OneOf()
        for member in members:
            form = self.of(member)
            if isinstance(member, types.StructType) and member.tag is not None and form is not None:
                union.tagged[member.tag] = form
                union.tag_field = 0 if member.array_like else member.tag_field or ""
            elif is_array(member) or isinstance(member, types.CollectionType | types.TupleType):
                union.array = form
            elif form is not None:
                union.object = form
        return union if union.tagged or union.object or union.array else None


def is_array(kind: Any) -> bool:
    """Whether a class with fields is an array in JSON."""
    return isinstance(kind, types.NamedTupleType) or bool(getattr(kind, "array_like", False))


def _at(json: Any, key: str | int) -> Any:
    """A part of JSON, if it is there and could be a tag."""
    try:
        found = json[key]
    except (KeyError, IndexError, TypeError):
        return None
    return found if isinstance(found, str | int) else None
