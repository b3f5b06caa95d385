"""Words of error messages: a command for a person to type, and the name that was probably meant. Pure."""

from collections.abc import Iterable

CLOSE_ENOUGH = 0.6
"""How alike two words must be for one to be taken for the other, from 0 to 1."""


def quoted(word: object) -> str:
    """The word as a shell takes it, in a command for a person to type. Invisible characters are escaped."""
    import shlex  # only for errors

    text = str(word)
    return shlex.quote(text) if text.isprintable() else f"$'{''.join(map(_spelled, text))}'"


def _spelled(letter: str) -> str:
    if letter.isprintable():
        return f"\\{letter}" if letter in "'\\" else letter
    written = letter.encode(errors="surrogateescape" if "\udc80" <= letter <= "\udcff" else "replace")
    return "".join(f"\\x{byte:02x}" for byte in written)


def nearest(word: str, known: Iterable[str]) -> str:
    """The known word that was probably meant, or nothing if none is close: `path` for the one that is `target_path`."""
    import difflib  # only for misspelled words

    names = list(known)
    holding = [name for name in names if word and word in name.split("_")]
    if len(holding) == 1:
        return holding[0]
    near = difflib.get_close_matches(word, names, n=1, cutoff=CLOSE_ENOUGH)
    return near[0] if near else ""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`, did you mean 'tools.allow'?`, or nothing."""
    found = nearest(word, known)
    return f", did you mean {found!r}?" if found else ""
