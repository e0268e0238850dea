"""What of a plan's values nobody shall see, by the types that mark it."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, get_args, get_origin

from makegood.authoring.action import Action
from makegood.authoring.hints import shown
from makegood.core.document import Document, step_nodes
from makegood.core.secrets import EVERY, Path, traced
from makegood.errors import PlanError
from makegood.payload import alternatives, fields_of, further_fields, is_marked, mentions_mark

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
    return set(_paths(hint, ())) if mentions_mark(hint) else set()


class Again(NamedTuple):
    """Ends a path that leads into the class at this depth once more."""

    depth: int


def _paths(hint: Any, within: tuple[Any, ...]) -> Iterator[Any]:
    if is_marked(hint) or _has_secret_keys(hint, within):
        yield ()  # of keys a view cannot show half
    elif others := alternatives(hint):
        for other in others:
            yield from _paths(other, within)
    elif hint in within:
        yield (Again(within.index(hint)),)
    else:
        yield from _of_class(hint, (*within, hint))


def _has_secret_keys(hint: Any, within: tuple[Any, ...]) -> bool:
    cls = get_origin(hint)
    is_mapping = isinstance(cls, type) and issubclass(cls, Mapping)
    return is_mapping and any(True for _ in _paths(get_args(hint)[0], within))


def _of_class(hint: Any, within: tuple[Any, ...]) -> Iterator[Any]:
    """The secrets of the parts; where there are any, what is the class again is secret as a whole."""
    paths = {(key, *path) for key, part in _parts(hint) for path in _paths(part, within)}
    if not paths and mentions_mark(hint):
        raise PlanError(
            f"{shown(hint)} marks a secret, and where in its JSON that is cannot be told, so that it would "
            f"be seen; mark all of it: Annotated[{shown(hint)}, Secret]"
        )
    again = {path for path in paths if path[-1] == Again(len(within) - 1)}
    yield from paths - again
    if any(not isinstance(path[-1], Again) for path in paths):
        yield from (path[:-1] for path in again)


def _parts(hint: Any) -> Iterator[tuple[str | int, Any]]:
    """The parts of a type by their keys in JSON."""
    cls, arguments = get_origin(hint), get_args(hint)
    fields = fields_of(hint)
    if fields is not None:
        yield from ((part.key, part.hint) for part in fields.values())
        # What may have any key cannot be told from the fields, which are then hidden as well.
        yield from ((EVERY, part) for part in get_args(further_fields(hint))[1:])
    elif isinstance(cls, type) and issubclass(cls, tuple) and Ellipsis not in arguments:
        yield from enumerate(arguments)
    elif isinstance(cls, type) and issubclass(cls, Iterable):
        yield from ((EVERY, argument) for argument in arguments[:2])
