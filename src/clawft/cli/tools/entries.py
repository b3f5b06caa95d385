"""Tools as rows of a table, or as objects of JSON."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from clawft.catalog.snapshot import CatalogEntry
from clawft.catalog.surface import cost_of, tokens_of
from clawft.cli.parser import Options
from clawft.cli.screen import one_line, print_table, tell
from clawft.cli.screen.document import print_json
from clawft.cli.tools.flags import flags

_SENTENCE_END = re.compile(r"\. (?=[^a-z])")


def print_entries(entries: Sequence[CatalogEntry], options: Options, nothing: str) -> int:
    if options.json:
        print_json({"tools": [_summary(entry) for entry in entries], "tokens": cost_of(entries)})
        return 0
    if not entries:
        tell(nothing)
        return 0
    counted = options.tokens
    head = ["NAME", "KIND", *(["TOKENS"] if counted else []), "WHAT IT DOES"]
    rows = [
        [entry.name, _kind(entry), *([str(tokens_of(entry))] if counted else []), _does(entry)] for entry in entries
    ]
    if counted:
        rows.append(["total", "", str(cost_of(entries)), f"{len(entries)} tools"])
    print_table(head, rows)
    return 0


def _summary(entry: CatalogEntry) -> dict[str, Any]:
    return {
        "name": entry.name,
        "title": entry.tool.title,
        "description": entry.tool.description,
        "namespace": entry.origin.namespace,
        "server": entry.origin.server,
        "trusted": entry.origin.trusted,
        "flags": flags(entry.tool.annotations),
        "tokens": tokens_of(entry),
    }


def _kind(entry: CatalogEntry) -> str:
    """The kind of the tool by its hints; an untrusted server's hints are only its word."""
    return ", ".join((flags(entry.tool.annotations)[0], *(() if entry.origin.trusted else ("untrusted",))))


def _does(entry: CatalogEntry) -> str:
    return first_sentence(entry.tool.description or entry.tool.title)


def first_sentence(text: str) -> str:
    """Up to the first full stop that ends a sentence, or the first empty line."""
    line = one_line(text.strip().partition("\n\n")[0])
    return _SENTENCE_END.split(line, maxsplit=1)[0].removesuffix(".")
