"""Recognises workspace files that decide which programs run later, outside of any sandbox: people write those."""

from clawft.sandbox.bounds import AUTORUN_FILES

NEVER_WRITTEN = tuple(name.lower() for name in (".git", *AUTORUN_FILES))
"""Names our file tools never write, with all of `.git`: only git writes there, and it runs more than these."""

_ENDINGS = (".code-workspace",)
"""Ends of names of such files, whose names people choose."""
_FOLDERS = {name[:at] for name in NEVER_WRITTEN for at, letter in enumerate(name) if letter == "/"}
"""Folders that have such a name in them."""


def is_autorun(path: str) -> bool:
    """Whether a path is such a file, or in such a folder; in any folder, as each may be opened as a workspace."""
    text = _folded(path)
    return text.rstrip("/").endswith(_ENDINGS) or any(f"/{name}/" in text for name in NEVER_WRITTEN)


def may_bring_autorun(folder: str) -> bool:
    """Whether contents that somebody else chooses for this folder could include such files."""
    text = _folded(folder)
    return is_autorun(folder) or any(text.endswith(f"/{name}/") for name in _FOLDERS)


def _folded(path: str) -> str:
    parts = path.replace("\\", "/").split("/")
    return "/".join(["", *map(_folded_name, parts), ""])


def _folded_name(name: str) -> str:
    """A name as the most lenient file system compares it: no case, Unicode forms, invisible letters, last dots."""
    if not name.isascii():
        import unicodedata  # only non-ASCII names need its tables

        seen = (letter for letter in name if unicodedata.category(letter) != "Cf")
        name = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", "".join(seen)).casefold())
    return name.lower().rstrip(". ") or name
