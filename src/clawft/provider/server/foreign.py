"""The resources, templates and prompts of a server as structs, each with the whole of what the server said of it."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TypeVar

import msgspec
from msgspec import Raw

from clawft.model import ForeignPrompt, ForeignResource, ForeignTemplate
from clawft.upstream.offer.cache import Remembered

log = logging.getLogger("clawft.upstream")

T = TypeVar("T", ForeignResource, ForeignTemplate, ForeignPrompt)


class Readable:
    """A server's lists, read once."""

    def __init__(self, answers: Remembered | None) -> None:
        self.answers = answers
        known = answers or Remembered("", 0.0, "handshake")
        self.resources = _read_items(known.resources, ForeignResource)
        self.templates = _read_items(known.templates, ForeignTemplate)
        self.prompts = _read_items(known.prompts, ForeignPrompt)
        self.uris = {resource.uri for resource in self.resources}

    def may_have(self, uri: str) -> bool:
        return uri in self.uris or any(uri.startswith(t.uri_template.partition("{")[0]) for t in self.templates)


def _read_items(items: Sequence[Raw], kind: type[T]) -> Sequence[T]:
    """Those that can be read; one that cannot loses itself, not the list."""
    read: list[T] = []
    for item in items:
        try:
            read.append(msgspec.structs.replace(msgspec.json.decode(item, type=kind), raw=bytes(item)))
        except msgspec.DecodeError as wrong:
            log.warning("an item was left out: %s", wrong)
    return read
