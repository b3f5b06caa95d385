"""What the generated tests are made of."""

import itertools
from collections.abc import Callable
from typing import TypeVar

from hypothesis import strategies as st

from clawft.errors import ClawftError

T = TypeVar("T")

KEYS = st.text(max_size=8)
NUMBERS = (
    st.integers() | st.integers(min_value=2**63, max_value=2**200) | st.floats(allow_nan=False, allow_infinity=False)
)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)
OBJECTS = st.dictionaries(KEYS, VALUES, max_size=5)
IDS = st.integers() | st.text(max_size=12)
ENVELOPE_KEYS = ("jsonrpc", "id", "method", "params", "result", "error")


@st.composite
def splits(draw: st.DrawFn, stream: bytes) -> list[bytes]:
    cuts = sorted(draw(st.lists(st.integers(0, len(stream)), max_size=12)))
    edges = [0, *cuts, len(stream)]
    return [stream[start:end] for start, end in itertools.pairwise(edges)]


def attempt(work: Callable[[], T]) -> T | ClawftError:
    """What it gives, or the error of ours it ends in; any other error ends the test."""
    try:
        return work()
    except ClawftError as ours:
        return ours
