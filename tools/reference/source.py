"""What stands in the source of a function or class: its signature as it was written, its attributes."""

import ast
import inspect
from collections.abc import Callable, Iterator, Mapping
from itertools import zip_longest
from textwrap import dedent
from typing import Any, get_overloads

import msgspec

WIDTH = 100


def signatures(name: str, function: Callable[..., Any]) -> list[str]:
    """How it is called, one signature for each overload."""
    waits = inspect.iscoroutinefunction(function)
    told = get_overloads(function) or [function]
    return [_signature(name, inspect.unwrap(one), waits) for one in told]


def options(function: Callable[..., Any]) -> list[str]:
    """What may be given by name for a parameter `**name: Unpack[Options]`, as written."""
    for one in get_overloads(function) or [function]:
        named = _definition(one).args.kwarg
        hint = "" if named is None else _unquoted(named.annotation)
        if hint.startswith("Unpack["):
            return [field for field, _ in _fields(_globals(one)[hint[7:-1]])]
    return []


def answer(prop: Any) -> str:
    """The type of a property, as written."""
    return _unquoted(_definition(getattr(prop, "func", None) or prop.fget).returns)


def fields(cls: type) -> Iterator[tuple[str, str]]:
    """The annotated public fields of a class as written, each with the text below it, inherited first."""
    for base in reversed(cls.__mro__):
        if base.__module__.startswith("makegood"):
            yield from _fields(base)


def attributes(cls: type) -> Iterator[tuple[str, str]]:
    """The public attributes that __init__ sets, each with the text below it."""
    made = next((line for line in _body(cls) if getattr(line, "name", "") == "__init__"), None)
    for line, told in _with_text(made.body if isinstance(made, ast.FunctionDef) else []):
        target = line.targets[0] if isinstance(line, ast.Assign) else getattr(line, "target", None)
        if isinstance(target, ast.Attribute) and not target.attr.startswith("_"):
            yield target.attr, told


def laid_out(start: str, inside: list[str], end: str) -> str:
    """In one line where there is room, else a part a line."""
    flat = start + ", ".join(inside) + end
    return flat if len(flat) <= WIDTH else "\n    ".join([start, *(f"{one}," for one in inside)]) + f"\n{end}"


def _signature(name: str, function: Callable[..., Any], waits: bool) -> str:
    node = _definition(function)
    block = any("contextmanager" in ast.unparse(decorator) for decorator in node.decorator_list)
    inside = _parameters(node.args, _globals(function))
    end = "):" if block else f") -> {_unquoted(node.returns)}".removesuffix(" -> None")
    return laid_out(f"{'with ' if block else 'await ' if waits else ''}{name}(", inside, end)


def _parameters(given: ast.arguments, known: Mapping[str, Any]) -> list[str]:
    """The parameters as text, without `self` and without those that nothing may be given for."""
    before = [*given.posonlyargs, *given.args]
    defaults = [None] * (len(before) - len(given.defaults)) + [*given.defaults]
    shown = [_parameter(one, default, known) for one, default in zip(before, defaults, strict=True)]
    if given.posonlyargs:
        shown.insert(len(given.posonlyargs), "/")
    if shown and shown[0] in ("self", "cls"):
        shown = shown[2:] if shown[1:2] == ["/"] else shown[1:]
    if given.vararg:
        shown.append(f"*{_parameter(given.vararg, None, known)}")
    elif given.kwonlyargs:
        shown.append("*")
    named = zip(given.kwonlyargs, given.kw_defaults, strict=True)
    shown += [_parameter(one, default, known) for one, default in named]
    if given.kwarg and _unquoted(given.kwarg.annotation) != "Never":
        shown.append(f"**{_parameter(given.kwarg, None, known)}")
    return shown


def _parameter(one: ast.arg, default: ast.expr | None, known: Mapping[str, Any]) -> str:
    hint = f": {_unquoted(one.annotation)}" if one.annotation else ""
    return f"{one.arg}{hint}" + ("" if default is None else f" = {_value(default, known)}")


def _value(default: ast.expr, known: Mapping[str, Any]) -> str:
    """A default as text; a plain constant that is named is shown as what it is."""
    text = ast.unparse(default)
    value = known.get(text)
    return repr(value) if isinstance(value, str | float | int | msgspec.Struct) else text


def _globals(function: Callable[..., Any]) -> Mapping[str, Any]:
    found: Mapping[str, Any] = getattr(function, "__globals__", {})
    return found


def _definition(function: Callable[..., Any]) -> ast.FunctionDef | ast.AsyncFunctionDef:
    node = ast.parse(dedent(inspect.getsource(function))).body[0]
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    return node


def _unquoted(hint: ast.expr | None) -> str:
    if isinstance(hint, ast.Constant) and isinstance(hint.value, str):
        return hint.value
    return "" if hint is None else ast.unparse(hint)


def _fields(cls: type) -> Iterator[tuple[str, str]]:
    for line, told in _with_text(_body(cls)):
        if isinstance(line, ast.AnnAssign) and not ast.unparse(line.target).startswith("_"):
            default = "" if line.value is None else f" = {ast.unparse(line.value)}"
            yield f"{ast.unparse(line.target)}: {_unquoted(line.annotation)}{default}", told


def _body(cls: type) -> list[ast.stmt]:
    node = ast.parse(dedent(inspect.getsource(cls))).body[0]
    assert isinstance(node, ast.ClassDef)
    return node.body


def _with_text(body: list[ast.stmt]) -> Iterator[tuple[ast.stmt, str]]:
    """Each line with the string that stands below it, where one does."""
    for line, below in zip_longest(body, body[1:]):
        text = (
            below.value.value if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant) else ""
        )
        yield line, inspect.cleandoc(text) if isinstance(text, str) else ""
