"""Shell-style globs, in two forms: compiled (patterns of the configuration) and step by step (patterns of a caller).

Neither form backtracks beyond its last star, so no pattern and no text can make it slow.
"""

import re
from collections.abc import Iterable
from fnmatch import translate
from functools import lru_cache

COMPILED_GLOBS_KEPT = 256
MAX_HOSTILE_GLOB = 256


@lru_cache(maxsize=COMPILED_GLOBS_KEPT)
def _compiled(globs: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(translate(_closed(glob)) for glob in globs))


def _closed(glob: str) -> str:
    """The glob, with brackets that nothing closes spelled as the letters they are.

    For each of them `translate` would look for its end up to the end of the glob: a long row of them takes minutes.
    """
    last, at = glob.rfind("]"), 0
    pieces: list[str] = []
    while (begins := glob.find("[", at)) >= 0:
        inside = _first_inside(glob, begins)
        pieces.append(glob[at:begins])
        at = begins + 1 if inside > last else glob.index("]", inside) + 1
        pieces.append("[[]" if inside > last else glob[begins:at])
    return "".join((*pieces, glob[at:]))


def _first_inside(glob: str, begins: int) -> int:
    """Where the end of these brackets is looked for: the first of them may be a `]` that is meant."""
    inside = begins + 1 + (glob[begins + 1 : begins + 2] == "!")
    return inside + (glob[inside : inside + 1] == "]")


def any_matches(names: Iterable[str], globs: tuple[str, ...]) -> bool:
    """Whether any name matches any glob. Case-sensitive."""
    if not globs:
        return False
    match = _compiled(globs).match
    return any(match(name) is not None for name in names)


def may_begin(glob: str, head: str) -> bool:
    """Whether a text that begins like this could match the glob."""
    fixed = re.split(r"[*?\[]", glob, maxsplit=1)[0]
    return fixed.startswith(head) or (fixed != glob and head.startswith(fixed))


def is_glob(text: str) -> bool:
    return "*" in text or "?" in text or "[" in text


def may_match(glob: str, text: str) -> bool:
    """One glob of a stranger against one short text; nothing is compiled or kept. `[…]` counts as any character."""
    if len(glob) > MAX_HOSTILE_GLOB:
        return True
    atoms = re.sub(r"\[[^\]]*\]", "?", glob) if "[" in glob else glob
    at = here = mark = 0
    star = -1
    while here < len(text):
        if at < len(atoms) and atoms[at] == "*":
            star, mark, at = at, here, at + 1
        elif at < len(atoms) and atoms[at] in ("?", text[here]):
            at, here = at + 1, here + 1
        elif star >= 0:
            mark += 1
            at, here = star + 1, mark
        else:
            return False
    return not atoms[at:].strip("*")
