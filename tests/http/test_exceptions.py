"""What the exceptions of real libraries mean, raised by real sockets that misbehave."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager

import aiohttp
import httpx
import pytest
import requests

from makegood.agents.classify import meaning_of
from makegood.core.events import Reply
from tests.http.libraries import (
    by_aiohttp,
    by_botocore,
    by_httpx,
    by_requests,
    by_stubborn_botocore,
    by_stubborn_requests,
    by_urllib,
    by_urllib3,
    raised,
    streamed_by_httpx,
    streamed_by_requests,
)
from tests.http.services import (
    crowded,
    cuts,
    hangs_up,
    in_turn,
    nowhere,
    refused,
    says,
    service,
    silent,
)

Post = Callable[[str], None]
LIBRARIES: list[Post] = [by_httpx, by_aiohttp, by_requests, by_urllib3, by_urllib, by_botocore]
NOT_REACHED = [refused, nowhere, crowded]


@pytest.mark.parametrize("ill", NOT_REACHED)
@pytest.mark.parametrize("post", LIBRARIES)
def test_a_service_that_is_not_reached_is_certainly_unmoved(
    post: Post, ill: Callable[[], AbstractContextManager[str]]
) -> None:
    with ill() as url:
        error = raised(post, url)
    timed_out_nowhere_says = post is by_urllib and ill is crowded  # a TimeoutError, like one of reading
    assert meaning_of(error).reply == (Reply.UNKNOWN if timed_out_nowhere_says else Reply.TRANSIENT)


@pytest.mark.parametrize("post", LIBRARIES)
def test_no_answer_is_in_doubt(post: Post) -> None:
    with silent() as url:
        assert meaning_of(raised(post, url)).reply is Reply.UNKNOWN


@pytest.mark.parametrize("post", LIBRARIES)
def test_a_connection_that_is_closed_without_an_answer_is_in_doubt(post: Post) -> None:
    with service(hangs_up) as url:
        assert meaning_of(raised(post, url)).reply is Reply.UNKNOWN


@pytest.mark.parametrize("post", [post for post in LIBRARIES if post is not by_botocore])
def test_an_answer_that_breaks_off_is_in_doubt(post: Post) -> None:
    with service(cuts) as url:
        assert meaning_of(raised(post, url)).reply is Reply.UNKNOWN


@pytest.mark.parametrize("post", LIBRARIES)
def test_a_certificate_that_is_refused_is_certain(post: Post) -> None:
    with service(says(200), tls=True) as url:
        assert meaning_of(raised(post, url)).reply is Reply.TRANSIENT


@pytest.mark.parametrize("post", [by_httpx, by_aiohttp, by_requests, by_urllib])
@pytest.mark.parametrize(
    ("status", "keyed", "reply", "wait"),
    [
        (422, False, Reply.REFUSED, 0),
        (409, False, Reply.REFUSED, 0),
        (409, True, Reply.UNKNOWN, 7000),
        (429, False, Reply.TRANSIENT, 7000),
        (503, False, Reply.UNKNOWN, 7000),
    ],
)
def test_a_status_is_heard_in_every_library(
    post: Post, status: int, keyed: bool, reply: Reply, wait: int
) -> None:
    with service(says(status, Retry_After="7")) as url:
        meaning = meaning_of(raised(post, url), keyed=keyed)
    assert (meaning.reply, meaning.retry_after) == (reply, wait)


@pytest.mark.parametrize("post", [by_httpx, by_requests])
def test_what_a_service_said_is_told(post: Post) -> None:
    """Their own words name the status and a page about it."""
    with service(says(422, body="the doctor is ill")) as url:
        error = raised(post, f"{url}visits?token=hush")
        said = f"{type(error).__name__}: POST {url}visits answered 422: the doctor is ill"
    assert meaning_of(error).error == said


@pytest.mark.parametrize("stream", [streamed_by_httpx, streamed_by_requests])
def test_an_answer_that_was_not_read_is_not_waited_for(stream: Post) -> None:
    with service(says(422, body="the doctor is ill")) as url:
        error = raised(stream, url)
        assert meaning_of(error).error == f"{type(error).__name__}: GET {url} answered 422"


def test_what_httpx_was_asked_is_told_where_no_answer_came() -> None:
    """Its own words are "All connection attempts failed", or none at all."""
    with refused() as url:
        address = url.replace("http://", "http://ann:secret@")
        error = raised(by_httpx, f"{address}visits?token=hush")
    assert meaning_of(error).error == f"ConnectError: POST {url}visits: {error}"
    mute = httpx.ReadTimeout("", request=httpx.Request("GET", url))
    assert meaning_of(mute).error == f"ReadTimeout: GET {url}"


def test_one_that_was_made_by_hand_says_what_it_says() -> None:
    error = requests.HTTPError("422 for url of a friend", response=None)
    assert meaning_of(error).error == "HTTPError: 422 for url of a friend"
    assert meaning_of(httpx.ConnectError("by hand")).error == "ConnectError: by hand"


@pytest.mark.parametrize("ill", NOT_REACHED)
@pytest.mark.parametrize("post", [by_httpx, by_aiohttp, by_requests, by_urllib])
def test_after_a_redirect_nothing_is_certain(
    post: Post, ill: Callable[[], AbstractContextManager[str]]
) -> None:
    """The first service may have done it before it sent us on."""
    with ill() as next_url, service(says(303, Location=next_url)) as url:
        assert meaning_of(raised(post, url)).reply is Reply.UNKNOWN


@pytest.mark.parametrize("post", [by_httpx, by_aiohttp, by_requests, by_urllib])
def test_a_refusal_after_a_redirect_is_not_certain(post: Post) -> None:
    with service(says(422)) as next_url, service(says(303, Location=next_url)) as url:
        assert meaning_of(raised(post, url)).reply is Reply.UNKNOWN


def test_a_redirect_that_leads_nowhere_is_in_doubt() -> None:
    with service(says(303, Location="mailto:ann@example.com")) as url:
        for post in (by_httpx, by_aiohttp, by_requests):
            assert meaning_of(raised(post, url)).reply is Reply.UNKNOWN


@pytest.mark.parametrize("post", [by_stubborn_requests, by_stubborn_botocore])
def test_a_library_that_tries_again_is_certain_of_nothing(post: Post) -> None:
    with refused() as url:
        assert meaning_of(raised(post, url)).reply is Reply.UNKNOWN
    with service(in_turn(says(503), says(422, '{"__type": "Full"}'))) as url:
        assert meaning_of(raised(post, url)).reply is Reply.UNKNOWN


@pytest.mark.parametrize("raises_itself", [True, False])
def test_aiohttp_sends_some_methods_twice(raises_itself: bool) -> None:
    """What the second answer says may be because of the first request; where it cannot be seen, as well."""

    async def put(url: str) -> None:
        async with aiohttp.ClientSession(raise_for_status=raises_itself) as session:
            async with session.put(url, data=b"x") as answer:
                answer.raise_for_status()

    def send(url: str) -> None:
        asyncio.run(put(url))

    with service(in_turn(hangs_up, says(422))) as url:
        assert meaning_of(raised(send, url)).reply is Reply.UNKNOWN
    with service(says(422)) as url:
        certain = Reply.REFUSED if raises_itself else Reply.UNKNOWN
        assert meaning_of(raised(send, url)).reply is certain


@pytest.mark.parametrize(
    ("status", "code", "reply"),
    [
        (400, "InvalidMessageContents", Reply.REFUSED),
        (400, "ThrottlingException", Reply.TRANSIENT),
        (503, "SlowDown", Reply.TRANSIENT),
        (503, "ServiceUnavailable", Reply.UNKNOWN),
        (400, "TransactionInProgressException", Reply.UNKNOWN),
    ],
)
def test_botocore_speaks_in_codes(status: int, code: str, reply: Reply) -> None:
    with service(says(status, f'{{"__type": "{code}"}}', Content_Type="application/x-amz-json-1.0")) as url:
        assert meaning_of(raised(by_botocore, url)).reply is reply
