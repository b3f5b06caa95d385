"""How a session is opened: the first way that leads to the server. One that is refused leaves its place to the next.

A program that ends when it is asked for its era is started once more, and greeted with the handshake.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from clawft.errors import LinkClosed, LinkRefused, NotConnected, ProcessExited, RequestTimeout, SpawnFailed
from clawft.link.base import Link
from clawft.link.faults import Faults
from clawft.model import Era
from clawft.store.secrets import is_reference
from clawft.upstream.session.session import Session, SessionListener
from clawft.upstream.spec import UpstreamSpec

OLDER_FORM = (400, 404, 405, 406)
"""HTTP statuses that leave the place to the transport of 2024."""

Way = Callable[[], Link]


async def open_session(
    spec: UpstreamSpec,
    ways: Sequence[Way],
    listener: SessionListener,
    capabilities: Mapping[str, Any],
    known: Era | None,
    add_faults: Callable[[Faults], None],
) -> Session:
    """`known` is the era the server spoke last time; `add_faults` hears of tries in vain.

    Raises what its first way said if none leads to it.
    """
    first: LinkRefused | None = None
    pinned = None if spec.era == "auto" else Era(spec.era)
    untried = deque(ways)
    while untried:
        way = untried.popleft()
        session = Session(await _make(spec, way), listener, capabilities, spec.name)
        try:
            await session.connect(known, pinned)
            _check_untouched(spec, session)
        except LinkRefused as refused:
            await _leave(session, add_faults)
            first = first or refused
            if refused.http_status not in OLDER_FORM:
                break
        except ProcessExited:
            await _leave(session, add_faults)
            if not session.introduction.ended_at_probe:
                raise
            known = Era.HANDSHAKE
            untried.appendleft(way)
        except RequestTimeout as silent:
            words = _last_words(session) + _wrongs(session)
            await _leave(session, add_faults)
            raise LinkClosed(f"{silent.message}{words}") if words else silent from None
        except BaseException:
            await _leave(session, add_faults)
            raise
        else:
            return session
    raise first or NotConnected(f"{spec.name}: there is no way to reach it")


def _check_untouched(spec: UpstreamSpec, session: Session) -> None:
    """By now it has read what it was started with. Raises SpawnFailed; at the next start that is looked at again."""
    child = session.link.child
    for file in child.pinned if child is not None else ():
        if file.touched:
            raise SpawnFailed(f"{spec.name} was stopped: {file.path} was changed while it was started", passing=True)


async def _leave(session: Session, add_faults: Callable[[Faults], None]) -> None:
    add_faults(session.faults)
    await session.close()


def _last_words(session: Session) -> str:
    """A program that does not answer may have told why on stderr, or have written it where messages belong."""
    child = session.link.child
    words = child.last_words() if child is not None else ""
    return f"; its last lines: {words}" if words else ""


def _wrongs(session: Session) -> str:
    """The wrong messages that it sent instead of the answer."""
    listed = ", ".join(f"{words}: {count}" for words, count in session.faults.in_words().items())
    return f"; it sent {listed}" if listed else ""


async def _make(spec: UpstreamSpec, way: Way) -> Link:
    """Secrets may have to be fetched by a program or a keyring that asks the person first.

    Not on the loop that serves the others, nor in the few threads that all servers share.
    """
    values = (*spec.env.values(), *spec.headers.values(), spec.url, spec.proxy)
    if not any(map(is_reference, values)):
        return way()
    from clawft.link.own_thread import run_in_own_thread  # most servers have none

    return await run_in_own_thread(way, f"secrets of {spec.name}")
