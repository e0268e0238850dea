"""HTTP clients for actions: `AsyncClient` is httpx's, `Session` is requests', kept to the call they serve.

Both are cut off when their call must be over, however the service dawdles; send the call's idempotency key;
raise for every status that is no success; follow no redirect of a request that may have an effect; and never
try again by themselves: that is the Supervisor's. Install what you use: `makegood[http]` brings httpx.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from makegood.http.of_httpx import AsyncClient as AsyncClient
    from makegood.http.of_requests import Session as Session

__all__ = ["AsyncClient", "Session"]

HOMES = {
    "AsyncClient": ("makegood.http.of_httpx", "pip install 'makegood[http]' (from a clone: '.[http]')"),
    "Session": ("makegood.http.of_requests", "pip install requests"),
}
"""Where a client stands, and how to get the library that it needs."""


def __getattr__(name: str) -> Any:
    """Import the one library whose client is asked for. Raises ImportError where it is not installed."""
    if name not in HOMES:
        raise AttributeError(f"makegood.http has no {name}; it has {' and '.join(__all__)}")
    module, way = HOMES[name]
    try:
        return getattr(import_module(module), name)
    except ModuleNotFoundError as error:
        raise ImportError(f"makegood.http.{name} needs {error.name}, which is missing: {way}") from error
