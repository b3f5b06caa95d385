"""A server that was stopped, or has ended, is gone at once with all it said: nothing of it waits for the collector."""

import gc
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from clawft.link.process import Child
from clawft.link.stream import StreamLink
from clawft.upstream import backoff
from clawft.upstream.pool import Pool
from clawft.upstream.session.session import Session
from clawft.upstream.state import ServerState
from clawft.upstream.upstream import Upstream
from tests.requirements import requirement
from tests.upstream.support import child, pool, state, until

pytestmark = pytest.mark.slow  # processes that take their time

KINDS = (Upstream, Session, StreamLink, Child)
Ending = Callable[[Pool], Awaitable[object]]


@pytest.fixture(autouse=True)
def _no_collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(backoff, "FIRST_SECONDS", 0.01)
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def alive() -> Counter[type]:
    return Counter(type(each) for each in gc.get_objects() if isinstance(each, KINDS))


async def killed(mine: Pool) -> None:
    restarts = mine.server_status("one").restarts
    kill(mine)
    await until(lambda: mine.server_status("one").restarts > restarts and state(mine, "one") is ServerState.CONNECTED)


def kill(mine: Pool) -> None:
    session = mine.find("one").session
    assert session is not None
    assert session.link.child is not None
    session.link.child.kill()


async def reconnected(mine: Pool) -> None:
    await mine.reconnect("one")


async def named_anew(mine: Pool) -> None:
    spec = mine.find("one").spec
    await mine.disconnect("one")
    await mine.connect(spec)


@requirement("QUAL-12", "QUAL-13", "POOL-13")
@pytest.mark.parametrize("ended", [killed, reconnected, named_anew])
@pytest.mark.parametrize("era", ["handshake", "stateless"])
async def test_what_is_left_of_a_server_that_begins_anew(tmp_path: Path, ended: Ending, era: str) -> None:
    async with pool(tmp_path) as mine:
        await mine.connect(child("one", "--era", era))
        await ended(mine)
        before = alive()
        for _ in range(2):
            await ended(mine)
        await until(lambda: alive() <= before)  # the first may not have quite gone by then
