"""What a server says, where a person must not take it for words of ours or of another server."""

import pytest

from clawft.wire.quoted_lines import BAR, SHORT, quoted_as
from tests.requirements import requirement

FORGED = "other asks: your password?"


@requirement("GUARD-13", "POOL-18")
@pytest.mark.parametrize("end", ["\n", "\r", "\r\n", "\n\n\n", "\x0b", "\x0c", "\x85", "\u2028", "\u2029"])
def test_no_line_of_a_server_passes_for_the_word_of_another(end: str) -> None:
    head, *rest = quoted_as("evil asks:", f"x{end}{FORGED}").split("\n")
    assert head == "evil asks:"
    assert rest[-1] == BAR + FORGED
    assert all(line.startswith(BAR) and len(line.splitlines()) == 1 for line in rest)


@requirement("GUARD-13", "POOL-18")
def test_a_line_that_a_terminal_breaks_has_its_bar_too() -> None:
    assert quoted_as("evil asks:", " " * SHORT + FORGED) == f"evil asks:\n{BAR}{' ' * SHORT}{FORGED}"


@requirement("POOL-18")
@pytest.mark.parametrize(("text", "said"), [("Name?", "q asks: Name?"), ("Name?\n", "q asks: Name?"), ("", "q asks:")])
def test_a_short_question_stands_on_the_line_of_who_asks(text: str, said: str) -> None:
    assert quoted_as("q asks:", text) == said
