"""The known word somebody probably meant. Pure, and light enough for every place that names things."""

from collections.abc import Iterable

CLOSE_ENOUGH = 0.6


def nearest(word: str, known: Iterable[str]) -> str:
    """The closest known word, or nothing if none is close."""
    import difflib  # only for those who misspelled something

    near = difflib.get_close_matches(word, list(known), n=1, cutoff=CLOSE_ENOUGH)
    return near[0] if near else ""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`, did you mean 'tools.allow'?`, or nothing."""
    found = nearest(word, known)
    return f", did you mean {found!r}?" if found else ""
