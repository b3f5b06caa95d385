"""All text in a tool definition besides its description, in lines that a person can read. Pure.

The text of a parameter reaches the model as the description does: whoever approves a tool has to see all of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import cast

KEYWORDS = frozenset(
    "title description inputSchema outputSchema annotations icons type properties required items enum const default "
    "anyOf oneOf allOf not format minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength "
    "pattern minItems maxItems uniqueItems additionalProperties examples $schema $defs $ref nullable deprecated "
    "readOnlyHint destructiveHint idempotentHint openWorldHint execution taskSupport src mimeType sizes theme".split()
)
"""Member names of every definition, which tell a person nothing new."""
TYPES = frozenset("string number integer boolean object array null".split())
SCHEMAS = ("http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2020-12/schema")
ARGUMENTS = "inputSchema.properties."


def other_texts(definition: Mapping[str, object]) -> list[str]:
    """`place: words`, in the order of the definition. Words that only describe a type are left out."""
    return [f"{place.removeprefix(ARGUMENTS)}: {words}" for place, words in _words(definition)]


def _words(definition: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    names: set[str] = set()
    for place, part in parts_of(definition):
        if isinstance(part, str):
            if not _is_shape(place, part, names):
                yield place, part
            continue
        odd = [name for name in part if name not in KEYWORDS or place.endswith("properties")]
        names.update(odd)
        if odd:
            yield place or "members", ", ".join(odd)


def parts_of(definition: object) -> Iterator[tuple[str, str | Mapping[str, object]]]:
    """Every text and every object in a definition, in order, each with its path: `inputSchema.properties.path`."""
    waiting: list[tuple[str, object]] = [("", definition)]
    while waiting:
        place, one = waiting.pop()
        if isinstance(one, str):
            yield place, one
        elif isinstance(one, dict):
            members = cast("Mapping[str, object]", one)
            yield place, members
            waiting += [(f"{place}.{name}" if place else name, inner) for name, inner in reversed([*members.items()])]
        elif isinstance(one, list):
            waiting += [(place, inner) for inner in reversed(cast("Sequence[object]", one))]


def _is_shape(place: str, words: str, names: set[str]) -> bool:
    key = place.rpartition(".")[2]
    return (
        (key == "type" and words in TYPES)
        or (key == "required" and words in names)
        or (key == "$schema" and words in SCHEMAS)
    )
