"""Which resources a server has, or may have."""

from __future__ import annotations

from clawft.upstream.offer.offered import NOTHING, Offered


class Readable:
    """A server's lists, looked through once."""

    def __init__(self, answers: Offered | None) -> None:
        self.answers = answers
        self.lists = answers or NOTHING
        self._uris = {resource.uri for resource in self.lists.resources}

    def may_have(self, uri: str) -> bool:
        templates = self.lists.templates
        return uri in self._uris or any(uri.startswith(t.uri_template.partition("{")[0]) for t in templates)
