"""Finding tools by words: BM25 over names, titles, descriptions and parameters. Pure.

A word found in a name counts more than one in a description. A word of the same meaning, or a longer one that begins
like it, counts a little less than the word itself.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

import msgspec

from clawft.catalog.snapshot import CatalogEntry
from clawft.catalog.words import MEANING, SENTENCE, words
from clawft.model import ToolDefinition

MAX_QUERY_WORDS = 64
MAX_PARAMETERS = 100
MAX_HEARD_BYTES = 512 * 1024
"""Of definitions of one server that are looked through; beyond it only names are."""
MAX_WORDS = 20_000
"""Different ones that are looked up: more than people use, whatever the tools of strangers say."""
MAX_WORDS_OF_ONE = 500
"""Of one tool."""

_SATURATION = 1.2
_BY_LENGTH = 0.6
_WEIGHTS = {"name": 5.0, "title": 2.5, "description": 1.5, "server": 1.5, "parameter": 0.5, "about": 0.25}
_DISCOUNT = 0.45
"""The weight of a word with the same meaning."""
_BEGINNING = 0.6
"""The weight of a longer word that only begins with the one asked for."""
_SHORTEST_BEGINNING = 3


class Postings:
    """In which tools a word stands, and how much it counts in each. As plain numbers: there may be very many."""

    __slots__ = ("tools", "weights")

    def __init__(self) -> None:
        self.tools = array("I")
        self.weights = array("f")

    def add(self, tool: int, weight: float) -> None:
        self.tools.append(tool)
        self.weights.append(weight)


class Index:
    """Made once for a catalog, asked many times."""

    def __init__(self, entries: Sequence[CatalogEntry]) -> None:
        self._entries = entries
        self._postings: dict[str, Postings] = {}
        heard: Counter[str] = Counter()
        lengths = [self._count(at, _weighed(_fields(entry, heard))) for at, entry in enumerate(entries)]
        mean = sum(lengths) / len(lengths) if lengths else 1.0
        norms = [_SATURATION * (1 - _BY_LENGTH + _BY_LENGTH * length / (mean or 1.0)) for length in lengths]
        for found in self._postings.values():
            weighed = zip(found.tools, found.weights, strict=True)
            found.weights = array("f", (w * (_SATURATION + 1) / (w + norms[at]) for at, w in weighed))
        self._rarity = {word: _rarity(len(found.tools), len(entries)) for word, found in self._postings.items()}
        self._sorted = sorted(self._postings)

    def _count(self, at: int, weights: Mapping[str, float]) -> float:
        """How long a tool's text is, by weight. A word is left out where there are too many already."""
        for word, weight in weights.items():
            found = self._postings.get(word)
            if found is None and len(self._postings) < MAX_WORDS:
                found = self._postings[word] = Postings()
            if found is not None:
                found.add(at, weight)
        return sum(weights.values())

    def search(self, query: str, limit: int) -> list[CatalogEntry]:
        """The best first. Ties keep the order of the catalog."""
        scores: dict[int, float] = defaultdict(float)
        asked = list(dict.fromkeys(words(query)))[:MAX_QUERY_WORDS]
        for word in asked:
            for at, score in self._scores_of(word).items():
                scores[at] += score
        best = sorted(scores.items(), key=lambda item: (-item[1], item[0]))[:limit]
        return [self._entries[at] for at, _ in best]

    def _scores_of(self, word: str) -> dict[int, float]:
        """The score that this word adds to each tool: its own, or the best of its substitutes."""
        found: dict[int, float] = {}
        for spelled, worth in self._stands_for(word):
            rarity = min(self._rarity[spelled], self._rarity.get(word, math.inf))
            postings = self._postings[spelled]
            for tool, weight in zip(postings.tools, postings.weights, strict=True):
                score = worth * rarity * weight
                if score > found.get(tool, 0.0):
                    found[tool] = score
        return found

    def _stands_for(self, word: str) -> Iterator[tuple[str, float]]:
        if word in self._postings:
            yield word, 1.0
        yield from ((same, _DISCOUNT) for same in MEANING.get(word, ()) if same in self._postings)
        if len(word) >= _SHORTEST_BEGINNING:
            yield from ((longer, _BEGINNING) for longer in self._beginning_with(word) if longer != word)

    def _beginning_with(self, word: str) -> Iterator[str]:
        at = bisect_left(self._sorted, word)
        while at < len(self._sorted) and self._sorted[at].startswith(word):
            yield self._sorted[at]
            at += 1


def _rarity(found: int, total: int) -> float:
    return math.log(1 + (total - found + 0.5) / (found + 0.5))


def _weighed(fields: Iterable[tuple[str, str]]) -> dict[str, float]:
    weights: dict[str, float] = {}
    for field, text in fields:
        weight = _WEIGHTS[field]
        for word in words(text):
            if word in weights or len(weights) < MAX_WORDS_OF_ONE:
                weights[word] = weights.get(word, 0.0) + weight
    return weights


def _fields(entry: CatalogEntry, heard: Counter[str]) -> Iterator[tuple[str, str]]:
    """`heard`: bytes of definitions, by server. Who says too much is found by the names of its tools alone."""
    tool, owner = entry.tool, entry.origin.server or entry.origin.namespace
    yield "name", f"{tool.name} {tool.alias}"
    yield "server", owner
    heard[owner] += len(tool.wire)
    if heard[owner] > MAX_HEARD_BYTES:
        return
    definition = tool.definition
    yield "title", definition.title
    yield "description", definition.description
    yield "description", SENTENCE.split(definition.description, maxsplit=1)[0]
    yield from _parameters(definition)


def _parameters(said: ToolDefinition) -> Iterator[tuple[str, str]]:
    schema = msgspec.json.decode(said.input_schema)
    properties: Any = cast("dict[str, Any]", schema).get("properties") if isinstance(schema, dict) else None
    if not isinstance(properties, dict):
        return
    for name, parameter in list(cast("dict[str, Any]", properties).items())[:MAX_PARAMETERS]:
        yield "parameter", name
        about: Any = cast("dict[str, Any]", parameter).get("description") if isinstance(parameter, dict) else None
        if isinstance(about, str):
            yield "about", about
