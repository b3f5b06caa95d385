"""Every protocol revision we speak. A closed set: an unknown string is unknown, never "newer"."""

from __future__ import annotations

from msgspec import Struct

from clawft.model import Era


class Revision(Struct, frozen=True):
    """The abilities of a revision's callers; members they do not understand are left out for them."""

    name: str
    era: Era
    batches: bool = False
    annotations: bool = True
    audio: bool = True
    structured: bool = True
    titles: bool = True
    completion_context: bool = True
    resource_links: bool = True
    icons: bool = True
    several_blocks: bool = True
    """In one message for a model."""
    progress_message: bool = True
    elicitation: bool = True
    url_elicitation: bool = True
    polling: bool = False
    core_tasks: bool = False
    """The experiment of 2025-11-25: tasks as part of the protocol, not as an extension."""


REVISIONS = {
    revision.name: revision
    for revision in (
        Revision(
            "2024-11-05",
            Era.HANDSHAKE,
            annotations=False,
            audio=False,
            structured=False,
            titles=False,
            completion_context=False,
            resource_links=False,
            icons=False,
            several_blocks=False,
            progress_message=False,
            elicitation=False,
            url_elicitation=False,
        ),
        Revision(
            "2025-03-26",
            Era.HANDSHAKE,
            batches=True,
            structured=False,
            titles=False,
            completion_context=False,
            resource_links=False,
            icons=False,
            several_blocks=False,
            elicitation=False,
            url_elicitation=False,
        ),
        Revision("2025-06-18", Era.HANDSHAKE, icons=False, several_blocks=False, url_elicitation=False),
        Revision("2025-11-25", Era.HANDSHAKE, polling=True, core_tasks=True),
        Revision("2026-07-28", Era.STATELESS),
    )
}

HANDSHAKE = tuple(name for name, revision in REVISIONS.items() if revision.era is Era.HANDSHAKE)
STATELESS = tuple(name for name, revision in REVISIONS.items() if revision.era is Era.STATELESS)
NEWEST_HANDSHAKE = HANDSHAKE[-1]


def negotiate(offered: str) -> str:
    """The revision that initialize answers: the offered one if it is a handshake one, else our newest of those."""
    return offered if offered in HANDSHAKE else NEWEST_HANDSHAKE
