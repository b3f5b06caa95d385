"""At a terminal: widths and colours. In a pipe: neither."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import tty
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

from clawft.cli.screen.table import cells
from tests.requirements import requirement

pytestmark = pytest.mark.slow  # processes that take their time

COLOUR = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture
def at_terminal(weft: list[str], workspace: Path, environment: dict[str, str]) -> Callable[..., str]:
    """Run the command at a terminal of this width; what it prints."""

    def at_terminal(*words: str, columns: int = 80, **more: str) -> str:
        ours, its = pty.openpty()
        tty.setraw(its)  # no line discipline between us: \n stays \n
        fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        process = subprocess.Popen(
            [*weft, *words], cwd=workspace, env={**environment, **more}, stdin=its, stdout=its, stderr=its
        )
        os.close(its)
        said = b""
        while chunk := _read(ours):
            said += chunk
        os.close(ours)
        process.wait(60)
        return said.decode()

    return at_terminal


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:  # Linux says so when the other side has closed
        return b""


@requirement("AGENT-14")
@pytest.mark.parametrize("columns", [60, 100])
@pytest.mark.parametrize(
    "words",
    [
        ["tools", "list", "--tokens"],
        ["tools", "show", "file__search"],
        ["doctor"],
        ["resources", "list"],
    ],
    ids=lambda words: "-".join(words[:2]),
)
def test_a_table_fits_the_terminal(at_terminal: Any, words: list[str], columns: int) -> None:
    lines = COLOUR.sub("", at_terminal(*words, columns=columns)).splitlines()
    assert len(lines) >= 2
    assert [line for line in lines if cells(line) > columns] == []


@requirement("AGENT-14", "MGR-19")
def test_nothing_is_broken_by_a_terminal_of_40_columns(at_terminal: Any, run: Any) -> None:
    assert run("servers", "add", "theirs", "--", sys.executable, str(TINY)).code == 0
    assert run("approvals", "grant", "theirs", "echo").code == 0
    assert run("tools", "call", "memory__list").code == 0
    for words in (
        ["servers", "list"],
        ["servers", "status"],
        ["audit", "tail"],
        ["approvals", "list"],
        ["tools", "show", "file__read"],
        ["prompts", "list"],
        ["config", "path"],
        ["policy", "explain", "shell__exec", "command=ls"],
        ["--help"],
        ["tools", "--help"],
    ):
        text = COLOUR.sub("", at_terminal(*words, columns=40)).partition("examples:\n")[0]  # commands stay in one piece
        assert [line for line in text.splitlines() if cells(line) > 40] == [], words


@requirement("AGENT-14", "MGR-19")
def test_a_table_too_wide_for_the_terminal_becomes_a_list_and_loses_nothing(at_terminal: Any, run: Any) -> None:
    assert run("servers", "add", "theirs", "https://mcp.example.com/mcp").code == 0
    assert run("servers", "add", "ours", "https://mcp.example.com/other").code == 0
    shown = COLOUR.sub("", at_terminal("servers", "list", columns=40))
    assert shown.split("\n\n")[1].splitlines() == [
        "NAME    theirs",
        "STATE   enabled",
        "SCOPE   user",
        "VIA     http",
        "TRUST   untrusted",
        "ORIGIN  theirs.toml:1",
        "WHAT    https://mcp.example.com/mcp",
    ]


@requirement("AGENT-10", "AGENT-14")
@pytest.mark.parametrize("columns", [60, 100])
def test_a_call_of_an_agent_is_one_line_with_its_verdict_and_time(
    at_terminal: Any, workspace: Path, columns: int
) -> None:
    (workspace / "note.txt").write_text("\x1b[31m" + "word " * 100)
    call = '{ tool = "file__read", input = { path = "note.txt" } }'
    (workspace / "scenario.toml").write_text(f'[[turns]]\ncalls = [{call}]\n[[turns]]\ntext = "done"\n')
    said = at_terminal("agent", "-p", "x", "--scenario", "scenario.toml", columns=columns)
    line = next(line for line in re.split(r"\n|\r\x1b\[K", said) if line.startswith("[tool]"))
    assert "\x1b[32mok" in line
    assert "\x1b[31m" not in line
    plain = COLOUR.sub("", line)
    assert cells(plain) <= columns
    assert re.search(r"\d\.\d\d s$", plain)


@requirement("AGENT-10")
def test_nothing_else_is_written_while_the_person_is_asked_about_a_call_of_an_agent(
    weft: list[str], workspace: Path, environment: dict[str, str]
) -> None:
    echo = Path(__file__).parents[2] / "servers" / "echo.py"
    table = {"echo": {"command": sys.executable, "args": [str(echo)], "trust": "untrusted"}}
    script = '[[turns]]\ncalls = [{ tool = "echo__echo" }, { tool = "echo__echo", input = { n = 2 } }]\n[[turns]]\n'
    (workspace / "scenario.toml").write_text(f'{script}text = "done"\n')
    words = ("agent", "-p", "x", "--scenario", "scenario.toml", "--mcp-config", json.dumps({"mcpServers": table}))
    code, said = _answered_each_time([*weft, *words], "1", workspace, environment)
    assert code == 0, said
    assert not re.search(r"… echo__echo(?!\r\x1b\[K)", said), said
    assert len(re.findall(r"\[Enter\] no(?:\r\n)?1\r\n", said)) == 2, said
    assert said.count("→ ok:") == 2


@requirement("AGENT-10")
@pytest.mark.parametrize(("typed", "verdict"), [("1", "ok"), ("", "error")])
def test_the_person_at_the_terminal_is_asked(
    weft: list[str], workspace: Path, environment: dict[str, str], typed: str, verdict: str
) -> None:
    """A tool of a server that is not trusted, used for the first time."""
    echo = Path(__file__).parents[2] / "servers" / "echo.py"
    table = {"echo": {"command": sys.executable, "args": [str(echo)], "trust": "untrusted"}}
    script = '[[turns]]\ncalls = [{ tool = "echo__echo" }]\n[[turns]]\ntext = "done"\n'
    (workspace / "scenario.toml").write_text(script)
    words = ("agent", "-p", "x", "--scenario", "scenario.toml", "--mcp-config", json.dumps({"mcpServers": table}))
    code, plain = _answered_each_time([*weft, *words], typed, workspace, environment)
    assert code == 0, plain
    assert "[1] once" in plain
    assert re.search(rf"\[tool\] echo__echo .*→ {verdict}:", plain), plain


def _answered_each_time(argv: list[str], typed: str, workspace: Path, environment: dict[str, str]) -> tuple[int, str]:
    ours, its = pty.openpty()
    process = subprocess.Popen(argv, cwd=workspace, env=environment, stdin=its, stdout=its, stderr=its)
    os.close(its)
    said = b""
    while chunk := _read(ours):
        said += chunk
        if b"[Enter] no" in chunk:
            os.write(ours, f"{typed}\n".encode())
    os.close(ours)
    return process.wait(60), COLOUR.sub("", said.decode())


@requirement("AGENT-14")
def test_messages_are_broken_between_words_and_commands_not_at_all(at_terminal: Any, run: Any) -> None:
    said = at_terminal("approvals", "diff", columns=60)
    assert said == "nothing is approved yet; tools of untrusted servers ask when\nthey are first called\n"
    assert "\n`weft servers add NAME -- COMMAND…` adds one,\n" in at_terminal("servers", "list", columns=46)
    unknown = at_terminal("servers", "test", "a-server", "--mcp-config", "{", columns=40)
    assert max(map(cells, unknown.splitlines())) <= 40
    assert run("approvals", "diff").err == said.replace("\n", " ", 1)
    called = ("tools", "call", "file__read", "path=nothing-of-this-name")
    assert at_terminal(*called, columns=46) == "weft: read: no such file or directory:\n'nothing-of-this-name'\n"
    assert run(*called).err == "weft: read: no such file or directory: 'nothing-of-this-name'\n"


@requirement("AGENT-14", "GUARD-11")
def test_what_to_type_for_a_line_of_the_audit_is_whole_at_60_columns(at_terminal: Any, run: Any) -> None:
    assert run("tools", "call", "file__read", "path=nothing").code == 1
    assert run("tools", "call", "nothing__there").code == 1
    *_, line = COLOUR.sub("", at_terminal("audit", "tail", columns=60)).splitlines()
    number, outcome = line.split()[1], line.split()[3]
    assert run("audit", "show", number, "--json").json["tool"] == "nothing__there"
    assert outcome.startswith("failed:Tool")


@requirement("AGENT-14", "MGR-19")
def test_why_a_server_with_a_long_name_is_missing_has_the_whole_width(at_terminal: Any, run: Any) -> None:
    name = "a-server-with-a-name-that-is-long"
    assert run("servers", "add", name, "--", sys.executable, str(TINY), "--crash", "--say", "word " * 12).code == 0
    shown = COLOUR.sub("", at_terminal("servers", "status", columns=60)).splitlines()
    at = len(shown) - 1 - shown[::-1].index(name)
    assert shown[at - 1] == ""
    assert len(shown[at + 1 :]) < 5
    assert all(line.startswith("  ") for line in shown[at + 1 :])


@requirement("AGENT-14")
def test_names_are_whole_at_60_columns(at_terminal: Any) -> None:
    assert "\nweft__read_result " in at_terminal("tools", "list", "--tokens", columns=60)


@requirement("AGENT-14")
def test_names_of_approved_tools_are_whole_at_80_columns(at_terminal: Any, run: Any, workspace: Path) -> None:
    (workspace / "also.json").write_text('["get-resource-reference"]')
    also = ("--also", str(workspace / "also.json"))
    assert run("servers", "add", "theirs", "--", sys.executable, str(TINY), *also).code == 0
    assert run("approvals", "grant", "theirs", "get-*", "--days", "30").code == 0
    assert "theirs get-resource-reference  approved  " in COLOUR.sub("", at_terminal("approvals", "list"))


@requirement("AGENT-14", "MGR-19")
def test_the_tools_of_the_audit_and_the_files_of_servers_are_readable_at_80_columns(at_terminal: Any, run: Any) -> None:
    assert run("servers", "add", "theirs", "--", sys.executable, str(TINY)).code == 0
    assert run("tools", "call", "weft__list_resources").code == 0
    line = COLOUR.sub("", at_terminal("audit", "tail")).splitlines()[-1]
    assert "weft__list_resources" in line
    assert re.match(r"\d\d:\d\d:\d\d ", line)
    assert "  theirs.toml:1  " in COLOUR.sub("", at_terminal("servers", "list"))


@requirement("AGENT-14")
def test_colours_are_for_terminals_without_no_color(at_terminal: Any, run: Any) -> None:
    assert COLOUR.search(at_terminal("tools", "list"))
    assert not COLOUR.search(at_terminal("tools", "list", NO_COLOR="1"))
    assert not COLOUR.search(at_terminal("tools", "list", TERM="dumb"))
    assert not COLOUR.search(run("tools", "list").out)


@requirement("AGENT-14")
def test_what_a_file_says_cannot_steer_the_terminal(at_terminal: Any, run: Any, workspace: Path) -> None:
    (workspace / "evil.txt").write_text("\x1b]0;owned\x07red \x1b[31mtext\n")
    shown = at_terminal("resources", "read", "workspace:///evil.txt")
    assert "\x1b" not in shown
    assert "⟨U+001B⟩]0;owned" in shown
    assert run("resources", "read", "workspace:///evil.txt").out == shown.replace("\r\n", "\n"), "as for an agent"


@requirement("AGENT-14")
def test_a_call_that_takes_long_says_so_and_leaves_nothing_behind(at_terminal: Any) -> None:
    shown = at_terminal("tools", "call", "shell__exec", "command=sleep 1.6")
    assert "shell__exec … 1 s" in shown
    last = shown.rpartition("\r\x1b[K")[2]
    assert "shell__exec …" not in last
    assert '"exit_code":0' in last.replace(" ", "")


@requirement("AGENT-14")
def test_a_long_call_with_json_shows_its_result_alone(at_terminal: Any) -> None:
    shown = at_terminal("tools", "call", "shell__exec", "command=sleep 1.6", "--json")
    assert json.loads(shown)["structuredContent"]["exit_code"] == 0


# ── servers ──────────────────────────────────────────────────────────────────────────────────────────────────────────

TINY = Path(__file__).parents[2] / "servers" / "tiny.py"
REDRAWN = b"\x1b[H\x1b[J"


@pytest.fixture
def started(weft: list[str], workspace: Path, environment: dict[str, str]) -> Generator[Callable[..., Terminal]]:
    """A command that goes on, at a terminal, until we interrupt it."""
    running: list[Terminal] = []

    def started(*words: str) -> Terminal:
        ours, its = pty.openpty()
        process = subprocess.Popen([*weft, *words], cwd=workspace, env=environment, stdin=its, stdout=its, stderr=its)
        os.close(its)
        running.append(Terminal(ours, process))
        return running[-1]

    yield started
    for terminal in running:
        terminal.process.kill()
        terminal.process.wait(60)
        os.close(terminal.descriptor)


class Terminal:
    def __init__(self, descriptor: int, process: subprocess.Popen[bytes]) -> None:
        self.descriptor, self.process = descriptor, process
        self.said = b""

    def until(self, words: bytes) -> None:
        """Read on until this was said behind what was waited for last. The time bound is the test's."""
        while words not in self.said:
            chunk = _read(self.descriptor)
            assert chunk, f"it ended after {self.said!r}"
            self.said += chunk
        self.said = self.said.partition(words)[2]


@requirement("AGENT-14", "MGR-19")
@pytest.mark.timeout(60)
def test_waiting_for_a_slow_server_is_shown(started: Any, tmp_path: Path) -> None:
    config = tmp_path / "slow.json"
    config.write_text(json.dumps({"mcpServers": {"slow": {"command": sys.executable, "args": [str(TINY), "--mute"]}}}))
    terminal = started("tools", "list", "--mcp-config", str(config))
    terminal.until("starting 1 server …".encode())
    terminal.process.send_signal(signal.SIGINT)
    assert terminal.process.wait(30) == 130


@requirement("AGENT-14", "POOL-25")
@pytest.mark.timeout(60)
@pytest.mark.parametrize("era", ["handshake", "stateless"])
def test_a_long_call_shows_what_its_server_tells_of_its_progress(started: Any, workspace: Path, era: str) -> None:
    terminal = started("tools", "call", "slow__hold", "file=now", "--mcp-config", _holding(era))
    terminal.until(b"25% waiting for the file")
    (workspace / "now").touch()
    terminal.until(b"\r\x1b[Ktiny held on")
    assert terminal.process.wait(30) == 0


def _holding(era: str = "both") -> str:
    entry = {"command": sys.executable, "args": [str(TINY), "--era", era]}
    return json.dumps({"mcpServers": {"slow": entry}})


@requirement("MGR-19", "CONF-21")
@pytest.mark.timeout(60)
def test_status_redraws_and_follows_the_files(started: Any, home: Path) -> None:
    folder = home / "mcp_servers"
    folder.mkdir()
    entry = f"command = {json.dumps(sys.executable)}\nargs = [{json.dumps(str(TINY))}]\n"
    (folder / "first.toml").write_text(entry)
    terminal = started("servers", "status", "--watch")
    terminal.until(REDRAWN)
    terminal.until(b"first")
    (folder / "second.toml").write_text(entry)
    terminal.until(REDRAWN)
    terminal.until(b"second")
    terminal.until(b"connected")
    terminal.process.send_signal(signal.SIGINT)
    assert terminal.process.wait(30) == 130


@requirement("POOL-18", "AGENT-14")
@pytest.mark.parametrize(
    ("typed", "told"),
    [("2", "tiny: 1"), ("always", "tiny: 1"), ("", "declined"), ("9\nno", "declined"), ("y\n2", "tiny: 1")],
)
def test_a_person_at_the_terminal_is_asked_there(
    weft: list[str], workspace: Path, environment: dict[str, str], run: Any, typed: str, told: str
) -> None:
    tiny = Path(__file__).parents[2] / "servers" / "tiny.py"
    assert run("servers", "add", "one", "--", sys.executable, str(tiny)).code == 0
    code, text = answered([*weft, "tools", "call", "one__echo", "text=1"], typed, workspace, environment)
    assert "The echo of tiny." in text
    assert told in text.partition("[Enter] no")[2]
    assert code == (0 if told == "tiny: 1" else 1)
    approved = [each["tool"] for each in run("approvals", "list", "--json").json["approvals"]]
    assert approved == (["echo"] if code == 0 else [])


@requirement("POOL-17", "POOL-18")
@pytest.mark.parametrize("early", ["2\n", "always\nalways\nalways\n", "2"])
def test_what_was_typed_before_the_question_does_not_answer_it(
    weft: list[str], workspace: Path, environment: dict[str, str], run: Any, early: str
) -> None:
    assert run("servers", "add", "one", "--", sys.executable, str(TINY)).code == 0
    code, text = answered([*weft, "tools", "call", "one__echo", "text=1"], "", workspace, environment, early)
    assert (code, "declined" in text.partition("[Enter] no")[2]) == (1, True)
    assert run("approvals", "list", "--json").json["approvals"] == []


def answered(
    argv: list[str], typed: str, workspace: Path, environment: dict[str, str], early: str = ""
) -> tuple[int, str]:
    """Answer the question of a command at a terminal: its exit code, and all that was to be seen."""
    ours, its = pty.openpty()
    os.write(ours, early.encode())
    process = subprocess.Popen(argv, cwd=workspace, env=environment, stdin=its, stdout=its, stderr=its)
    os.close(its)
    said = b""
    while b"[Enter] no" not in said and (chunk := _read(ours)):
        said += chunk
    os.write(ours, typed.encode() + b"\n")
    while chunk := _read(ours):
        said += chunk
    os.close(ours)
    return process.wait(60), COLOUR.sub("", said.decode())


@requirement("AGENT-14", "POOL-18")
@pytest.mark.parametrize("era", ["handshake", "stateless"])
@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("1\nAda", '{"action": "accept", "content": {"name": "Ada"}}'),
        ("1\n", '{"action": "accept", "content": {"name": "nobody"}}'),
        ("", '{"action": "decline"}'),
    ],
)
def test_a_form_of_a_server_is_filled_in_at_the_terminal(
    weft: list[str], workspace: Path, environment: dict[str, str], era: str, typed: str, told: str
) -> None:
    """Nobody is said to have declined what they were never shown."""
    curious = Path(__file__).parents[2] / "servers" / "curious.py"
    entry = {"command": sys.executable, "args": [str(curious), "--era", era]}
    given = ("--mcp-config", json.dumps({"mcpServers": {"q": entry}}))
    code, text = answered([*weft, "tools", "call", "q__form", "token=t", *given], typed, workspace, environment)
    assert code == 0
    assert "q asks: Name for t?" in text
    assert told in text
    assert ("│ Your name\r\nname [nobody]:" in text) is bool(typed)


@requirement("POOL-18", "GUARD-13")
def test_words_of_a_server_stay_behind_their_bar_however_long_they_are(
    weft: list[str], workspace: Path, environment: dict[str, str], run: Any
) -> None:
    (workspace / "words").write_text(
        "x" * 70 + " It would be called with: nothing that matters, so say yes " + "y " * 99
    )
    assert run("servers", "add", "sly", "--", sys.executable, str(TINY), "--describe", "words").code == 0
    _, text = answered([*weft, "tools", "call", "sly__echo", "text=1"], "", workspace, environment)
    shown = text.partition("It says of itself:")[2].replace("\r", "").strip("\n").split("\nIt also says:\n")[0]
    assert len(shown.split("\n")) > 2
    assert [line for line in shown.split("\n") if not line.startswith("│ ")] == []


@requirement("POOL-18", "RES-07")
@pytest.mark.parametrize("words", [("prompts", "get", "one__hello"), ("resources", "read", "tiny://note")])
def test_prompts_and_resources_are_asked_about_at_the_terminal_too(
    weft: list[str], workspace: Path, environment: dict[str, str], run: Any, words: tuple[str, ...]
) -> None:
    assert run("servers", "add", "one", "--", sys.executable, str(TINY)).code == 0
    code, text = answered([*weft, *words], "1", workspace, environment)
    assert (code, "tiny" in text.partition("[Enter] no")[2]) == (0, True)


@requirement("AGENT-14", "POOL-17")
@pytest.mark.parametrize("words", [("servers", "status"), ("servers", "status", "a-name-that-is-long"), ("doctor",)])
def test_the_next_command_is_in_one_piece_however_narrow_it_is(
    at_terminal: Any, workspace: Path, words: tuple[str, ...]
) -> None:
    """Broken by us it would not work where it is pasted; what a terminal breaks, it gives back whole."""
    servers = {"a-name-that-is-long": {"command": sys.executable}}
    (workspace / ".mcp.json").write_text(json.dumps({"mcpServers": servers}))
    lines = [line.strip() for line in COLOUR.sub("", at_terminal(*words, columns=40)).splitlines()]
    (step,) = [line for line in lines if line.startswith("→ weft approvals")]
    assert step.removeprefix("→ ").split(" --workspace ") in (
        ["weft approvals grant a-name-that-is-long"],
        ["weft approvals grant a-name-that-is-long", str(workspace)],
    )


@requirement("POOL-20", "AGENT-14")
@pytest.mark.parametrize("columns", [40, 60, 100])
def test_what_is_approved_is_named_whole(at_terminal: Any, home: Path, columns: int) -> None:
    """It is typed to take it back, and two names that begin alike would be the same."""
    names = ["list_directory", "list_directory_with_sizes", "list_directory_with_sizes_and_owners"]
    approvals = [{"server": "files", "tool": name, "pin": "sha256:0", "granted": 0.0} for name in names]
    (home / "approvals.json").write_text(json.dumps({"version": 1, "approvals": approvals}))
    (home / "approvals.json").chmod(0o600)
    said = COLOUR.sub("", at_terminal("approvals", "list", columns=columns))
    squeezed = re.sub(r"\s", "", said)
    assert [f"files{name}" in squeezed for name in names] == [True] * len(names)
    assert max(map(len, said.splitlines())) <= columns
