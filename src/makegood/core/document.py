"""The plan document: the plan as data, public, pinned in every task that runs it.

A document is read strictly: an unknown key or kind is refused with its path. All defaults are filled in
before it is hashed, so that a later change of a default never changes a running task.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from makegood.core.doubled import doubled_key
from makegood.core.secrets import Path
from makegood.errors import PlanError

DOCUMENT_MAX = 1024 * 1024
"""The most bytes a plan document may take, as it is given and as it is stored."""
STEPS_MAX = 1_000
NESTING_MAX = 64
"""How deep groups may lie in groups, and values in a template."""
VALUES_NESTED_MAX = 200
"""How deep values may lie in values, in a "$lit" and in the input's schema; as deep as in a payload."""
PLAN_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,99}")
STEP_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,59}")
NAME_IS = "is of letters (A to Z, a to z), digits and _, begins with a letter, and has at most"
"""What is said of names; then comes how many characters."""
RESERVED_NAMES = frozenset({"undo", "input"})

Template = Any
"""JSON in which {"$ref": step or "input", "path": [...]} stands for a recorded value, {"$lit": x} for x."""


class ServiceClass(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the service promises about keys. `keyed` may be how many seconds it remembers a key."""

    keyed: bool | float = False
    tombstone: bool = False


HASH_MIN = 16
"""Characters that a cut key has at least beside its prefix: most of a hash, and what stands before it."""


class KeyForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """How this service wants its keys: a prefix, a length it can store, or the form of a UUID."""

    prefix: str = ""
    max_length: int = 255
    uuid: bool = False


class Retry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Forward attempts: how many, and the seconds between them (delay, times factor, at most cap)."""

    attempts: int = 5
    delay: float = 1.0
    factor: float = 2.0
    cap: float = 60.0


class UndoRetry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Undo attempts: seconds between them, and `within` how many seconds before a person is asked."""

    delay: float = 1.0
    factor: float = 2.0
    cap: float = 600.0
    within: float = 86_400.0


class StepNode(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=False, rename="camel"):
    """One step as written in the document; seconds throughout."""

    step: str
    agent: str
    action: str
    args: dict[str, Template] = {}
    undo: str | None | msgspec.UnsetType = msgspec.UNSET
    reads: bool = False
    pivot: bool = False
    probe: str | None = None
    timeout: float = 30.0
    settle: float = 10.0
    class_: ServiceClass = msgspec.field(default=ServiceClass(), name="class")
    key: KeyForm = KeyForm()
    retry: Retry = Retry()
    undo_retry: UndoRetry = UndoRetry()
    asks: int = 10
    deadline: float | None = None


class SeriesNode(msgspec.Struct, frozen=True):
    """Parts that run one after the other."""

    series: tuple["Node", ...]


class ParallelNode(msgspec.Struct, frozen=True):
    """Branches that run at the same time."""

    parallel: tuple["Node", ...]


Node = StepNode | SeriesNode | ParallelNode


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """A whole plan document, checked. `version` is the SHA-256 of its canonical JSON."""

    plan: str
    body: Node
    input: dict[str, Any] = {}
    output: Template = None
    format: int = 1
    secrets: dict[str, tuple[Path, ...]] = {}
    """What nobody shall see of the input and of the results, by the name that a reference has for it."""

    def canonical(self) -> bytes:
        """The JSON that is hashed and stored: every default filled in, keys sorted."""
        fields = {
            "format": self.format,
            "plan": self.plan,
            "input": self.input,
            "body": _plain(self.body),
            "output": self.output,
        }
        # A plan without secrets is the plan that it was before there were any.
        return msgspec.json.encode(
            fields | ({"secrets": self.secrets} if self.secrets else {}), order="sorted"
        )

    @property
    def version(self) -> str:
        return hashlib.sha256(self.canonical()).hexdigest()


def read_document(source: bytes | str | Mapping[str, Any]) -> Document:
    """Read and check a plan document; raises PlanError naming the place and the way out."""
    raw = _decoded(source)
    if not isinstance(raw, dict):
        raise PlanError("plan document: expected an object with 'plan' and 'body'")
    _only_keys(raw, {"format", "plan", "input", "body", "output", "secrets"}, "plan document")
    if raw.get("format", 1) != 1:
        raise PlanError(
            f"plan document: format {raw['format']!r} is not known here; this version reads format 1"
        )
    if not isinstance(raw.get("plan"), str):
        raise PlanError("plan document: 'plan' must be the plan's name")
    if not isinstance(raw.get("input", {}), dict):
        raise PlanError("plan document: 'input' must be a JSON Schema object")
    _check_json(raw.get("input", {}), "plan document: 'input'")
    if "body" not in raw:
        raise PlanError("plan document: 'body' is missing; give it {\"series\": [...]}")
    document = Document(
        plan=raw["plan"],
        body=_read_node(raw["body"], "body"),
        input=raw.get("input", {}),
        output=raw.get("output"),
        secrets=_read_secrets(raw.get("secrets", {})),
    )
    check_document(document)
    return document


def step_nodes(node: Node) -> Iterator[StepNode]:
    """The steps below a node, in written order."""
    match node:
        case StepNode():
            yield node
        case SeriesNode(series=parts) | ParallelNode(parallel=parts):
            for part in parts:
                yield from step_nodes(part)


def references(template: Template) -> Iterator[tuple[str, tuple[str | int, ...]]]:
    """Every (step or "input", path) a template refers to."""
    if isinstance(template, dict):
        if "$ref" in template:
            yield template["$ref"], tuple(template.get("path", ()))
        elif "$lit" not in template:
            for value in template.values():
                yield from references(value)
    elif isinstance(template, list | tuple):
        for value in template:
            yield from references(value)


def _plain(node: Node) -> Any:
    match node:
        case StepNode():
            return msgspec.to_builtins(node)
        case SeriesNode():
            return {"series": [_plain(part) for part in node.series]}
        case ParallelNode():
            return {"parallel": [_plain(part) for part in node.parallel]}


def _decoded(source: bytes | str | Mapping[str, Any]) -> Any:
    try:
        if not isinstance(source, bytes | str):
            return dict(source)
        _check_size(len(source), "plan document")
        raw = msgspec.json.decode(source)
        doubled = doubled_key(source)
    except (TypeError, ValueError, RecursionError) as error:
        raise PlanError(f"plan document: not JSON: {error}") from None
    if doubled:
        raise PlanError(f"plan document: {doubled}")
    return raw


def _only_keys(raw: Mapping[str, Any], known: set[str], where: str) -> None:
    unknown = sorted(set(raw) - known, key=str)
    if unknown:
        raise PlanError(f"{where}: unknown key {unknown[0]!r}; known here: {', '.join(sorted(known))}")


def _read_secrets(raw: Any) -> dict[str, tuple[Path, ...]]:
    try:
        return msgspec.convert(raw, dict[str, tuple[Path, ...]])
    except msgspec.ValidationError as error:
        raise PlanError(
            f"plan document: 'secrets': {error}; write "
            '{"input": [["cards", "*", "number"]]}, where "*" is every item'
        ) from None


def _read_node(raw: Any, where: str, depth: int = 0) -> Node:
    _check_depth(depth, "plan document")
    if not isinstance(raw, dict):
        raise PlanError(f'{where}: expected a step, {{"series": [...]}} or {{"parallel": [...]}}')
    if "step" in raw:
        try:
            return msgspec.convert(raw, StepNode)
        except msgspec.ValidationError as error:
            raise PlanError(f"{where}: {error}{_known_keys(error)}") from None
    for kind, build in (("series", SeriesNode), ("parallel", ParallelNode)):
        if kind in raw:
            _only_keys(raw, {kind}, where)
            parts = raw[kind]
            if not isinstance(parts, list) or not parts:
                raise PlanError(f"{where}.{kind}: expected a list with at least one part")
            places = ((part, f"{where}.{kind}[{n}]") for n, part in enumerate(parts))
            return build(tuple(_read_node(part, place, depth + 1) for part, place in places))
    keys = ", ".join(map(repr, sorted(raw, key=str))) or "no key"
    raise PlanError(f"{where}: it has {keys}, and none of 'step' (a step's name), 'series', 'parallel'")


_PARTS: dict[str, type[msgspec.Struct]] = {
    "": StepNode,
    "retry": Retry,
    "undoRetry": UndoRetry,
    "class": ServiceClass,
    "key": KeyForm,
}


def _known_keys(error: msgspec.ValidationError) -> str:
    """The way out where a step, or a part of one, has a key that is not known."""
    said, _, place = str(error).partition(" - at ")
    part = _PARTS.get(place.strip("`").removeprefix("$."))
    if part is None or "unknown field" not in said:
        return ""
    return f"; known here: {', '.join(sorted(part.__struct_encode_fields__))}"


# --- checks: what a plan must hold before a task may run it


def check_document(document: Document) -> None:
    """Refuse a plan that could strand a half-state or that no task could run; raises PlanError."""
    if not PLAN_NAME.fullmatch(document.plan):
        raise PlanError(f"plan {document.plan!r}: a plan's name {NAME_IS} 100")
    steps = list(step_nodes(document.body))
    if len(steps) > STEPS_MAX:
        raise PlanError(f"plan {document.plan}: {len(steps)} steps; a plan has at most {STEPS_MAX}")
    seen: set[str] = set()
    for step in steps:
        _check_step(document.plan, step, seen)
        seen.add(step.step)
    for step in steps:
        for name, _ in references(step.args):
            if name != "input" and name not in seen:
                where = f"plan {document.plan}: step {step.step!r}"
                raise PlanError(f"{where} refers to {name!r}, which is no step of the plan")
    _check_pivot(document, steps)
    _check_references(document.plan, document.body, frozenset())
    check_template(document.output, f"plan {document.plan}: output")
    for name, _ in references(document.output):
        if name != "input" and name not in seen:
            raise PlanError(f"plan {document.plan}: output refers to {name!r}, which is no step of the plan")
    for name in document.secrets:
        if name != "input" and name not in seen:
            raise PlanError(f"plan {document.plan}: secrets of {name!r}, which is no step of the plan")
    try:
        stored = document.canonical()
    except (TypeError, ValueError, RecursionError) as error:  # what came from Python may hold anything
        raise PlanError(f"plan document: not JSON: {error}") from None
    _check_size(len(stored), f"plan {document.plan}")


def _check_size(size: int, where: str) -> None:
    if size > DOCUMENT_MAX:
        raise PlanError(
            f"{where}: the document has {size:,} bytes; it may have {DOCUMENT_MAX:,}: give large values in "
            "the task's input, or make several plans of it"
        )


def _check_step(plan: str, step: StepNode, seen: set[str]) -> None:
    where = f"plan {plan}: step {step.step!r}"
    if not STEP_NAME.fullmatch(step.step):
        raise PlanError(f"{where}: a step's name {NAME_IS} 60")
    for name in ("agent", "action", "undo", "probe"):
        if getattr(step, name) == "":
            raise PlanError(f"{where}: {name} is empty; name it, or leave it out")
    if step.step in RESERVED_NAMES:
        raise PlanError(f"{where}: the name is reserved; choose another with step.options(name=...)")
    if step.step in seen:
        raise PlanError(f"{where} is used twice; name one of them with step.options(name=...)")
    for name, template in step.args.items():
        check_template(template, f"{where}: argument {name!r}")
    check_declaration(where, step)


def check_declaration(where: str, step: StepNode) -> None:
    """Refuse a step for which, wherever it stands, no promise could be kept; raises PlanError."""
    declared = [step.undo is not msgspec.UNSET, step.reads, step.pivot]
    if sum(declared) != 1:
        raise PlanError(
            f"{where} could strand a half-state: it must declare exactly one of undo (a name, or null for an "
            "effect that needs no undo), reads (no effect) or pivot (no way back)"
        )
    _check_numbers(where, step)
    if step.class_.tombstone and not step.class_.keyed:
        raise PlanError(f"{where}: tombstone=True needs keyed=True: a tombstone is left for a key")


def _check_numbers(where: str, step: StepNode) -> None:
    positive = {"timeout": step.timeout, "retry.factor": step.retry.factor, "retry.cap": step.retry.cap}
    positive |= {"undoRetry.within": step.undo_retry.within, "undoRetry.cap": step.undo_retry.cap}
    positive |= {
        "undoRetry.factor": step.undo_retry.factor,
        "retry.attempts": step.retry.attempts,
        "asks": step.asks,
    }
    if step.deadline is not None:
        positive["deadline"] = step.deadline
    if not isinstance(step.class_.keyed, bool):
        positive["class.keyed"] = step.class_.keyed
    for name, value in positive.items():
        if not 0 < value < 1e9:
            raise PlanError(f"{where}: {name} must be above 0 and below 1e9, not {value}")
    for name, value in {
        "settle": step.settle,
        "retry.delay": step.retry.delay,
        "undoRetry.delay": step.undo_retry.delay,
    }.items():
        if not 0 <= value < 1e9:
            raise PlanError(f"{where}: {name} must be 0 or more and below 1e9, not {value}")
    if step.key.max_length < HASH_MIN:
        raise PlanError(f"{where}: key.maxLength must be {HASH_MIN} or more, or two keys could be one")


def _check_pivot(document: Document, steps: list[StepNode]) -> None:
    pivots = [step for step in steps if step.pivot]
    if len(pivots) > 1:
        raise PlanError(
            f"plan {document.plan}: step {pivots[1].step!r} is a second pivot; a plan has at most one"
        )
    top = document.body.series if isinstance(document.body, SeriesNode) else (document.body,)
    if pivots and pivots[0] not in top:
        raise PlanError(
            f"plan {document.plan}: pivot {pivots[0].step!r} must stand alone at top level, in no group"
        )


def _check_references(plan: str, node: Node, known: frozenset[str], depth: int = 0) -> frozenset[str]:
    """Check that steps refer only to what has certainly ended before them; returns what is known after."""
    _check_depth(depth, f"plan {plan}")
    match node:
        case StepNode():
            where = f"plan {plan}: step {node.step!r}"
            for name, _ in references(node.args):
                if name != "input" and name not in known:
                    raise PlanError(
                        f"{where} refers to the result of {name!r}, which has not ended before it; "
                        "a step may use the input and steps that stand before it, not a sibling branch"
                    )
            return known | {node.step}
        case SeriesNode():
            for part in node.series:
                known = _check_references(plan, part, known, depth + 1)
            return known
        case ParallelNode():
            ended = (_check_references(plan, branch, known, depth + 1) for branch in node.parallel)
            return frozenset().union(*ended)


def check_template(template: Template, where: str, depth: int = 0) -> None:
    """Refuse what is no template; raises PlanError."""
    _check_depth(depth, where)
    if isinstance(template, dict) and any(isinstance(key, str) and key[:1] == "$" for key in template):
        _check_marked(template, where)
    elif isinstance(template, dict):
        for key, value in template.items():
            if not isinstance(key, str):
                raise PlanError(f"{where}: the key {key!r} is no string; JSON has no other keys")
            check_template(value, where, depth + 1)
    elif isinstance(template, list | tuple):
        for value in template:
            check_template(value, where, depth + 1)
    else:
        _check_json(template, where)


def _check_depth(depth: int, where: str) -> None:
    if depth > NESTING_MAX:
        raise PlanError(f"{where}: nested more than {NESTING_MAX} deep; make it flatter")


def _check_marked(template: dict[str, Any], where: str) -> None:
    if set(template) == {"$lit"}:
        return _check_json(template["$lit"], where)
    path = template.get("path", ())
    parts_known = isinstance(path, list | tuple) and all(type(part) in (str, int) for part in path)
    if not set(template) <= {"$ref", "path"} or not isinstance(template.get("$ref"), str) or not parts_known:
        raise PlanError(
            f'{where}: a reference is {{"$ref": "step or input", "path": ["name", 0]}}; '
            'a plain object with a key that begins with "$" is written {"$lit": {...}}'
        )
    return None


def _check_json(value: Any, where: str) -> None:
    """Refuse what JSON cannot hold exactly, and what is nested so deep that it could not be read again."""
    _check_nesting(value, where)
    try:
        same = msgspec.json.decode(msgspec.json.encode(value)) == value
    except (TypeError, ValueError, RecursionError) as error:
        raise PlanError(f"{where}: not JSON: {error}") from None
    if not same:
        raise PlanError(f"{where}: JSON cannot hold {value!r:.80} exactly; write it as a string or a list")


def _check_nesting(value: Any, where: str) -> None:
    """Refuse values nested more than VALUES_NESTED_MAX deep; raises PlanError."""
    level, depth = [value], 0
    while level := [part for each in level if isinstance(each, dict | list | tuple) for part in _parts(each)]:
        depth += 1
        if depth > VALUES_NESTED_MAX:
            raise PlanError(f"{where}: nested more than {VALUES_NESTED_MAX} deep; make it flatter")


def _parts(value: dict[Any, Any] | list[Any] | tuple[Any, ...]) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value
