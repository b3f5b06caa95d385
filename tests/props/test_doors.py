"""Whatever comes in by whatever door: a result, or an error of ours. The corpus first, then what is made from it."""

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.props.doors import DOORS
from tests.props.shapes import attempt
from tests.requirements import requirement

CORPUS = {file.name: file.read_bytes() for file in sorted((Path(__file__).parent / "corpus").iterdir())}
SLOW_S = 1.0
"""Of our own time, for inputs of a few kilobytes: generous, and far below what a pattern that runs away takes."""


@requirement("WIRE-05", "QUAL-12")
@pytest.mark.parametrize("door", DOORS)
def test_the_corpus_gets_a_result_or_an_error_of_ours(door: str) -> None:
    for data in CORPUS.values():
        began = time.process_time()
        attempt(lambda data=data: DOORS[door](data))
        assert time.process_time() - began < SLOW_S, data[:60]


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """An entry of the corpus, cut, repeated, joined with another or with a few bytes changed."""
    data = bytearray(draw(st.sampled_from(list(CORPUS.values())))[:2000])
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(data)))
        match draw(st.sampled_from(["insert", "cut", "double", "join"])):
            case "insert":
                data[at:at] = draw(st.binary(max_size=8))
            case "cut":
                del data[at : at + draw(st.integers(1, 50))]
            case "double":
                data[at:at] = data[max(0, at - 20) : at] * draw(st.integers(1, 20))
            case _:
                data += draw(st.sampled_from(list(CORPUS.values())))[:500]
    return bytes(data[:8000])


@requirement("WIRE-05", "QUAL-12")
@pytest.mark.parametrize("door", DOORS)
@given(data=mutated() | st.binary(max_size=200))
def test_any_bytes_get_a_result_or_an_error_of_ours(door: str, data: bytes) -> None:
    attempt(lambda: DOORS[door](data))


@requirement("WIRE-05")
@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    "piece", [b"[", b'{"a":', b"\\", b'"', b"$(", b"'", b"*", b"../", b"%41", b"=", b" ", b"\n", b"a."]
)
def test_no_door_is_slower_than_its_input_is_long(door: str, piece: bytes) -> None:
    data = piece * (20_000 // len(piece))
    began = time.process_time()
    attempt(lambda: DOORS[door](data))
    assert time.process_time() - began < SLOW_S
