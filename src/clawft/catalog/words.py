"""Words as a search sees them: stems, and which stand for one another. Pure."""

from __future__ import annotations

import re
from collections import defaultdict
from functools import lru_cache

MAX_TEXT = 4_000
"""Characters of one text that are looked at."""

_WORD = re.compile(r"[A-Z]{1,64}(?![a-z])|[A-Z]?[a-z]{1,64}|\d{1,64}|[^\W\d_A-Za-z]{1,64}")
SENTENCE = re.compile(r"[.!?](?:\s|$)|\n\n")
_STOP = frozenset(
    """a about all am an and any are as at be been but by can could did do does for from get had has have how i if in
    into is it its just let like me my of on one or our out please should so some such that the their them then there
    these they this those to up us use used using want was we were what when where which who will with would you
    your""".split()
)
_SAME = (
    "add create make new insert register",
    "delete remove drop erase destroy",
    "list enumerate show display all",
    "update edit modify change set patch",
    "fetch retrieve read download load",
    "search find query lookup locate",
    "run execute invoke start launch trigger",
    "stop cancel abort terminate kill end shutdown",
    "send post publish push notify",
    "folder directory dir",
    "repo repository",
    "pr pull",
    "issue ticket bug",
    "picture image screenshot photo",
    "store save remember persist write",
    "status state health",
    "website webpage page url web site",
    "database db sql",
    "table collection",
    "message chat",
    "statistic metric stat usage",
    "schedule cron timer",
    "person user member people",
    "convert transform translate",
    "rename move",
    "copy duplicate clone",
    "log history",
    "diff compare difference",
    "permission access role",
    "test check validate verify",
    "wait sleep pause",
    "click press tap",
    "customer client",
    "event meeting appointment",
    "email mail",
    "document doc",
    "error exception failure",
    "config configuration setting option",
)


@lru_cache(maxsize=10_000)
def term(word: str) -> str:
    """The stem in small letters that a word is looked up by; empty for a word without meaning."""
    small = word.lower()
    return "" if small in _STOP else stem(small)


def stem(word: str) -> str:
    """Light: plurals and the usual verb endings."""
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    for ending, keeps in (("sses", "ss"), ("ing", ""), ("ed", ""), ("es", "e"), ("s", "")):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith(("ss", "us", "is")):
            cut = word[: len(word) - len(ending)] + keeps
            if ending in ("ing", "ed") and len(cut) > 3 and cut[-1] == cut[-2] and cut[-1] not in "ls":
                cut = cut[:-1]
            return cut.removesuffix("e")
    return word.removesuffix("e") if len(word) > 3 else word


def words(text: str) -> list[str]:
    """Terms, in order; `createPullRequest`, `create_pull_request` and `create pull request` are the same."""
    return [found for found in map(term, _WORD.findall(text[:MAX_TEXT])) if found]


MEANING: dict[str, frozenset[str]] = defaultdict(frozenset)
for _group in _SAME:
    _stems = frozenset(stem(word) for word in _group.split())
    for _each in _stems:
        MEANING[_each] |= _stems - {_each}
