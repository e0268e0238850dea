"""One POST by each library, as its documentation shows it, with timeouts of a moment."""

import asyncio
import urllib.request
from collections.abc import Callable
from typing import Any

import aiohttp
import botocore.config
import botocore.session
import httpx
import requests
import urllib3

MOMENT = 1.0
"""Seconds."""


def by_httpx(url: str) -> None:
    with httpx.Client(timeout=MOMENT, follow_redirects=True) as client:
        client.post(url, content=b"x").raise_for_status()


def by_aiohttp(url: str) -> None:
    async def post() -> None:
        timeout = aiohttp.ClientTimeout(sock_connect=MOMENT, sock_read=MOMENT)
        async with aiohttp.ClientSession(timeout=timeout, raise_for_status=True) as session:
            async with session.post(url, data=b"x") as answer:
                await answer.read()

    asyncio.run(post())


def by_requests(url: str) -> None:
    with requests.Session() as session:
        session.post(url, data=b"x", timeout=MOMENT).raise_for_status()


def streamed_by_httpx(url: str) -> None:
    with httpx.stream("GET", url, timeout=MOMENT) as answer:
        answer.raise_for_status()


def streamed_by_requests(url: str) -> None:
    with requests.get(url, timeout=MOMENT, stream=True) as answer:
        answer.raise_for_status()


def by_stubborn_requests(url: str) -> None:
    """With retries by the library."""
    retries = urllib3.Retry(2, allowed_methods=None, status_forcelist=[503], raise_on_status=False)
    with requests.Session() as session:
        session.mount("http://", requests.adapters.HTTPAdapter(max_retries=retries))
        session.post(url, data=b"x", timeout=MOMENT).raise_for_status()


def by_urllib3(url: str) -> None:
    with urllib3.PoolManager(timeout=MOMENT, retries=0) as pool:
        pool.request("POST", url, body=b"x")


def by_urllib(url: str) -> None:
    with urllib.request.urlopen(url, data=b"x", timeout=MOMENT) as answer:
        answer.read()


def _by_botocore(url: str, attempts: int) -> None:
    client: Any = botocore.session.get_session().create_client(
        "sqs",
        region_name="eu-west-1",
        endpoint_url=url,
        aws_access_key_id="a",
        aws_secret_access_key="b",
        config=botocore.config.Config(
            connect_timeout=MOMENT, read_timeout=MOMENT, retries={"total_max_attempts": attempts}
        ),
    )
    try:
        client.send_message(QueueUrl=url, MessageBody="x")
    finally:
        client.close()


def by_botocore(url: str) -> None:
    _by_botocore(url, 1)


def by_stubborn_botocore(url: str) -> None:
    """With retries by the library, as is its default."""
    _by_botocore(url, 2)


def raised(post: Callable[[str], None], url: str) -> Exception:
    """What it raises."""
    try:
        post(url)
    except Exception as error:
        return error
    raise AssertionError(f"{post.__name__} raised nothing")
