"""Finding what a user wrote from the command line: `app.py`, `package.module`, `app.py:plans`."""

import hashlib
import importlib
import importlib.util
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from io import StringIO
from itertools import groupby
from pathlib import Path
from reprlib import repr as shown
from types import ModuleType
from typing import Any, TypeVar

from makegood.authoring.agent import Agent
from makegood.authoring.places import imported_by, place, users_frames
from makegood.authoring.plans import PlanDefinition
from makegood.errors import PlanError

FRAMES_MAX, SAID_MAX = 20, 2_000
"""Lines of the user's files, and characters of what an error says, in a PlanError."""

AnyPlan = PlanDefinition[Any, Any]
Thing = TypeVar("Thing", bound=Agent | AnyPlan)


@dataclass(frozen=True)
class App:
    """The agents and plans found in one place, by name."""

    agents: dict[str, Agent] = field(default_factory=dict)
    plans: dict[str, AnyPlan] = field(default_factory=dict)


def load_app(spec: str) -> App:
    """Every Agent and plan at the top level of `module` or `path.py`, or in `module:attr` (one, or a list).

    Imports the module. Raises PlanError, with lines of the user's own files, if it cannot be imported, holds
    neither agent nor plan, or two different ones of one name.
    """
    source, _, attribute = spec.partition(":")
    module = load_module(source)
    app = App()
    for thing in _things(module, source, attribute):
        if isinstance(thing, Agent):
            add_new(app.agents, thing, spec)
        elif isinstance(thing, PlanDefinition):
            add_new(app.plans, thing, spec)
    if not app.agents and not app.plans:
        raise PlanError(f"{spec}: no agent and no plan is found there; {_where_to_put_them(attribute)}")
    for agent in app.agents.values():
        for action in agent.actions.values():
            action.check_types()
    return app


def load_plan(spec: str) -> AnyPlan:
    """The plan that `app.py:book` names: the module's attribute, or else what has this name.

    Raises PlanError as load_app does.
    """
    source, colon, name = spec.rpartition(":")
    if not colon or not source:
        raise PlanError(f"{spec}: which plan? Write APP:PLAN, as in app.py:book")
    plans = load_app(source).plans
    found = _plan_called(name, plans if ":" in source else vars(load_module(source)))
    if found is None:
        raise PlanError(f"{source} has no plan {name!r}; its plans: {', '.join(plans) or 'none'}")
    return found


def add_new(known: dict[str, Thing], thing: Thing, spec: str) -> None:
    """Take up an agent or a plan that was found by this spec; raises PlanError where another has its name."""
    other = known.setdefault(thing.name, thing)
    if other is not thing:
        kind = "agents" if isinstance(thing, Agent) else "plans"
        raise PlanError(
            f"{spec}: two different {kind} are called {thing.name!r}, at {other.place} and {thing.place}; "
            "give one another name"
        )


def _things(module: ModuleType, source: str, attribute: str) -> Iterable[Any]:
    if not attribute:
        return list(vars(module).values())
    try:
        thing = getattr(module, attribute, None)
    except Exception as error:  # a module may have a __getattr__ of its own
        raise PlanError("\n  ".join(_reasons(f"{source}:{attribute}", error))) from None
    names = [name for name, thing in vars(module).items() if isinstance(thing, Agent | PlanDefinition)]
    known = f"agents and plans in it: {', '.join(names) or 'none'}"
    if not isinstance(thing, Agent | PlanDefinition | list | tuple | set):
        thing = _plan_called(attribute, vars(module)) or thing
    if thing is None:
        raise PlanError(f"{source} has no {attribute!r}; {known}")
    things = list(thing) if isinstance(thing, list | tuple | set) else [thing]
    for one in things:
        if not isinstance(one, Agent | PlanDefinition):
            raise PlanError(f"{source}:{attribute}: {shown(one)} is no agent and no plan; {known}")
    return things


def _plan_called(name: str, things: Mapping[str, Any]) -> AnyPlan | None:
    """The plan that stands under this name, or else has it; None where there is none."""
    plans = {key: thing for key, thing in things.items() if isinstance(thing, PlanDefinition)}
    return plans.get(name) or next((plan for plan in plans.values() if plan.name == name), None)


def _where_to_put_them(attribute: str) -> str:
    return (
        "put one into the list" if attribute else "define them at the top level, or name one: APP:attribute"
    )


# --- importing the module


def load_module(source: str) -> ModuleType:
    """Import what `module` or `path.py` names; raises PlanError with lines of the user's files.

    What it prints while it is imported is talk, and goes to stderr.
    """
    _check_source(source)
    is_file = source.endswith(".py")
    path = Path(source).resolve()
    # As when Python runs a file, or a module with -m: what lies beside it can be imported.
    _find_first(path.parent if is_file else Path.cwd())
    try:
        with redirect_stdout(sys.stderr or StringIO()):  # None in a process that was started without it
            return _module_of_file(path) if is_file else importlib.import_module(source)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise PlanError("\n  ".join(_reasons(source, error))) from None


def _check_source(source: str) -> None:
    """Refuse what can be neither a module nor a Python file; raises PlanError."""
    if source.endswith(".py"):
        if os.path.isdir(source):
            raise PlanError(f"{source}: this is a folder; name a file in it")
        if not os.path.isfile(source):  # False also for what can be no file's name
            raise PlanError(f"{source}: there is no such file; run this where it lies, or name its path")
    elif "." in source and os.path.isfile(source):
        raise PlanError(f"{source}: the name of a Python file ends in .py; name one, or a module")
    elif not all(part.isidentifier() for part in source.split(".")):
        raise PlanError(f"{source!r} is neither a module's name nor a path that ends in .py")


def _find_first(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def _module_of_file(path: Path) -> ModuleType:
    known = sys.modules.get(path.stem)
    if known is not None and getattr(known, "__file__", None) == str(path):
        return known
    name = path.stem if known is None and path.stem.isidentifier() else _private_name(path)
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None, "a file whose name ends in .py has a loader"
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _private_name(path: Path) -> str:
    """A module name for a file whose own name is taken, or is none."""
    return f"makegood_app_{hashlib.sha256(str(path).encode()).hexdigest()[:12]}"


def _reasons(source: str, error: BaseException) -> Iterator[str]:
    """What went wrong, and then the lines of the user's files that led there, outermost first."""
    frames = users_frames(error.__traceback__)
    if isinstance(error, ModuleNotFoundError) and not frames and error.name is not None:
        yield f"{source}: there is no module {error.name!r}; {_where_it_may_be(source, error.name)}"
    elif isinstance(error, SystemExit):
        said = f" ({error.code})" if isinstance(error.code, str) else ""
        yield f'{source} ends the program when imported{said}; put that below `if __name__ == "__main__":`'
    elif isinstance(error, SyntaxError) and error.filename is not None:
        yield f"{source} cannot be imported: {type(error).__name__}: {error.msg}"
        yield place(error.filename, error.lineno or 1)
    elif isinstance(error, PlanError):
        yield str(error)
    else:
        yield f"{source} cannot be imported: {type(error).__name__}: {_said(error)}{_hint(error)}"
    yield from _few(frames)


def _where_it_may_be(source: str, missing: str) -> str:
    """The way out where a module is missing: what is meant may be in the one that its name begins with."""
    name, _, attribute = source.rpartition(".")
    module = sys.modules.get(name)
    if module and missing == source and (hasattr(module, attribute) or not hasattr(module, "__path__")):
        return f"what the module {name} holds is named {name}:{attribute}"
    return "run this where it lies, or install it"


def _said(error: BaseException) -> str:
    """What an error says, in one line, at most SAID_MAX characters; some cannot even say what they are."""
    try:
        return " ".join(str(error).split())[:SAID_MAX]
    except Exception:
        return "(it cannot say what)"


def _hint(error: BaseException) -> str:
    """The way out of errors that say little of it."""
    if isinstance(error, NameError | AttributeError):
        return _meant(error)
    if not isinstance(error, ImportError):
        return ""
    if error.path is not None and error.path in imported_by(error.__traceback__):
        return "; the two import each other: move what both need into a third"
    if "relative import" in str(error):
        return "; name a file of a package as a module: package.module"
    return ""


def _meant(error: BaseException) -> str:
    """The name that Python takes to be meant: only what it displays of an error tells."""
    with redirect_stderr(StringIO()) as displayed:
        sys.__excepthook__(type(error), error, error.__traceback__)
    *_, last = displayed.getvalue().splitlines()
    _, sign, name = last.rpartition(". Did you mean: ")
    return f"; did you mean {name}" if sign else ""


def _few(frames: Sequence[str]) -> Sequence[str]:
    """What stands several times in a row once; of more than FRAMES_MAX the outermost and the innermost."""
    counted = [(frame, len(list(same))) for frame, same in groupby(frames)]
    said = [frame if times == 1 else f"{frame}, {times} times" for frame, times in counted]
    half = FRAMES_MAX // 2
    return said if len(said) <= FRAMES_MAX else [*said[:half], "...", *said[-half:]]
