"""What the exceptions of well-known libraries mean, by name: nobody pays for a library that is not used.

A rule holds for its class and for all that derives from it and has no rule of its own.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from makegood.agents.databases import of_psycopg, of_sqlite
from makegood.agents.earlier import aiohttp_hides_it, requested_before
from makegood.agents.statuses import REFUSED, TRANSIENT, UNKNOWN, Verdict, of_status

Judge = Callable[[Any, bool], Verdict]
"""Given the exception, and whether its service honours keys."""


class Rule(NamedTuple):
    """How an exception is judged, and the same in words."""

    words: str
    judge: Judge


def verdict_of(error: BaseException, keyed: bool) -> Verdict:
    """Unknown unless a rule says otherwise; whatever follows an earlier request is unknown as well."""
    rule = _rule_of(error)
    if rule is None:
        return UNKNOWN
    try:
        return UNKNOWN if requested_before(error) else rule.judge(error, keyed)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        return UNKNOWN  # not as its library makes them


def _rule_of(error: BaseException) -> Rule | None:
    names = (f"{str(kind.__module__).partition('.')[0]}.{kind.__name__}" for kind in type(error).__mro__)
    return next((RULES[name] for name in names if name in RULES), None)


# --- kinds of rules


def _always(verdict: Verdict, words: str) -> Rule:
    return Rule(words, lambda error, keyed: verdict)


def _wrapped(cause: Callable[[Any], object]) -> Rule:
    """Judge by the exception that this one wraps, where there is one."""

    def judge(error: Any, keyed: bool) -> Verdict:
        inner = cause(error)
        return verdict_of(inner, keyed) if isinstance(inner, BaseException) else UNKNOWN

    return Rule("what it wraps", judge)


def _answer(answer: Callable[[Any], tuple[int, Mapping[str, str] | None, object]]) -> Rule:
    """Judge by status and headers; unknown where requests before this answer may have had an effect."""

    def judge(error: Any, keyed: bool) -> Verdict:
        status, headers, earlier = answer(error)
        return UNKNOWN if earlier else of_status(status, headers or {}, keyed=keyed)

    return Rule("its status", judge)


NOT_SENT = _always(TRANSIENT, "nothing was sent")
INVALID = _always(REFUSED, "it cannot be sent")


# --- the libraries


def _of_requests(error: Any) -> tuple[int, Mapping[str, str], object]:
    answer = error.response
    retries = getattr(answer.raw, "retries", None)
    return answer.status_code, answer.headers, answer.history or getattr(retries, "history", ())


THROTTLED = frozenset(
    ("BandwidthLimitExceeded", "EC2ThrottledException", "LimitExceededException", "PriorRequestNotComplete")
    + ("ProvisionedThroughputExceededException", "RequestLimitExceeded", "RequestThrottled")
    + ("RequestThrottledException", "SlowDown", "Throttling", "ThrottledException", "ThrottlingException")
    + ("TooManyRequestsException", "TransactionConflictException")
)
"""What services of AWS call "not now", whatever the status."""
UNDER_WAY = frozenset(("RequestTimeout", "RequestTimeoutException", "TransactionInProgressException"))
"""Codes that come with a status of 400 and yet are no refusal."""


def _of_client_error(error: Any, keyed: bool) -> Verdict:
    """Whatever answers a second request of botocore's own may be an answer to what the first one did."""
    said = error.response["ResponseMetadata"]
    code = error.response["Error"]["Code"]
    if said.get("RetryAttempts", 0) or code in UNDER_WAY:
        return UNKNOWN
    by_status = of_status(said["HTTPStatusCode"], said.get("HTTPHeaders", {}), keyed=keyed)
    return Verdict(TRANSIENT.reply, by_status.retry_after) if code in THROTTLED else by_status


RULES: dict[str, Rule] = {
    "builtins.ConnectionRefusedError": NOT_SENT,
    "socket.gaierror": NOT_SENT,
    "ssl.SSLCertVerificationError": NOT_SENT,
    "urllib.URLError": _wrapped(lambda error: error.reason),
    "urllib.HTTPError": _answer(lambda error: (error.code, error.headers, ())),
    # --- httpx
    "httpx.ConnectError": NOT_SENT,
    "httpx.ConnectTimeout": NOT_SENT,
    "httpx.PoolTimeout": NOT_SENT,
    "httpx.ProxyError": NOT_SENT,
    "httpx.UnsupportedProtocol": NOT_SENT,
    "httpx.HTTPStatusError": _answer(
        lambda error: (error.response.status_code, error.response.headers, error.response.history)
    ),
    # --- aiohttp
    "aiohttp.ClientConnectorError": NOT_SENT,
    "aiohttp.ClientHttpProxyError": NOT_SENT,
    "aiohttp.ConnectionTimeoutError": NOT_SENT,
    "aiohttp.InvalidURL": NOT_SENT,
    "aiohttp.ClientResponseError": _answer(
        lambda error: (error.status, error.headers, error.history or aiohttp_hides_it(error))
    ),
    # --- requests, and urllib3 below it
    "requests.InvalidSchema": NOT_SENT,
    "requests.InvalidURL": NOT_SENT,
    "requests.MissingSchema": NOT_SENT,
    "requests.ConnectionError": _wrapped(lambda error: error.args[0]),  # a ConnectTimeout as well
    "requests.HTTPError": _answer(_of_requests),
    "urllib3.ClosedPoolError": NOT_SENT,
    "urllib3.ConnectTimeoutError": NOT_SENT,
    "urllib3.EmptyPoolError": NOT_SENT,
    "urllib3.LocationValueError": NOT_SENT,
    "urllib3.NewConnectionError": NOT_SENT,
    "urllib3.MaxRetryError": _wrapped(lambda error: error.reason),
    "urllib3.ProxyError": _wrapped(lambda error: error.original_error),
    "urllib3.SSLError": _wrapped(lambda error: error.args[0]),
    # --- botocore
    "botocore.ConnectTimeoutError": NOT_SENT,
    "botocore.EndpointConnectionError": NOT_SENT,
    "botocore.NoCredentialsError": NOT_SENT,
    "botocore.NoRegionError": NOT_SENT,
    "botocore.ProxyConnectionError": NOT_SENT,
    "botocore.ParamValidationError": INVALID,
    "botocore.SSLError": _wrapped(lambda error: error.kwargs["error"]),
    "botocore.ClientError": Rule("its code and status", _of_client_error),
    # --- databases
    "psycopg.ConnectionTimeout": NOT_SENT,
    "psycopg.Error": Rule("its SQLSTATE", lambda error, keyed: of_psycopg(error)),
    "psycopg_pool.PoolTimeout": NOT_SENT,
    "sqlite3.Error": Rule("its code", lambda error, keyed: of_sqlite(error)),
}
