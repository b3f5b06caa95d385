"""A plain line is read as argparse reads it; anything else is left to argparse."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawft.cli.main import parser_of, verbs_of
from clawft.cli.parser import read_plainly
from tests.requirements import requirement

WORDS = (
    "",
    *"--agent me --workspace ~/x --names mcp --surface auto --allow a* --deny b --no-builtin --port 80 -1".split(),
    *"--mcp-config {} --strict-mcp-config --mcp-debug --json --unknown --names=plain --".split(),
)
SERVING = ("mcp-server", "gateway")


@requirement("AGENT-14")
@pytest.mark.parametrize("command", SERVING)
@given(words=st.lists(st.sampled_from(WORDS), max_size=6))
def test_a_plain_line_is_read_as_argparse_reads_it(command: str, words: list[str]) -> None:
    parser = parser_of(f"weft {command}", verbs_of(command)[""])
    told = read_plainly(parser.arguments, words)
    if told is not None:
        assert vars(told) == vars(parser.whole().read(words))


@requirement("AGENT-14")
def test_what_is_not_plain_is_left_to_argparse() -> None:
    parser = parser_of("weft gateway", verbs_of("gateway")[""])
    for line in (
        "--help",
        "-h",
        "word",
        "--names=mcp",
        "--names odd",
        "--names",
        "--port x",
        "--allow -x",
        "--nam mcp",
    ):
        assert read_plainly(parser.arguments, line.split()) is None, line
    plain = read_plainly(parser.arguments, "--allow a --allow b --port 80 --json".split())
    assert plain is not None
    assert (plain.allow, plain.port, plain.json, plain.deny, plain.workspace) == (["a", "b"], 80, True, None, ".")
