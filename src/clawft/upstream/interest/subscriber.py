"""For as long as a session lasts its server is told what we want to hear, in the form of its era."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from clawft.model import Era
from clawft.upstream.interest.interest import Interest
from clawft.upstream.interest.subscriptions import Subscriptions
from clawft.upstream.session.session import Session

if TYPE_CHECKING:  # loaded with the first server of the stateless era
    from clawft.upstream.interest.listen import ListenStream


async def keep_subscribed(session: Session, interest: Interest, missed: Callable[[], None]) -> None:
    """Runs beside the session. `missed`: changes of its lists may have gone by unheard."""
    if session.peer.era is Era.HANDSHAKE:
        await _keep(Subscriptions(session, interest), interest)
        return
    from clawft.upstream.interest.listen import ListenStream  # most servers open with a handshake

    def missed_all() -> None:
        missed()
        interest.missed()

    listening = ListenStream(session, interest, missed_all)
    try:
        await _keep(listening, interest)
    finally:
        await listening.close()


async def _keep(teller: Subscriptions | ListenStream, interest: Interest) -> None:
    interest.begin()
    try:
        while True:
            version = interest.version
            heard = await teller.tell()
            interest.mark_told(version, heard)
            await teller.wait(version)
    finally:
        interest.end()
