"""How a session is opened: by the first way that leads to its server."""

import threading
from collections.abc import Mapping
from typing import Any

import pytest

from clawft.errors import LinkError
from clawft.link.base import Link
from clawft.link.memory import MemoryLink
from clawft.model import Era
from clawft.upstream.session.opening import open_session
from clawft.upstream.spec import UpstreamSpec
from clawft.wire.jsonrpc.messages import Notification, Request
from tests.requirements import requirement
from tests.upstream.support import answers

REFERENCE = "${secret://keyring/any}"


class Listener:
    def on_notification(self, notification: Notification, stream: int | None) -> None:
        pass

    async def answer_request(self, request: Request, stream: int | None) -> Mapping[str, Any]:
        return {}

    def on_lost(self, error: LinkError) -> None:
        pass


@requirement("CONF-14", "SESS-20")
@pytest.mark.parametrize(
    ("told", "beside"),
    [
        ({"headers": {"X-Key": REFERENCE}}, True),
        ({"proxy": f"http://{REFERENCE}@proxy:80"}, True),
        ({"proxy": "http://proxy:80"}, False),
    ],
)
async def test_secrets_are_fetched_beside_the_loop(told: dict[str, Any], beside: bool) -> None:
    """A keyring may ask the person first, and all others would wait for that."""
    made: list[threading.Thread] = []

    def way() -> Link:
        made.append(threading.current_thread())
        return MemoryLink(answers())

    spec = UpstreamSpec("a", url="https://a.example/mcp", **told)
    session = await open_session(spec, [way], Listener(), {}, Era.HANDSHAKE, lambda faults: None)
    await session.close()
    assert [thread is not threading.main_thread() for thread in made] == [beside]


@requirement("SESS-06", "QUAL-03")
async def test_a_server_that_asks_in_an_era_without_questions_is_told_by_its_name(
    caplog: pytest.LogCaptureFixture,
) -> None:
    link = MemoryLink({"server/discover": {"resultType": "complete", "supportedVersions": ["2026-07-28"]}, "ping": {}})
    spec = UpstreamSpec("wiki", command="table")
    session = await open_session(spec, [lambda: link], Listener(), {}, Era.STATELESS, lambda faults: None)
    link.ask(1, "sampling/createMessage")
    await session.close()
    assert "wiki asks for sampling/createMessage, which servers of its era may not send" in caplog.text
