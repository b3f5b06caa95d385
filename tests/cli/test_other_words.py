"""Words of other programs: none is one of ours, and what is proposed can be typed."""

import re

from clawft.cli import other_words
from clawft.cli.main import COMMANDS, OPTIONS, verbs_of
from tests.requirements import requirement

TABLE = [
    (command, word, told)
    for command, table in other_words.WORDS.items()
    for words, told in table.items()
    for word in words.split()
]


@requirement("AGENT-14")
def test_a_word_of_another_program_is_none_of_ours() -> None:
    for command, word, told in TABLE:
        assert word not in (verbs_of(command) if command else COMMANDS), (command, word)
        assert other_words.meant(word, command) == told
    assert other_words.meant("qqq") == other_words.meant("qqq", "tools") == other_words.meant("x", "doctor") == ""


@requirement("AGENT-14")
def test_what_is_proposed_is_a_command() -> None:
    for _, _, told in TABLE:
        for command, verb in re.findall(r"weft (\S+?)(?:[,;]|$| (\S+))", told):
            verbs = set(verbs_of(command)) if command in COMMANDS else set[str]()
            assert command in OPTIONS or verbs & {"", verb.rstrip(",;")}, told
