"""Secrets that cannot be had: one clear error that names the reference and never the value, and nothing is left."""

from __future__ import annotations

import asyncio
import base64
import os
import sys
import time
from pathlib import Path

import psutil
import pytest
from msgspec import Struct

from clawft.errors import InvalidConfig
from clawft.store import concealed_secrets, secret_command
from clawft.store.secrets import resolve
from tests.requirements import requirement
from tests.servers.pipe import mcp_server, text_of
from tests.servers.weft import outliving, weft

CANARY = "canary0123456789"
PAUSE_S = 0.02
TINY = Path(__file__).parents[1] / "servers" / "tiny.py"


def file_of(folder: Path, content: bytes, mode: int = 0o600) -> str:
    path = folder / "file"
    path.write_bytes(content)
    path.chmod(mode)
    return f"secret://file{path}"


def command_of(folder: Path, code: str) -> str:
    script = folder / "command.py"
    script.write_text(f"import os, subprocess, sys, time\nCANARY = {CANARY!r}\n{code}\n")
    return f"secret://command/{sys.executable} {script}"


@requirement("CONF-14")
def test_what_is_there_is_resolved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMPTY", "")
    assert resolve(file_of(tmp_path, b"one\ntwo\r\n")) == "one\ntwo"
    assert resolve(command_of(tmp_path, "print(CANARY)")) == CANARY
    assert resolve("secret://env/EMPTY") == ""
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "file")
    assert resolve(f"x ${{secret://file{link}}} y") == "x one\ntwo y"


FILES = [
    (b"", 0o600, "it is empty"),
    (CANARY.encode() * 5_000, 0o600, "it has more than 65536 characters"),
    (CANARY.encode(), 0o666, "everybody may change it (chmod 600 "),
    (CANARY.encode() + b"\xff", 0o600, "it is not UTF-8 text"),
    (CANARY.encode() + b"\0", 0o600, "it holds the control character U+0000"),
    (b"\x1b[31m" + CANARY.encode(), 0o600, "it holds the control character U+001B"),
]


@requirement("CONF-14")
@pytest.mark.parametrize(("content", "mode", "told"), FILES)
def test_a_file_that_holds_none(tmp_path: Path, content: bytes, mode: int, told: str) -> None:
    refused(file_of(tmp_path, content, mode), told)


@requirement("CONF-14")
@pytest.mark.parametrize("kind", ["fifo", "folder", "huge", "missing", "loop", "device"])
def test_what_is_no_file_is_refused_at_once(tmp_path: Path, kind: str) -> None:
    path = tmp_path / kind
    told = "it is not a regular file"
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
        told = "Is a directory"
    elif kind == "huge":
        with path.open("wb") as file:
            file.truncate(2 * 1024**3)
        told = "more than 65536"
    elif kind == "loop":
        path.symlink_to(path)
        told = "symbolic links"
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        told = "No such file"
    refused(f"secret://file{path}", told)


COMMANDS = [
    ("print(CANARY); print(CANARY, file=sys.stderr); sys.exit(3)", "it ended with status 3"),
    ("pass", "it is empty"),
    ("sys.stdout.write('\\x1b[31m' + CANARY)", "control character U+001B"),
    ("while True: sys.stdout.write(CANARY * 1000)", "more than 65536"),
    pytest.param(
        "print(CANARY); sys.stdout.flush(); time.sleep(1000)", "it did not end within 1 s", marks=pytest.mark.slow
    ),
    pytest.param(
        "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(1000)']); print(CANARY)",
        "within 1 s",
        marks=pytest.mark.slow,
    ),
]


@requirement("CONF-14", "POOL-21")
@pytest.mark.parametrize(("code", "told"), COMMANDS)
def test_a_command_that_gives_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, told: str) -> None:
    monkeypatch.setattr(secret_command, "COMMAND_SECONDS", 1.0)
    before = set(psutil.Process().children(recursive=True))
    refused(command_of(tmp_path, code), told)
    assert set(psutil.Process().children(recursive=True)) == before


@requirement("CONF-14")
@pytest.mark.parametrize(
    ("reference", "told"),
    [
        ("secret://env/NOT_SET_ANYWHERE", "export NOT_SET_ANYWHERE=…"),
        ("secret://command/no-such-program-anywhere", "No such file"),
        ("secret://command/'unclosed", "a quote in it is not closed"),
        ("secret://command/ ", "it names no program"),
        ("secret://file/~nobody-knows-them/x", "No such file"),
        ("secret://file/no/such file", "ls -l '/no/such file'"),
        ("secret://odd/x", "one of env, file, command, keyring"),
        ("secret://env/", "secret://env/NAME"),
        ("secret://keyring/", "secret://keyring/SERVICE/USER"),
    ],
)
def test_references_that_lead_nowhere(reference: str, told: str) -> None:
    refused(reference, told)


@requirement("CONF-14")
def test_a_keyring_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "keyring", None)
    refused("secret://keyring/github", "pip install 'clawft[keyring]'")


@requirement("CONF-14")
@pytest.mark.parametrize(
    ("backend", "told"),
    [("fail", "this machine has no keyring"), ("null", "keyring set github github")],
)
def test_a_keyring_without_the_entry_or_none_at_all(monkeypatch: pytest.MonkeyPatch, backend: str, told: str) -> None:
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", f"keyring.backends.{backend}.Keyring")
    keyring = pytest.importorskip("keyring")
    before = keyring.get_keyring()
    keyring.core.init_backend()
    try:
        refused("secret://keyring/github", told)
    finally:
        keyring.set_keyring(before)


class OddKeyring(Struct):
    """Gives what it likes, or raises it."""

    answer: object

    def get_password(self, service: str, user: str) -> object:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@requirement("CONF-14")
@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (RuntimeError("the bus was told hunter2"), "secret://keyring/github cannot be read: RuntimeError"),
        (b"hunter2", "something else than a text"),
        (42, "something else than a text"),
    ],
    ids=["raises", "bytes", "number"],
)
def test_a_keyring_that_does_what_it_likes_is_told_without_what_it_says(
    monkeypatch: pytest.MonkeyPatch, answer: object, told: str
) -> None:
    monkeypatch.setattr(pytest.importorskip("keyring"), "get_password", OddKeyring(answer).get_password)
    assert "hunter2" not in refused("secret://keyring/github", told)


def refused(reference: str, told: str) -> str:
    with pytest.raises(InvalidConfig) as caught:
        resolve(reference)
    said = f"{caught.value} {caught.value!r}"
    assert reference in said
    assert told in said
    assert CANARY not in said
    assert caught.value.__context__ is None or caught.value.__suppress_context__, "no traceback shows it either"
    return said


@requirement("CONF-14", "QUAL-12")
def test_a_pipe_that_nobody_writes_to_holds_no_server_up(tmp_path: Path) -> None:
    """From outside: the program ends, and says which reference it was."""
    home = tmp_path / "home" / "mcp_servers"
    home.mkdir(parents=True, mode=0o700)
    os.mkfifo(tmp_path / "fifo")
    file = home / "s.toml"
    file.write_text(f'command = "{sys.executable}"\nenv = {{ A = "secret://file{tmp_path}/fifo" }}\n')
    file.chmod(0o600)
    done = weft(tmp_path, "servers", "test", "s")
    assert done.returncode == 1
    assert f"secret://file{tmp_path}/fifo cannot be read: it is not a regular file" in done.stderr


@requirement("CONF-14")
def test_of_those_that_come_and_go_the_newest_are_not_said() -> None:
    """Tokens are renewed as long as we run: what is remembered of them has a bound."""
    tokens = [f"passing-{number:04}" for number in range(2 * concealed_secrets.MAX_PASSING)]
    for token in tokens:
        concealed_secrets.keep_concealed_for_now(token, "")
    newest = f"{tokens[-1]}, {tokens[-1].encode().hex()}"
    assert concealed_secrets.conceal(newest) == "…, …"
    assert concealed_secrets.conceal(tokens[0]) == tokens[0]


@requirement("CONF-14")
@pytest.mark.parametrize(
    "said",
    [
        "p%40ss/wörd+%27q%20%28r%29",
        "p%40ss%2fw%c3%b6rd%2b'q+(r)",
        "p@ss%2Fw%C3%B6rd%2B%27q%20(r)",
        "p%40ss/w%C3%B6rd%2B'q (r)",
        "%70@ss/w%C3%B6rd%2B'q (r)",
        "p@ss/wörd+&#39;q (r)",
    ],
)
def test_what_programs_spell_in_an_address_differs_and_is_concealed_all_the_same(said: str) -> None:
    concealed_secrets.keep_concealed("p@ss/wörd+'q (r)")
    assert concealed_secrets.conceal(f"GET /a%1Bb?key={said}&c=100%25 50% +") == "GET /a%1Bb?key=…&c=100%25 50% +"


@requirement("CONF-14")
def test_what_is_no_secret_keeps_its_signs() -> None:
    concealed_secrets.keep_concealed("another+secret")
    for said in ("100% of 5%", "%E4%ZZ%41 + %2B", "a%0Ab", "%" * 9):
        assert concealed_secrets.conceal(said) == said


@requirement("CONF-14")
def test_base_64_in_lines_is_concealed_line_by_line() -> None:
    token = "".join(f"part{number:03}-" for number in range(20))
    concealed_secrets.keep_concealed(token)
    *lines, _ = base64.encodebytes(token.encode()).decode().splitlines()
    assert [concealed_secrets.conceal(f"I have {line}") for line in lines] == ["I have …"] * len(lines)


@pytest.mark.slow
@requirement("CONF-14", "QUAL-02")
def test_a_header_of_many_lines_is_told_as_that(tmp_path: Path) -> None:
    (tmp_path / "key").write_text(f"{CANARY}\nX-Evil: 1\n")
    folder = tmp_path / "home" / "mcp_servers"
    folder.mkdir(parents=True)
    (folder / "one.toml").write_text(
        f'url = "http://127.0.0.1:9/mcp"\nheaders = {{ X-Key = "secret://file{tmp_path}/key" }}\n'
    )
    told = weft(tmp_path, "servers", "test", "one")
    assert (told.returncode, "the header X-Key has more than one line" in told.stderr) == (1, True), told.stderr
    assert CANARY not in told.stdout + told.stderr


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a command may outlive our death by a signal")
@requirement("CONF-14", "CONF-21")
@pytest.mark.parametrize("end", ["end of input", "signal", "two signals", "killed"])
async def test_commands_that_hang_hold_up_neither_calls_nor_our_end(tmp_path: Path, end: str) -> None:
    """A keeper of secrets that waits for somebody to type a password, and more servers than there are threads."""
    hang = tmp_path / "hang.py"
    helper = f"import subprocess, sys\nhelper = subprocess.Popen(['sleep', '61.{os.getpid()}'])\n"
    hang.write_text(f"{helper}open({str(tmp_path / 'began')!r}, 'w').close()\nimport time\ntime.sleep(60)\n")
    folder = tmp_path / "home" / "mcp_servers"
    folder.mkdir(parents=True)
    for number in range(40):
        reference = f"secret://command/{sys.executable} {hang}"
        (folder / f"s{number}.toml").write_text(f'command = "{sys.executable}"\nenv = {{ KEY = "{reference}" }}\n')
    (folder / "steady.toml").write_text(f'command = "{sys.executable}"\nargs = ["{TINY}"]\ntrust = "trusted"\n')
    async with mcp_server(tmp_path) as pipe:
        await pipe.open()
        while not await asyncio.to_thread((tmp_path / "began").exists):  # noqa: ASYNC110 - another process makes it
            await asyncio.sleep(PAUSE_S)
        began = time.monotonic()
        answer = await pipe.ask("tools/call", {"name": "file__list", "arguments": {"path": "."}})
        assert "began" in text_of(answer)
        asked = [each for each in psutil.Process(pipe.pid).children() if str(hang) in each.cmdline()]
        helpers = [helper for each in asked for helper in each.children()]
        assert helpers
        running = asked + helpers
        if end == "end of input":
            pipe.stdin.close()
        elif end == "killed":
            pipe.process.kill()
        else:
            pipe.process.terminate()
        if end == "two signals":
            pipe.process.terminate()
        await pipe.process.wait()
        assert time.monotonic() - began < secret_command.COMMAND_SECONDS / 2
        assert running
        assert outliving(running, 2.0) == []
