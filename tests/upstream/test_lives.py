"""How servers come back: those that end when they are asked for their era, lose a session, or cannot be reached."""

from pathlib import Path

import pytest

from clawft.model import Era
from clawft.upstream import backoff
from clawft.upstream.state import ServerState
from tests.requirements import requirement
from tests.upstream.support import child, pool, state, until

pytestmark = pytest.mark.slow  # processes that take their time


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backoff, "FIRST_SECONDS", 0.01)


# ── the era ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("SESS-07", "POOL-13")
async def test_a_program_that_ends_at_the_probe_is_greeted_with_the_handshake(tmp_path: Path) -> None:
    """Many servers take nothing but `initialize` first, and end. That is no crash, and it is remembered."""
    heard = tmp_path / "heard"
    picky = child("picky", "--die-on", "server/discover", "--log", str(heard))
    async with pool(tmp_path) as mine:
        assert (await mine.connect(picky)).errors == {}
        first = mine.server_status("picky")
        assert (first.era, first.restarts, first.lost) == (Era.HANDSHAKE.value, 0, "")
        one = mine.find("picky")
        assert one.session is not None
        assert one.session.link.child is not None
        one.session.link.child.kill()
        await until(lambda: mine.server_status("picky").restarts == 1 and state(mine, "picky") is ServerState.CONNECTED)
        assert heard.read_text().count("server/discover") == 1, "the next start knows"


@requirement("POOL-13", "SESS-05")
async def test_a_program_that_ends_whatever_it_is_asked_is_given_up_as_before(tmp_path: Path) -> None:
    async with pool(tmp_path) as mine:
        await mine.connect(child("bad", "--die-on", "server/discover", "--era", "stateless"))
        await until(lambda: state(mine, "bad") is ServerState.FAILED)
        assert mine.server_status("bad").restarts == backoff.MAX_RESTARTS
