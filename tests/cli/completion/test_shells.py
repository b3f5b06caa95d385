"""What bash, zsh and fish offer, asked of the real shells."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clawft.auth.tokens import AuthServer, Login, OAuthClient, TokenSet
from clawft.auth.vault import Vault
from tests import system
from tests.requirements import requirement

TINY = Path(__file__).parents[2] / "servers" / "tiny.py"

BASH = """
weft() {{ {python} -m clawft "$@"; }}
{script}
COMP_LINE="{line}" COMP_POINT={size}
_weft
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
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
        form, flag = {"bash": (BASH, "--norc"), "zsh": (ZSH, "-f"), "fish": (FISH, "--no-config")}[shell]
        text = form.format(python=weft[0], script=script, words=quoted, current=len(words), line=line, size=len(line))
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
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
@pytest.mark.parametrize("line", ["weft agent --scenario ", "weft tools call x --mcp-config "])
def test_an_option_that_takes_a_file_is_not_followed_by_options(asked: Any, shell: str, line: str) -> None:
    words = [one.partition("\t")[0] for one in asked(shell, line)]
    assert not [word for word in words if word.startswith("-")]


@pytest.mark.slow
@requirement("AGENT-14")
def test_fish_shows_descriptions_as_they_are(asked: Any) -> None:
    assert any("(default: default)" in line for line in asked("fish", "weft tools list --ag"))


PAINT: dict[str, Any] = {
    "name": "paint",
    "inputSchema": {
        "type": "object",
        "properties": {
            "wet": {"type": "boolean"},
            "colour": {"enum": ["red", "dark-red", "not a word", "$(touch pwned)"]},
            "coat": {"$ref": "#/$defs/coat"},
        },
        "required": ["colour"],
        "$defs": {"coat": {"anyOf": [{"enum": [1, 2]}, {"type": "null"}]}},
    },
}


@pytest.mark.slow
@requirement("AGENT-14", "MGR-19")
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_completes_what_servers_listed_last_and_starts_none(
    asked: Any, run: Any, workspace: Path, home: Path, shell: str
) -> None:
    """Arguments of tools with their values, prompts, resources, and what there is to approve."""
    server, also = workspace / "server.py", workspace / "also.json"
    server.write_text(TINY.read_text())
    also.write_text(json.dumps([PAINT]))
    assert run("servers", "add", "notes", "--", sys.executable, str(server), "--also", str(also)).code == 0
    assert run("approvals", "grant", "notes", "echo").code == 0
    login = Login(TokenSet("x"), AuthServer(issuer="https://a.example"), OAuthClient("y"), account="ada")
    Vault(home / "tokens").write("linear", login)
    server.write_text("import pathlib; pathlib.Path('started').touch()")

    def offered(line: str) -> list[str]:
        """What is neither an option nor a word of how the shell is told."""
        return sorted(word for one in asked(shell, line) if (word := one.partition("\t")[0])[:1] not in ("", "-"))

    def behind(head: str, *values: str) -> list[str]:
        """bash begins a new word there."""
        return sorted(value if shell == "bash" else head + value for value in values)

    assert offered("weft tools call notes__p") == ["notes__paint", "notes__pid"]
    assert offered("weft tools call notes__paint ") == ["coat=", "colour=", "wet="]
    assert offered("weft tools call notes__paint wet=true c") == ["coat=", "colour="]
    assert offered("weft tools call notes__paint wet=true colour=red ") == ["coat="]
    assert offered("weft tools call notes__paint colour=") == behind("colour=", "dark-red", "red")
    assert offered("weft tools call notes__paint coat=") == behind("coat=", "1", "2")
    assert offered("weft tools call notes__paint --agent me wet=t") == behind("wet=", "true")
    assert offered("weft tools call file__search rege") == ["regex="]
    assert offered("weft prompts get notes__") == ["notes__hello"]
    assert offered("weft prompts get weft__explain_file ") == ["path="]
    assert offered("weft resources read tiny:") == behind("tiny:", "//note")
    assert offered("weft approvals grant n") == ["notes"]
    assert offered("weft audit tail --server n") == ["notes"]
    assert offered("weft audit tail --errors --tool notes__p") == ["notes__paint", "notes__pid"]
    assert offered("weft approvals grant notes e") == ["echo", "env"]
    assert offered("weft approvals grant notes echo e") == ["env"]
    assert offered("weft approvals revoke notes ") == ["echo"]
    assert offered("weft approvals diff n") == ["notes"]
    assert offered("weft approvals export n") == ["notes"]
    assert offered("weft approvals export notes e") == []
    assert offered("weft tools list m") == ["memory"]
    assert offered("weft tools list memory n") == ["notes"]
    assert offered("weft auth status l") == offered("weft auth logout l") == ["linear"]
    assert not (workspace / "started").exists()
    assert not (workspace / "pwned").exists()
