"""1,077 tool definitions of 35 real servers, and 223 queries with the tools they mean.

`tools.jsonl.gz` holds what the servers listed when they were asked. `queries.tsv` was written for tools drawn from it
by lot, in words an agent might use, before any search had seen them.
"""

import gzip
from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import Raw, Struct

from clawft.catalog.building import ProviderOffer, build
from clawft.catalog.snapshot import CatalogEntry
from clawft.model import Call, Origin, Reply, Tool

FOLDER = Path(__file__).parent


class Listed(Struct, rename="camel"):
    server: str
    name: str
    description: str
    input_schema: Raw
    title: str = ""


async def nowhere(call: Call) -> Reply:
    return Reply.text("")


def entries() -> tuple[CatalogEntry, ...]:
    """As a gateway in front of all these servers would have them."""
    tools: dict[str, list[Tool]] = {}
    for line in gzip.decompress((FOLDER / "tools.jsonl.gz").read_bytes()).splitlines():
        told = msgspec.json.decode(line, type=Listed)
        tool = Tool(told.name, line)
        tools.setdefault(told.server, []).append(tool)
    offers = [ProviderOffer(Origin(name, name), tuple(listed), lambda tool: nowhere) for name, listed in tools.items()]
    return build(offers).entries


def queries() -> Iterator[tuple[str, frozenset[str]]]:
    """What is asked, and the tools of which one must be found, as `server/tool`."""
    for line in (FOLDER / "queries.tsv").read_text().splitlines():
        tools, query = line.split("\t")
        yield query, frozenset(tools.split(","))


def name_of(entry: CatalogEntry) -> str:
    return f"{entry.origin.server}/{entry.tool.name}"
