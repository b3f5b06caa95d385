"""The listener for redirects: one for all, on loopback only, deaf to whoever does not know a state."""

import asyncio

import aiohttp
import pytest

from clawft.auth import redirect_listener
from clawft.auth.flow import AuthorizationResponse
from clawft.auth.redirect_listener import MAX_CONNECTIONS, RedirectListener
from clawft.errors import LoginFailed
from tests.requirements import requirement

pytestmark = requirement("OAUTH-22")


async def get(url: str, **headers: str) -> int:
    async with aiohttp.ClientSession() as client, client.get(url, headers=headers) as response:
        return response.status


async def test_several_logins_share_one_listener_and_each_gets_its_own_answer() -> None:
    receiver = RedirectListener()
    first, second = await receiver.open(), await receiver.open()
    assert first == second
    waiting = [receiver.expect(state) for state in ("a", "b")]
    assert await get(f"{first}?state=b&code=2") == 200
    assert await get(f"{first}?state=a&code=1&iss=x") == 200
    assert await asyncio.gather(*waiting) == [AuthorizationResponse("a", "1", "x"), AuthorizationResponse("b", "2")]


async def test_the_listener_goes_with_the_last_login() -> None:
    receiver = RedirectListener()
    url = await receiver.open()
    expected = receiver.expect("a")
    await get(f"{url}?state=a&code=1")
    await expected
    with pytest.raises(aiohttp.ClientConnectorError):
        await get(url)


@pytest.mark.parametrize("query", ["", "?state=&code=1", "?state=guess&code=1", "?code=1"])
async def test_without_a_state_nothing_happens(query: str) -> None:
    receiver = RedirectListener()
    url = await receiver.open()
    expected = receiver.expect("a")
    assert await get(f"{url}{query}") == 400
    assert not expected.done()
    await receiver.close()


async def test_an_answer_counts_once() -> None:
    receiver = RedirectListener()
    url = await receiver.open()
    expected, other = receiver.expect("a"), receiver.expect("b")
    assert await get(f"{url}?state=a&code=1") == 200
    assert await get(f"{url}?state=a&code=2") == 400
    assert (await expected).code == "1"
    assert not other.done()
    await receiver.close()


async def test_one_person_does_not_keep_all_others_from_logging_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redirect_listener, "MAX_WAITING", 3)
    receiver = RedirectListener()
    url = await receiver.open()
    greedy = [receiver.expect(state, "mallory") for state in ("a", "b", "c")]
    with pytest.raises(LoginFailed, match="3 logins are waiting already"):
        receiver.expect("d", "mallory")
    expected = receiver.expect("e", "alice")
    with pytest.raises(LoginFailed, match="gave way to logins of others"):
        await greedy[0]
    assert await get(f"{url}?state=a&code=1") == 400
    assert await get(f"{url}?state=e&code=1") == 200
    assert (await expected).code == "1"
    assert not any(each.done() for each in greedy[1:])
    await receiver.close()


async def test_a_page_under_another_name_is_not_heard() -> None:
    receiver = RedirectListener()
    url = await receiver.open()
    expected = receiver.expect("a")
    assert await get(f"{url}?state=a&code=1", Host="evil.example") == 404
    assert not expected.done()
    await receiver.close()


async def test_a_head_without_end_is_cut_off() -> None:
    receiver = RedirectListener()
    url = await receiver.open()
    receiver.expect("a")
    reader, writer = await asyncio.open_connection("127.0.0.1", port_of(url))
    writer.write(b"GET /callback HTTP/1.1\r\n" + b"X: y\r\n" * 20_000)
    try:
        async with asyncio.timeout(20):
            assert await reader.read() == b""
    except ConnectionResetError:
        pass  # cut off while we were still writing
    writer.close()
    await receiver.close()


@pytest.mark.parametrize(
    "line",
    [
        "GET http://[ HTTP/1.1",
        "GET /callback",
        "",
        "GET //[/callback?state=a HTTP/1.1",
        "GET \xff HTTP/1.1",
        "\x16\x03\x01",
    ],
)
async def test_what_is_no_request_is_answered_all_the_same(line: str, caplog: pytest.LogCaptureFixture) -> None:
    receiver = RedirectListener()
    port = port_of(await receiver.open())
    expected = receiver.expect("a")
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(line.encode("latin-1") + f"\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
    async with asyncio.timeout(20):
        assert (await reader.read()).startswith(b"HTTP/1.1 4")
    writer.close()
    assert not expected.done()
    assert not caplog.records
    await receiver.close()


async def test_those_who_only_connect_give_way_to_whoever_asks() -> None:
    receiver = RedirectListener()
    url = await receiver.open()
    expected = receiver.expect("a")
    silent = [await asyncio.open_connection("127.0.0.1", port_of(url)) for _ in range(MAX_CONNECTIONS + 8)]
    assert await get(f"{url}?state=a&code=1") == 200
    assert (await expected).code == "1"
    async with asyncio.timeout(5):  # sooner than they would be given up for their silence
        assert await asyncio.gather(*(reader.read() for reader, _ in silent[:8])) == [b""] * 8
    assert not silent[-1][0].at_eof()
    for _, writer in silent:
        writer.close()


def port_of(url: str) -> int:
    return int(url.split(":")[2].split("/", maxsplit=1)[0])
