"""The manners of the command line: exit codes, where things are printed, what is suggested."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from clawft._version import __version__
from clawft.cli.main import COMMANDS, main
from tests.requirements import requirement

SERVERS = Path(__file__).parents[1] / "servers"

HEAVY = (
    "argparse",
    "asyncio",
    "msgspec",
    "aiohttp",
    "uvloop",
    "logging",
    "tomllib",
    "importlib.metadata",
    "clawft.app",
)


@requirement("AGENT-14")
def test_version_and_help(run: Any) -> None:
    assert (run("--version").out, run("--version").code) == (f"weft {__version__}\n", 0)
    told = run("--help")
    assert told.code == 0
    assert all(f"\n  {command} " in told.out for command in COMMANDS)


def imported_by(words: list[str], environment: dict[str, str]) -> set[str]:
    """The modules loaded when the command has done its work."""
    script = f"import sys; from clawft.cli.main import main; main({words}); print(*sys.modules, file=sys.stderr)"
    told = subprocess.run(
        [sys.executable, "-c", script],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return set(told.stderr.split())


@requirement("QUAL-16")
@pytest.mark.parametrize("words", [["--version"], ["--help"]])
def test_version_and_help_import_nothing_heavy(words: list[str], environment: dict[str, str]) -> None:
    imported = imported_by(words, environment)
    assert "clawft.cli.main" in imported
    assert imported.isdisjoint(HEAVY)


@requirement("QUAL-16")
@pytest.mark.parametrize("words", [["--version"], ["--help"]])
def test_the_package_itself_imports_no_types(words: list[str], environment: dict[str, str]) -> None:
    assert imported_by(words, environment).isdisjoint({"typing", "re"})


@requirement("QUAL-16")
def test_serving_on_stdio_imports_nothing_of_http_and_no_other_command(environment: dict[str, str]) -> None:
    imported = imported_by(["mcp-server"], environment)
    others = {f"clawft.cli.{module}" for module, _ in COMMANDS.values()} - {"clawft.cli.mcp_server"}
    assert "clawft.cli.mcp_server" in imported
    assert imported.isdisjoint({"aiohttp", "httptools", "importlib.metadata", "email", "tomllib", "argparse", *others})
    assert imported.isdisjoint(
        {"clawft.cli.screen", "clawft.store.secrets", "clawft.upstream", "clawft.gateway.exchange"}
    )


@requirement("QUAL-16")
def test_serving_over_http_imports_nothing_of_logins(environment: dict[str, str]) -> None:
    """Most gateways know one token, and no server that needs a login."""
    code = "import sys, clawft.app, clawft.app.access, clawft.gateway.http.app; print('clawft.auth' in sys.modules)"
    told = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60, check=True
    )
    assert told.stdout.split() == ["False"]


ROOMS = (
    "clawft.builtin",
    "clawft.gateway.batch",
    "clawft.gateway.fast_calls",
    "clawft.gateway.exchange",
    "clawft.gateway.task",
    "clawft.guard.editors",
    "clawft.link.http_in",
    "clawft.link.http_out",
    "clawft.provider.function",
    "clawft.provider.server.call.slow_path",
    "clawft.provider.server.call.plain_call",
    "clawft.provider.server.log_messages",
    "clawft.provider.server.personal_server",
    "clawft.provider.server.question.handshake_questions",
    "clawft.provider.server.question.server_questions",
    "clawft.provider.server.relay",
    "clawft.provider.server.server_reads",
    "clawft.upstream.session.mirrored_arguments",
    "clawft.wire.blocks",
    "clawft.wire.headers",
    "clawft.wire.resources_and_prompts",
    "clawft.wire.stateless",
    "clawft.wire.tasks",
)
"""What a gateway has no use for until somebody calls, reads, asks, or speaks without a handshake."""
LATER = ("clawft.app.server_rows", "clawft.app.status_socket")
"""Loaded a moment after the start, which may come before or after the first list."""
WITHOUT_BUBBLEWRAP = ("clawft.sandbox.landlock", "clawft.sandbox.removal", "clawft.sandbox.temporary")
"""What else holds a server where there is none."""
MOST_WITH_A_SERVER, MOST_ALONE = 215, 145
"""Modules of ours to the first list, with one server or none: each costs a start as much as many calls."""
UNUSED = {
    "hashlib",
    "clawft.config.jsonc",
    "clawft.provider.explain",
    "clawft.provider.thread",
    "clawft.store.files",
    "clawft.wire.cancel",
    "clawft.wire.codes",
    "clawft.wire.hidden_characters",
}
"""What our own tools have no use for until somebody calls one, keeps something, cancels, or hides a character."""

FIRST_LIST = """\
{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":\
{"name":"test","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/list"}
"""


def first_list(words: list[str], environment: dict[str, str], workspace: Path) -> tuple[str, list[str]]:
    """What a server says up to its first list, and every module it has loaded by then, or a moment later."""
    told = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "clawft", "mcp-server", *words],
        input=FIRST_LIST,
        cwd=workspace,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    loaded = [line.rpartition("|")[2].strip() for line in told.stderr.splitlines() if line.startswith("import time:")]
    return told.stdout, [module for module in loaded if module not in LATER]


def ours(loaded: list[str]) -> int:
    return sum(module.startswith("clawft") and module not in WITHOUT_BUBBLEWRAP for module in loaded)


@requirement("QUAL-16")
def test_our_own_tools_are_listed_before_it_is_loaded_how_they_are_called(
    environment: dict[str, str], workspace: Path
) -> None:
    told, loaded = first_list([], environment, workspace)
    assert '"name":"file__read"' in told
    assert not UNUSED.intersection(loaded)
    assert ours(loaded) <= MOST_ALONE


@requirement("QUAL-16")
def test_a_gateway_lists_the_tools_of_a_server_before_it_loads_how_they_are_called(
    environment: dict[str, str], workspace: Path
) -> None:
    server = {"command": sys.executable, "args": [str(SERVERS / "echo.py")]}
    config = json.dumps({"mcpServers": {"echo": server}})
    told, loaded = first_list(["--no-builtin", "--mcp-config", config], environment, workspace)
    assert '"name":"echo__echo"' in told
    assert "clawft.provider.server.server_provider" in loaded
    early = [module for module in loaded if any(f"{module}.".startswith(f"{room}.") for room in ROOMS)]
    assert not early
    assert ours(loaded) <= MOST_WITH_A_SERVER


@requirement("AGENT-14")
def test_a_poor_encoding_is_no_crash(run: Any) -> None:
    done = run("--help", PYTHONIOENCODING="ascii")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("usage: weft COMMAND \\u2026\n")


@requirement("AGENT-14")
def test_no_command_is_wrong_usage(run: Any) -> None:
    done = run()
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("usage: weft COMMAND")


@requirement("AGENT-14")
@pytest.mark.parametrize(
    ("words", "what", "hint"),
    [
        (["tols", "list"], "unknown command: tols", "did you mean tools?"),
        (["--verson"], "unknown option: --verson", "did you mean --version?"),
        (["--json", "tools", "list"], "unknown option: --json", "weft tools list --json"),
        (
            ["--agent", "a b", "servers", "add", "x", "--", "y"],
            "unknown option: --agent",
            "weft servers add x --agent 'a b' -- y",
        ),
        (["--bogus", "--", "tools"], "unknown option: --bogus", "weft --help"),
        ([""], "unknown command: ''", "weft --help"),
        (["qqqqqq"], "unknown command: qqqqqq", "weft --help"),
        (["status"], "unknown command: status", "weft servers status, or weft auth status"),
        (["grant", "x"], "unknown command: grant", "weft approvals grant"),
        (["serve"], "unknown command: serve", "weft gateway serves over HTTP, weft mcp-server on stdin"),
        (["tools", "lst"], "unknown tools command: lst", "did you mean list?"),
        (["servers", "logs", "x"], "unknown servers command: logs", "weft servers status NAME"),
        (["config", "set", "a", "b"], "unknown config command: set", "weft config path shows the files to write"),
        (["tools"], "tools what? One of: list, search, show, call", "weft tools --help"),
        (["tools", "--json", "list"], "tools what? One of: list, search, show, call", "weft tools --help"),
        (["tools", "list", "--alow", "x"], "unknown option: --alow", "did you mean --allow?"),
        (["tools", "list", "--alow=x"], "unknown option: --alow=x", "did you mean --allow?"),
        (["servers", "list", "extra"], "unknown argument: extra", "weft servers list --help"),
        (["tools", "list", "--surface", "serch"], "invalid choice: 'serch'", "did you mean search?"),
        (["gateway", "--bogus"], "unknown option: --bogus", "weft gateway --help"),
        (["tools", "list", "--names", "odd"], "invalid choice: 'odd'", "weft tools list --help"),
        (["tools", "call"], "the following arguments are required: NAME\n", "weft tools call --help"),
        (["gateway", "--port", "70000"], "a port is 0 to 65535, not '70000'", "weft gateway --help"),
        (["gateway", "--no-auth", "--host", "0.0.0.0"], "would open every tool to the network", "leave out --no-auth"),
    ],
)
def test_wrong_usage_says_what_was_meant(run: Any, words: list[str], what: str, hint: str) -> None:
    done = run(*words)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("weft: ")
    assert what in done.err
    assert f"\nhint: {hint}" in done.err


@requirement("AGENT-14")
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(run: Any, command: str) -> None:
    done = run(command, "--help")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"usage: weft {command}")


@requirement("AGENT-14")
@pytest.mark.parametrize("words", [[], ["tools"], ["tools", "call"], ["gateway"]])
def test_help_may_be_the_first_word_too(run: Any, words: list[str]) -> None:
    assert run("help", *words) == run(*words, "--help")


@requirement("CONF-13", "AGENT-14")
def test_a_wrong_configuration_ends_every_command_with_file_and_line(run: Any, home: Path) -> None:
    (home / "config.toml").write_text("[tools]\nalow = []\n")
    done = run("tools", "list")
    assert (done.code, done.out) == (2, "")
    told = f"weft: {home}/config.toml:2: unknown key 'tools.alow', did you mean 'tools.allow'?\nhint: "
    assert done.err.startswith(told)


@requirement("AGENT-14")
@pytest.mark.parametrize("words", [["tools", "list"], ["servers", "list"], ["doctor"], ["mcp-server"]])
def test_a_folder_that_is_gone_is_no_traceback(
    weft: list[str], environment: dict[str, str], tmp_path: Path, words: list[str]
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    leave = f"cd {gone} && rmdir {gone} && exec {shlex.join([*weft, *words])} </dev/null"
    done = subprocess.run(["sh", "-c", leave], env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "weft: the current folder does not exist any more\nhint: cd to a folder that exists\n"


@requirement("AGENT-14")
@pytest.mark.parametrize("words", ["tools list", "mcp-server", "gateway", "servers status", "agent -p x"])
def test_too_few_files_that_may_be_open_are_no_traceback(
    weft: list[str], environment: dict[str, str], words: str
) -> None:
    done = subprocess.run(
        ["sh", "-c", f"ulimit -n 8; exec {shlex.join(weft)} {words}"],
        env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "weft: the system lets us open 8 files, and 32 are needed\nhint: ulimit -n 1024\n"


@requirement("AGENT-14")
@pytest.mark.parametrize(
    ("raised", "told"),
    [
        ("MemoryError", "there is not enough memory"),
        ("OSError(errno.EMFILE, 'Too many open files')", "no more files can be opened: Too many open files"),
        ("OSError(errno.EMFILE, 'Too many open files', '/etc/x')", "no more files can be opened: Too many open files"),
    ],
)
def test_nor_is_what_is_used_up_later(environment: dict[str, str], raised: str, told: str) -> None:
    program = f"""
import asyncio, errno, sys
from clawft.cli import main

async def work() -> None: ...

def fail(words):
    never_awaited = work()
    raise {raised}

main._run = fail
sys.exit(main.main(["tools"]))
"""
    argv = [sys.executable, "-c", program]
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=60, check=False)
    said, hint = done.stderr.splitlines()
    assert (done.returncode, said, "ulimit" in hint) == (1, f"weft: {told}", True)


@requirement("AGENT-14")
@pytest.mark.parametrize("words", [["config", "show"], ["gateway", "--port", "0"]])
def test_output_that_finds_no_room_is_no_traceback(
    weft: list[str], environment: dict[str, str], words: list[str]
) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*weft, *words],
            env=environment, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False,
        )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr == (
        "weft: the output cannot be written: No space left on device\nhint: make room where it is written\n"
    )


@requirement("AGENT-14")
@pytest.mark.parametrize("closed", [">&-", "<&- >&-"])
@pytest.mark.parametrize("words", [["tools", "list"], ["config", "show"]])
def test_a_stream_that_was_closed_before_we_began_is_no_crash(
    weft: list[str], environment: dict[str, str], closed: str, words: list[str]
) -> None:
    line = f"exec {shlex.join([*weft, *words])} {closed}"
    done = subprocess.run(["sh", "-c", line], env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@requirement("AGENT-14")
def test_a_home_that_cannot_be_used_is_no_traceback(run: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = run("tools", "list", CLAWFT_HOME=str(tmp_path / "file" / "home"))
    assert done.code in (1, 2)
    assert re.match(r"weft: .*Not a directory\nhint: .+\n$", done.err)


@requirement("AGENT-14")
def test_a_reader_that_had_enough_is_no_error(weft: list[str], environment: dict[str, str]) -> None:
    process = subprocess.Popen(
        [*weft, "completion", "bash"], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout
    assert process.stderr
    process.stdout.close()
    assert process.wait(60) == 0
    assert process.stderr.read() == b""
    process.stderr.close()


INTERRUPTED_IMPORT = """
import sys

class Interrupts:
    def find_spec(self, name, *_):
        if name == "clawft.cli.main":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupts())
from clawft.__main__ import main
sys.exit(main())
"""


def test_ctrl_c_while_the_command_is_loaded_is_a_quiet_end() -> None:
    done = subprocess.run([sys.executable, "-c", INTERRUPTED_IMPORT], capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")


@requirement("AGENT-14")
def test_what_breaks_because_of_ctrl_c_is_no_traceback_either(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(words: list[str]) -> int:
        try:
            raise KeyboardInterrupt
        finally:
            [].pop()

    monkeypatch.setattr("clawft.cli.main._run", interrupted)
    assert main(["tools"]) == 130


@requirement("AGENT-14")
def test_ctrl_c_ends_a_call_with_130_and_no_traceback(
    weft: list[str], environment: dict[str, str], workspace: Path
) -> None:
    """The child tells that it runs by what it writes; then we interrupt."""
    os.mkfifo(workspace / "started")
    process = subprocess.Popen(
        [
            *weft,
            "tools",
            "call",
            "shell__exec",
            'command=python3 -c \'open("started","w").close();import time;time.sleep(60)\'',
        ],
        env=environment,
        cwd=workspace,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with (workspace / "started").open() as started:
        started.read()  # opens when the child does
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, "", "")


@requirement("AGENT-14")
def test_ctrl_c_ends_the_waiting_for_a_text_that_does_not_end(
    weft: list[str], environment: dict[str, str], workspace: Path
) -> None:
    """A loop hears of the first Ctrl-C once we are done, and that is when the text of `@pipe`, or `@-`, has ended."""
    pipe = workspace / "pipe"
    os.mkfifo(pipe)
    process = subprocess.Popen(
        [*weft, "tools", "call", "memory__store", "key=a", "value=@pipe"],
        env=environment,
        cwd=workspace,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with pipe.open("w"):  # opens when it reads
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, "", "")


INTERRUPTED_WHILE_LOADING = """
import os, signal, sys
from clawft.cli.main import main

def look(frame, event, argument):
    if frame.f_code.co_filename.endswith("datetime.py"):
        sys.setprofile(None)
        os.kill(os.getpid(), signal.SIGINT)

sys.setprofile(look)
sys.exit(main(["config", "show"]))
"""


@requirement("AGENT-14")
def test_ctrl_c_while_we_load_is_no_crash(environment: dict[str, str], workspace: Path) -> None:
    """msgspec looks away when what it needs cannot be loaded, and ends the process later."""
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_WHILE_LOADING],
        env=environment,
        cwd=workspace,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


@requirement("AGENT-14")
@pytest.mark.parametrize(
    ("command", "code", "told"),
    [
        ("audit show od\udcff", 2, b"is not UTF-8 text"),
        ("tools call memory__recall key=od\udcff", 2, b"is not UTF-8 text"),
        ('tools call memory__recall --args {"key":"od\udcff"}', 2, b"is not UTF-8 text"),
        ("tools search od\udcff", 0, b""),
        ("tools call od\udcff", 2, b"is not UTF-8 text"),
        ("resources read od\udcff", 2, b"is not UTF-8 text"),
        ("resources read workspace:///od\udcff", 2, b"is not UTF-8 text"),
    ],
)
def test_a_word_that_is_no_text_ends_in_words(tmp_path: Path, command: str, code: int, told: bytes) -> None:
    done = subprocess.run(
        [sys.executable.encode(), b"-m", b"clawft", *os.fsencode(command).split()],
        cwd=tmp_path,
        env={**os.environ, "CLAWFT_HOME": str(tmp_path)},
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, told in done.stderr, b"Traceback" in done.stderr) == (code, True, False), done.stderr
