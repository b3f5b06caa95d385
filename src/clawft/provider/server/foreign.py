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

    def __init__(self, server: str, answers: Remembered | None) -> None:
        self.answers = answers
        known = answers or Remembered("", 0.0, "handshake")
        self.resources = _read_items(server, "resources", known.resources, ForeignResource)
        self.templates = _read_items(server, "resource templates", known.templates, ForeignTemplate)
        self.prompts = _read_items(server, "prompts", known.prompts, ForeignPrompt)
        self.uris = {resource.uri for resource in self.resources}

    def may_have(self, uri: str) -> bool:
        return uri in self.uris or any(uri.startswith(t.uri_template.partition("{")[0]) for t in self.templates)


def _read_items(server: str, what: str, items: Sequence[Raw], kind: type[T]) -> Sequence[T]:
    """Those that can be read; one that cannot loses itself, not the list."""
    read: list[T] = []
    passed_over: list[str] = []
    for item in items:
        try:
            read.append(msgspec.structs.replace(msgspec.json.decode(item, type=kind), raw=bytes(item)))
        except msgspec.DecodeError as wrong:
            passed_over.append(str(wrong))
    if passed_over:
        log.warning("%s: %d %s were left out, the first for: %s", server, len(passed_over), what, passed_over[0])
    return read
