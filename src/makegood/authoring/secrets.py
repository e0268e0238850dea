"""What of a plan's values nobody shall see, by the types that mark it."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from types import UnionType
from typing import Annotated, Any, NamedTuple, NewType, NotRequired, Required, Union, get_args, get_origin

from makegood.authoring.action import Action
from makegood.authoring.hints import shown
from makegood.authoring.shapes import fields_of
from makegood.core.document import Document, step_nodes
from makegood.core.secrets import EVERY, Path, traced
from makegood.errors import PlanError
from makegood.payload import is_mark, is_root_model

Secrets = dict[str, tuple[Path, ...]]


def secrets_of(
    document: Document, actions: Iterable[Action], *, input_type: Any, output_type: Any
) -> Secrets:
    """The secrets of a plan's input and results, by the types of what its steps are given and bring.

    What a step takes as a secret is one where it comes from. Raises PlanError for one in the plan itself.
    """
    by_name = {action.full_name: action for action in actions}
    found: dict[str, set[Path]] = defaultdict(set)
    found["input"] |= secret_paths(input_type)
    for node in step_nodes(document.body):
        action = by_name.get(f"{node.agent}/{node.action}")
        if action is None:
            continue
        found[node.step] |= secret_paths(action.result_type)
        for name, template in node.args.items():
            hint = action.parameter_types.get(name, Any)
            _trace(found, template, hint, f"plan {document.plan}: step {node.step}: {name}")
    _trace(found, document.output, output_type, f"plan {document.plan}: its output")
    return {name: _in_order(paths) for name, paths in found.items() if paths}


def _trace(found: dict[str, set[Path]], template: Any, hint: Any, where: str) -> None:
    for secret in secret_paths(hint):
        for name, path in traced(template, secret):
            if not name:
                raise PlanError(
                    f"{where} is a secret by its type ({shown(hint)}), and would stand in the plan for all "
                    "to see; give it in the task's input"
                )
            found[name].add(path)


def _in_order(paths: set[Path]) -> tuple[Path, ...]:
    return tuple(sorted(paths, key=lambda path: [str(part) for part in path]))


def secret_paths(hint: Any) -> set[Path]:
    """The paths of what a type marks as secret. Of a type that holds itself, all of what it holds again."""
    return set(_paths(hint, ()))


class Again(NamedTuple):
    """Ends a path that leads into the class at this depth once more."""

    depth: int


def _paths(hint: Any, within: tuple[Any, ...]) -> Iterator[Any]:
    origin = get_origin(hint)
    if any(map(is_mark, getattr(hint, "__metadata__", ()))):
        yield ()
    elif isinstance(hint, NewType):
        yield from _paths(hint.__supertype__, within)
    elif origin in _TRANSPARENT:
        yield from _paths(get_args(hint)[0], within)
    elif origin in (Union, UnionType):
        for member in get_args(hint):
            yield from _paths(member, within)
    elif _has_secret_keys(hint, within):
        yield ()  # a view cannot show half of it
    elif hint in within:
        yield (Again(within.index(hint)),)
    elif is_root_model(hint):
        info = hint.model_fields["root"]
        yield from _paths(Annotated[info.annotation, None, *info.metadata], (*within, hint))
    else:
        yield from _of_class(hint, (*within, hint))


def _has_secret_keys(hint: Any, within: tuple[Any, ...]) -> bool:
    cls = get_origin(hint)
    is_mapping = isinstance(cls, type) and issubclass(cls, Mapping)
    return is_mapping and any(True for _ in _paths(get_args(hint)[0], within))


_TRANSPARENT = (Annotated, Required, NotRequired)


def _of_class(hint: Any, within: tuple[Any, ...]) -> Iterator[Any]:
    """The secrets of the parts; where there are any, what is the class again is secret as a whole."""
    paths = {(key, *path) for key, part in _parts(hint) for path in _paths(part, within)}
    again = {path for path in paths if path[-1] == Again(len(within) - 1)}
    yield from paths - again
    if any(not isinstance(path[-1], Again) for path in paths):
        yield from (path[:-1] for path in again)


def _parts(hint: Any) -> Iterator[tuple[str | int, Any]]:
    """The parts of a type by their keys in JSON."""
    fields = fields_of(hint)
    cls, arguments = get_origin(hint), get_args(hint)
    if fields is not None:
        yield from ((part.key, part.hint) for part in fields.values())
    elif isinstance(cls, type) and issubclass(cls, tuple) and Ellipsis not in arguments:
        yield from enumerate(arguments)
    elif isinstance(cls, type) and issubclass(cls, Mapping | Sequence | Set) and arguments:
        for argument in arguments[:2]:
            yield EVERY, argument
