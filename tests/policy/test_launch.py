"""What text alone says about the program of a server."""

import pytest

from clawft.model import Allow, Deny
from clawft.policy import launch
from tests.requirements import requirement


@requirement("CONF-18", "F9a-A05")
@pytest.mark.parametrize("bad", ["a;b", "a|b", "a&b", "$HOME/x", "`x`", "a\nb", "../server", "/a/../b", "", "  "])
def test_a_program_with_shell_in_it_is_unsafe(bad: str) -> None:
    verdict = launch.decide(bad)
    assert isinstance(verdict, Deny)
    assert "unsafe" in verdict.reason


@requirement("CONF-18")
@pytest.mark.parametrize("good", ["/usr/local/bin/github-mcp", "npx", "/opt/my server/run", "C:\\tools\\x.exe"])
def test_a_plain_program_is_safe(good: str) -> None:
    assert isinstance(launch.decide(good), Allow)
