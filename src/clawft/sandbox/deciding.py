"""What in a workspace decides which programs run later, and outside of any sandbox: that is for a person to write."""

from clawft.sandbox.bounds import DECIDING

NEVER_WRITTEN = tuple(name.lower() for name in (".git", *DECIDING))
"""By tools that write files themselves: in a repository only git has something to write, and there are more places
than the listed ones that make it run something."""

_FOLDERS = {name[:at] for name in NEVER_WRITTEN for at, letter in enumerate(name) if letter == "/"}
"""Those that have one of them in it."""


def decides(path: str) -> bool:
    """Is it one of them, or in one? In any folder, for each may be the one that somebody opens."""
    text = _folded(path)
    return any(f"/{name}/" in text for name in NEVER_WRITTEN)


def may_bring_deciding(folder: str) -> bool:
    """Would one of them be there if somebody else chose what is in this folder?"""
    text = _folded(folder)
    return decides(folder) or any(text.endswith(f"/{name}/") for name in _FOLDERS)


def _folded(path: str) -> str:
    parts = path.replace("\\", "/").split("/")
    return "/".join(["", *map(_folded_name, parts), ""])


def _folded_name(name: str) -> str:
    """As the most lenient file system compares: no letter case, no forms, no letters nobody sees, no last dots."""
    if not name.isascii():
        import unicodedata  # only such names pay for its tables

        seen = (letter for letter in name if unicodedata.category(letter) != "Cf")
        name = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", "".join(seen)).casefold())
    return name.lower().rstrip(". ") or name
