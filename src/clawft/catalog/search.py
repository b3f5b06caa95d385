"""Finding tools by words: BM25 over names, titles, descriptions and parameters. Pure.

A word found in a name counts more than one in a description. A word of the same meaning, or a longer one that begins
like it, counts a little less than the word itself.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, cast

import msgspec
from msgspec import Struct

from clawft.catalog.snapshot import Entry
from clawft.catalog.words import MEANING, SENTENCE, words
from clawft.model import Said

MAX_QUERY_WORDS = 64
MAX_PARAMETERS = 100

_SATURATION = 1.2
_BY_LENGTH = 0.6
_WEIGHTS = {"name": 5.0, "title": 2.5, "description": 1.5, "server": 1.5, "parameter": 0.5, "about": 0.25}
_DISCOUNT = 0.45
"""What a word of the same meaning is worth."""
_BEGINNING = 0.6
"""What a longer word is worth that only begins with the one asked for."""
_SHORTEST_BEGINNING = 3


class Posting(Struct, frozen=True):
    """In which tool a word stands, and how much it counts there."""

    tool: int
    weight: float


class Index:
    """Made once for a catalog, asked many times."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._entries = entries
        counted = [_weighed(_fields(entry)) for entry in entries]
        lengths = [sum(each.values()) for each in counted]
        mean = sum(lengths) / len(lengths) if lengths else 1.0
        self._postings: dict[str, list[Posting]] = defaultdict(list)
        for at, (weights, length) in enumerate(zip(counted, lengths, strict=True)):
            norm = _SATURATION * (1 - _BY_LENGTH + _BY_LENGTH * length / (mean or 1.0))
            for word, weight in weights.items():
                self._postings[word].append(Posting(at, weight * (_SATURATION + 1) / (weight + norm)))
        self._rarity = {word: _rarity(len(found), len(entries)) for word, found in self._postings.items()}
        self._sorted = sorted(self._postings)

    def search(self, query: str, limit: int) -> list[Entry]:
        """The best first. Ties keep the order of the catalog."""
        scores: dict[int, float] = defaultdict(float)
        asked = list(dict.fromkeys(words(query)))[:MAX_QUERY_WORDS]
        for word in asked:
            for at, score in self._scores_of(word).items():
                scores[at] += score
        best = sorted(scores.items(), key=lambda item: (-item[1], item[0]))[:limit]
        return [self._entries[at] for at, _ in best]

    def _scores_of(self, word: str) -> dict[int, float]:
        """What this word adds to each tool: itself, or the best of what stands for it."""
        found: dict[int, float] = {}
        for spelled, worth in self._stands_for(word):
            rarity = min(self._rarity[spelled], self._rarity.get(word, math.inf))
            for posting in self._postings[spelled]:
                score = worth * rarity * posting.weight
                if score > found.get(posting.tool, 0.0):
                    found[posting.tool] = score
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
            weights[word] = weights.get(word, 0.0) + weight
    return weights


def _fields(entry: Entry) -> Iterator[tuple[str, str]]:
    tool = entry.tool
    yield "name", f"{tool.name} {tool.alias}"
    yield "server", entry.origin.server or entry.origin.namespace
    said = tool.said
    yield "title", said.title
    yield "description", said.description
    yield "description", SENTENCE.split(said.description, maxsplit=1)[0]
    yield from _parameters(said)


def _parameters(said: Said) -> Iterator[tuple[str, str]]:
    schema = msgspec.json.decode(said.input_schema)
    properties: Any = cast("dict[str, Any]", schema).get("properties") if isinstance(schema, dict) else None
    if not isinstance(properties, dict):
        return
    for name, told in list(cast("dict[str, Any]", properties).items())[:MAX_PARAMETERS]:
        yield "parameter", name
        about: Any = cast("dict[str, Any]", told).get("description") if isinstance(told, dict) else None
        if isinstance(about, str):
            yield "about", about
