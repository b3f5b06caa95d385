"""What zsh and fish offer, asked of the real shells."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests import system
from tests.requirements import requirement

ZSH = """
weft() {{ {python} -m clawft "$@"; }}
compdef() {{ :; }}
_files() {{ :; }}
_describe() {{ print -rl -- "${{found[@]%%:*}}"; }}
compadd() {{ print -rl -- "$@"; }}
{script}
words=({words}); CURRENT={current}
_weft
"""
FISH = """
function weft; {python} -m clawft $argv; end
{script}
complete -C "{line}"
"""


@pytest.fixture
def asked(run: Any, weft: list[str], environment: dict[str, str], workspace: Path) -> Callable[[str, str], list[str]]:
    """The lines a shell offers."""

    def asked(shell: str, line: str) -> list[str]:
        if shutil.which(shell) is None:
            system.missing(shell)
        words = line.split(" ")
        quoted, script = " ".join(f"'{word}'" for word in words), run("completion", shell).out
        form, flag = (ZSH, "-f") if shell == "zsh" else (FISH, "--no-config")
        text = form.format(python=weft[0], script=script, words=quoted, current=len(words), line=line)
        done = subprocess.run(
            [shell, flag, "-c", text],
            env=environment,
            cwd=workspace,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.stderr == ""
        return done.stdout.splitlines()

    return asked


@pytest.mark.slow
@requirement("AGENT-14")
@pytest.mark.parametrize("shell", ["zsh", "fish"])
@pytest.mark.parametrize(
    ("line", "offered", "not_offered"),
    [
        ("weft ", "tools", "list"),
        ("weft tools ", "list", "gateway"),
        ("weft tools list --names ", "claude", "tools"),
        ("weft tools call ", "file__read", "gateway"),
        ("weft tools call file__read ", "", "file__read"),
    ],
)
def test_a_shell_completes(asked: Any, shell: str, line: str, offered: str, not_offered: str) -> None:
    words = [one.partition("\t")[0] for one in asked(shell, line)]
    assert not offered or offered in words
    assert not_offered not in words


@pytest.mark.slow
@requirement("AGENT-14")
def test_fish_shows_descriptions_as_they_are(asked: Any) -> None:
    assert any("(default: default)" in line for line in asked("fish", "weft tools list --ag"))
