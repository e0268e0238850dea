"""An action may be called wherever you like, but in a plan, which only records its steps."""

import inspect
from collections.abc import Callable
from contextvars import ContextVar
from functools import wraps
from typing import TYPE_CHECKING, Any

from makegood.authoring.places import here
from makegood.errors import PlanError

if TYPE_CHECKING:
    from makegood.authoring.tracing import Recording

recorded_now: ContextVar["Recording | None"] = ContextVar("makegood_recording", default=None)
"""What the function of a plan is recorded into while it runs."""


def guarded(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, but called in a plan it raises PlanError before anything of it runs."""

    @wraps(fn)
    def called(*args: Any, **kwargs: Any) -> Any:
        current = recorded_now.get()
        if current is not None:
            raise PlanError(
                f"{here()}: plan {current.plan} calls {fn.__name__}(...), which would run it here and now "
                f"and makes no step; write step({fn.__name__}, ...)"
            )
        return fn(*args, **kwargs)

    if inspect.iscoroutinefunction(fn):
        _mark_as_coroutine_function(called)
    return called


def _mark_as_coroutine_function(function: Any) -> None:
    """Whoever asks `inspect` is told the truth: a call of it gives a coroutine."""
    code = function.__code__
    function.__code__ = code.replace(co_flags=code.co_flags | inspect.CO_COROUTINE)
