"""The resources a server lists, or may have by its templates and pages."""

from __future__ import annotations

from functools import cached_property

import msgspec
from msgspec import Struct, field

from clawft.upstream.offer.server_offer import NOTHING, ServerOffer

PAGE = "ui://"
"""The prefix of a page's URI; tools are shown with pages (extension `io.modelcontextprotocol/ui`)."""


class ResourceLists:
    """The lists of a server, evaluated once."""

    def __init__(self, offer: ServerOffer | None) -> None:
        self.offer = offer
        self.lists = offer or NOTHING
        self._uris = {resource.uri for resource in self.lists.resources}

    def may_have(self, uri: str) -> bool:
        templates = self.lists.templates
        if uri in self._uris or any(uri.startswith(t.uri_template.partition("{")[0]) for t in templates):
            return True
        return uri.startswith(PAGE) and uri in self.pages

    @cached_property
    def pages(self) -> frozenset[str]:
        """The pages that tools name; they need not be listed."""
        named = (page_of(tool.wire) for tool in self.lists.tools)
        return frozenset(page for page in named if page.startswith(PAGE))


class _Shown(Struct, frozen=True):
    page: str = field(default="", name="resourceUri")


class _Meta(Struct, frozen=True):
    ui: _Shown = _Shown()


class _Definition(Struct, frozen=True):
    meta: _Meta = field(default=_Meta(), name="_meta")


_definition = msgspec.json.Decoder(_Definition)


def page_of(wire: bytes) -> str:
    """The page that a tool names in its definition; empty if there is none."""
    if b'"resourceUri"' not in wire:
        return ""
    try:
        return _definition.decode(wire).meta.ui.page
    except msgspec.DecodeError:
        return ""
