"""Remembers the lists a person saw: who does not see a change does not hear of it either.

That something changed which one may not see is itself something to learn. The user of this machine is told of every
change.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from functools import partial

from clawft.gateway.core import Gateway
from clawft.gateway.dispatch import all_of, audience_of
from clawft.gateway.events import ListChanged, ListTopic
from clawft.gateway.offer.listing import Listed
from clawft.model import LOCAL, Caller

log = logging.getLogger("clawft.gateway")

_METHODS = {
    ListTopic.TOOLS: ("tools/list",),
    ListTopic.PROMPTS: ("prompts/list",),
    ListTopic.RESOURCES: ("resources/list", "resources/templates/list"),
}


class SeenLists:
    """The lists of one caller, from now on."""

    def __init__(self, gateway: Gateway, caller: Caller) -> None:
        self._gateway = gateway
        self._caller = caller
        self._faces = {topic: self._face(topic) for topic in ListTopic} if caller.principal != LOCAL else None

    def differs(self, event: ListChanged) -> bool:
        """Whether the list differs for this caller from when it was last asked about."""
        if self._faces is None or (event.whose and event.whose != self._caller.proof):
            return not event.whose
        before, now = self._faces[event.topic], self._face(event.topic)
        self._faces[event.topic] = now
        return now != before

    def _face(self, topic: ListTopic) -> bytes:
        """A digest of the whole list; made once for all conversations of this audience."""
        listed = Listed(partial(_digest, self._gateway, self._caller, topic))
        try:
            return self._gateway.pages.page(
                f"{topic.value} seen", audience_of(self._caller), None, lambda: listed, bytes
            )
        except Exception:  # a provider that breaks; whoever asks for the list hears of it
            log.exception("the %s of a caller cannot be looked at", topic.value)
            return b""


def _digest(gateway: Gateway, caller: Caller, topic: ListTopic, _begin: int) -> Iterator[bytes]:
    import hashlib  # loads OpenSSL; nobody looks at the lists of the user of this machine

    digest = hashlib.sha256()
    for method in _METHODS[topic]:
        for item in all_of(gateway, caller, method):
            digest.update(b"%d:" % len(item) + item)
    yield digest.digest()
