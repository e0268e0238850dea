"""What the log says of calls that did not go as they should, with the secrets of the call hidden."""

import logging
import traceback

from makegood.agents.work import Work
from makegood.authoring.action import Function
from makegood.authoring.places import from_users_code
from makegood.core.events import Event, Reply, Reported
from makegood.errors import CallOutcome, in_words, plain

log = logging.getLogger("makegood.agents")

CLIENTS = frozenset(
    ("aiohttp", "botocore", "http", "httpx", "psycopg", "requests", "ssl", "urllib", "urllib3")
)
"""Libraries whose exceptions are news of a service, not faults in the user's code."""


def say_raised(work: Work, error: BaseException) -> None:
    """Say what the user's code raised; with its traceback where it looks like a fault, or at level DEBUG."""
    expected = isinstance(error, CallOutcome | OSError) or _library(error) in CLIENTS
    level = logging.INFO if expected else logging.WARNING
    if not log.isEnabledFor(level):
        return
    own = type(error), error, from_users_code(error.__traceback__)
    traced = not expected or log.isEnabledFor(logging.DEBUG)
    said = plain(work.hides(in_words(error, at_most=None)).partition("\n")[0])
    if traced and work.holds_secrets:  # a traceback ends with what the error says
        said += "\n" + work.hides("".join(traceback.format_exception(*own)))
        traced = False
    log.log(level, "%s: it raised %s", work.name, said, exc_info=own if traced else None, extra=work.labels)


def _library(error: BaseException) -> str:
    return type(error).__module__.partition(".")[0]


class Keyless:
    """The functions that are declared keyed and have made a call without its key."""

    def __init__(self) -> None:
        self._known: set[Function] = set()

    def look(self, work: Work, fact: Event) -> None:
        """Warn where a call was done so, the first time of each function. What only reads needs no key."""
        keyless = isinstance(fact, Reported) and fact.reply is Reply.DONE and not fact.key_read
        if not keyless or work.step.reads or work.function in self._known:
            return
        self._known.add(work.function)
        log.warning(
            "%s: %s is declared keyed, but asked for neither call().key nor call().headers; a call of it in "
            "doubt is not repeated",
            work.name,
            work.function.name,
            extra=work.labels,
        )
