"""What a language server says, made ours: nothing in it is taken for a file that is none, or fills the memory."""

import pytest

from clawft.builtin.ide.lsp.messages import (
    MAX_HOVER_CHARS,
    MAX_MESSAGE_CHARS,
    LspDiagnostic,
    LspHover,
    LspLocation,
    diagnostic,
    hover,
    locations,
    path_of,
    uri_of,
)
from clawft.builtin.ide.model import Position, Range

HERE = Range(Position(0, 0), Position(0, 1))


@pytest.mark.parametrize("uri", ["file://[", "file://[x/y", "file:///a%00b", "http://x/y", "untitled:1", "", "/a/b"])
def test_what_is_no_file_has_no_path(uri: str) -> None:
    assert path_of(uri) == ""
    assert locations([LspLocation(uri, HERE), LspLocation("file:///a", HERE)])[0].file_path == "/a"


def test_a_path_comes_back_as_it_was() -> None:
    assert path_of(uri_of("/a b/ü%/[x]#?")) == "/a b/ü%/[x]#?"


def test_long_texts_are_cut_and_say_so() -> None:
    said = diagnostic(LspDiagnostic(HERE, "x" * (MAX_MESSAGE_CHARS + 7)), "/a").message
    assert said == "x" * MAX_MESSAGE_CHARS + " [… 7 more characters]"
    shown = hover(LspHover(["y" * MAX_HOVER_CHARS, "z"]))
    assert shown is not None
    assert shown.contents.endswith("y [… 3 more characters]")
    assert diagnostic(LspDiagnostic(HERE, "short"), "/a").message == "short"
