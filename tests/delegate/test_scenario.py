"""Scripts: what may be written, and which turn answers what."""

import pytest

from clawft.delegate.executor import ExecutionMode
from clawft.delegate.scenario import ChatMessage, ConversationView, offered, parse, pick
from clawft.delegate.turns import StopReason
from clawft.errors import InvalidConfig, ModelFailed
from tests.delegate.support import scenario
from tests.requirements import requirement

SCRIPT = """
mode = "mock"
[[turns]]
when = "weather"
text = "Let me see."
calls = [{ tool = "weather__now", input = { city = "Bern" }, expect = "sun" }]
[[turns]]
text = "It is {{result}}."
[[mocks]]
tool = "weather__now"
text = "sunny"
"""


def picked(script: str, *texts: str) -> int | None:
    """Texts take turns, the user's first."""
    messages = [ChatMessage("assistant" if at % 2 else "user", text) for at, text in enumerate(texts)]
    found = pick(scenario(script), ConversationView(messages))
    return found[0] if found else None


@requirement("AGENT-09", "AGENT-02")
def test_a_script_is_read_whole() -> None:
    told = scenario(SCRIPT)
    assert told.mode is ExecutionMode.MOCK
    assert (told.turns[0].ends, told.turns[1].ends) == (StopReason.TOOLS, StopReason.DONE)
    assert told.mocks[0].text == "sunny"
    assert scenario("").mode is ExecutionMode.LIVE


@requirement("AGENT-09")
def test_turns_are_chosen_by_the_conversation_alone() -> None:
    assert picked(SCRIPT, "the weather?") == 1
    assert picked(SCRIPT, "the weather?", "Let me see.", "sunny") == 2
    assert picked(SCRIPT, "hello") == 2
    assert picked(SCRIPT, "hello", "It is hello.", "and?") is None
    assert picked(SCRIPT, "the weather?") == 1
    repeated = '[[turns]]\nrepeat = true\ntext = "yes"\n'
    assert picked(repeated, "a", "yes", "b", "yes", "c") == 1


@requirement("AGENT-09")
def test_a_result_that_was_not_expected_fails_the_run() -> None:
    with pytest.raises(ModelFailed, match="expected 'sun' from weather__now"):
        picked(SCRIPT, "the weather?", "Let me see.", "rain")


def test_tools_and_system_are_looked_at_too() -> None:
    script = '[[turns]]\nwhen_tool = "^mcp__"\nwhen_system = "coder"\ntext = "x"\n'
    assert pick(scenario(script), ConversationView([ChatMessage("user", "hi")], "a coder", ["mcp__x"])) is not None
    assert pick(scenario(script), ConversationView([ChatMessage("user", "hi")], "a coder", ["x"])) is None


def test_a_host_may_have_its_own_prefix() -> None:
    assert offered("git__status", ["mcp__weft__git__status"]) == "mcp__weft__git__status"
    assert offered("git__status", ["git__status", "mcp__weft__git__status"]) == "git__status"
    assert offered("git__status", []) == "git__status"


@requirement("AGENT-09")
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[turns]]\nwhe = 1", "whe"),
        ("[[turns]]\nfails = [99]", "99|400"),
        ("[[turns]]\nwhen = '('", "turn 1"),
        ('mode = "maybe"', "maybe"),
        ("turns = 3", "turns"),
        ("[[turns", "end of document"),
        ("\udcff", "surrogate|utf|codec"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(text: str, said: str) -> None:
    with pytest.raises(InvalidConfig, match=rf"(?i)f\.toml.*({said})"):
        parse(text.encode("utf-8", "surrogateescape"), "f.toml")
