"""`weft servers status` beside a weft that serves: it shows the servers that run, and starts none of its own."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from clawft.app.status_socket import ANSWER_SECONDS, StatusQuestion, mark_of_place, running_wefts
from clawft.config.places import running_folder
from clawft.store.private_files import private_dir
from tests.requirements import requirement
from tests.servers.pipe import call, mcp_server
from tests.servers.weft import Served, gateway, weft

pytestmark = pytest.mark.slow  # processes that take their time

SERVERS = Path(__file__).parents[2] / "servers"
PATIENCE_S = 30.0

Row = dict[str, Any]


def config(**servers: list[str]) -> tuple[str, str]:
    entries = {
        name: {"command": sys.executable, "args": [str(SERVERS / program), *words]}
        for name, (program, *words) in servers.items()
    }
    return "--mcp-config", json.dumps({"mcpServers": entries})


def status(folder: Path, *words: str) -> dict[str, Row]:
    done = weft(folder, "servers", "status", "--json", *words)
    assert done.returncode == 0, done.stderr
    return {row["name"]: row for row in json.loads(done.stdout)["servers"]}


def until(folder: Path, seen: Callable[[dict[str, Row]], bool], *words: str) -> dict[str, Row]:
    """There is no event to wait for from out here."""
    end = time.monotonic() + PATIENCE_S
    while not seen(rows := status(folder, *words)):
        assert time.monotonic() < end, rows
    return rows


def wefts_of(folder: Path) -> set[int]:
    told = weft(folder, "servers", "status", "--json")
    return {row["weft"] for row in json.loads(told.stdout)["servers"]}


def of_the_gateway(served: Served, name: str) -> Callable[[dict[str, Row]], bool]:
    return lambda rows: name in rows and (rows[name]["weft"], rows[name]["state"]) == (served.pid, "connected")


@requirement("MGR-19", "MGR-07", "POOL-13")
def test_status_is_that_of_the_servers_that_run(tmp_path: Path) -> None:
    given = config(one=["tiny.py", "--say", "words of the one that runs"])
    with gateway(tmp_path, *given) as served:
        before = until(tmp_path, of_the_gateway(served, "one"))["one"]
        again = status(tmp_path)["one"]
        assert (again["pid"], again["restarts"], again["lost"]) == (before["pid"], 0, "")
        os.kill(before["pid"], signal.SIGKILL)
        back = until(tmp_path, lambda rows: rows["one"]["restarts"] == 1 and rows["one"]["state"] == "connected")["one"]
        assert back["pid"] != before["pid"]
        assert back["error"] == ""
        assert "was ended by SIGKILL" in back["lost"]
        told = weft(tmp_path, "servers", "status", "one")
        assert told.returncode == 0
        assert "words of the one that runs" in told.stdout
        assert "lost before" in told.stdout
        assert "did you mean one?" in weft(tmp_path, "servers", "status", "on").stderr
        fresh = status(tmp_path, "--fresh", *given)["one"]
        assert (fresh["weft"], fresh["pid"] != back["pid"], fresh["restarts"]) == (None, True, 0)
        assert "[one] starting " in weft(tmp_path, "servers", "status", "one", "--mcp-debug", *given).stderr
    assert status(tmp_path, *given)["one"]["weft"] is None, "nobody serves any more"


@requirement("SESS-05", "MGR-07")
def test_a_server_that_failed_and_is_tried_again_says_both(tmp_path: Path) -> None:
    told = weft(tmp_path, "servers", "status", "--json", *config(bad=["honest.py", "--die-on", "initialize"]))
    (row,) = json.loads(told.stdout)["servers"]
    assert (row["state"], row["scope"]) == ("pending", "command line")
    assert "exited with status 3" in row["error"]
    assert row["error"].endswith("; it is being tried again")


@requirement("MGR-19", "MGR-03")
def test_a_server_that_no_file_here_names_is_connected_anew_where_it_runs(tmp_path: Path) -> None:
    with gateway(tmp_path, *config(one=["tiny.py"])) as served:
        before = until(tmp_path, of_the_gateway(served, "one"))["one"]
        done = weft(tmp_path, "servers", "reconnect", "one")
        assert (done.returncode, done.stdout) == (0, "requested: every running weft reconnects one within a second\n")
        until(tmp_path, lambda rows: rows["one"]["pid"] not in (None, before["pid"]))
        for verb in ("remove", "enable", "disable"):
            refused = weft(tmp_path, "servers", verb, "one")
            assert refused.returncode == 2
            assert "from --mcp-config" in refused.stderr
        assert "weft servers list" in weft(tmp_path, "servers", "reconnect", "nobody").stderr
    assert weft(tmp_path, "servers", "add", "mine", "--", sys.executable).returncode == 0
    alone = weft(tmp_path, "servers", "reconnect", "mine")
    assert (alone.returncode, alone.stdout) == (0, "requested: no running weft that responds has mine now\n")


@requirement("MGR-19")
async def test_faults_of_a_server_stand_beside_its_name_and_no_other(tmp_path: Path) -> None:
    given = config(
        ids=["hostile.py", "ids"], junk=["hostile.py", "junk"], asks=["hostile.py", "asks", "6"], one=["tiny.py"]
    )
    async with mcp_server(tmp_path, *given) as pipe:
        await pipe.open()
        for id, name in enumerate(("ids", "junk", "asks"), start=10):
            await pipe.send(call(id, f"{name}__poke", {"text": "x"}))
            await pipe.answer(id)
        rows = until(tmp_path, lambda rows: bool(rows) and rows["one"]["weft"] == pipe.pid)
        assert {row["weft"] for row in rows.values()} == {pipe.pid}
        assert rows["ids"]["faults"]["answers nobody waited for"] > 0
        assert rows["junk"]["faults"]["messages that cannot be read"] > 0
        assert rows["asks"]["faults"]["questions refused"] > 0
        assert rows["one"]["faults"] == {}
        table = weft(tmp_path, "servers", "status").stdout.splitlines()
        assert [("questions refused" in line) for line in table[1:]] == [False, False, True, False]


@requirement("MGR-19", "CONF-23")
def test_only_a_weft_of_this_workspace_agent_and_configuration_is_asked(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    given = config(one=["tiny.py"])
    with gateway(tmp_path, *given) as served:
        until(tmp_path, of_the_gateway(served, "one"), *given)
        assert status(tmp_path, "--workspace", str(elsewhere)) == {}
        assert status(tmp_path, "--agent", "other") == {}
        other = status(tmp_path, *config(two=["tiny.py"]))
        assert {name: row["weft"] for name, row in other.items()} == {"two": None}


@requirement("MGR-19", "AGENT-14")
def test_of_one_server_in_several_wefts_there_is_one_document(tmp_path: Path) -> None:
    given = config(one=["tiny.py"])
    with gateway(tmp_path, *given) as first, gateway(tmp_path, *given) as second:
        for served in (first, second):
            end = time.monotonic() + PATIENCE_S
            while served.pid not in wefts_of(tmp_path):
                assert time.monotonic() < end
        told = json.loads(weft(tmp_path, "servers", "status", "one", "--json").stdout)
        assert [row["weft"] for row in told["servers"]] == [first.pid, second.pid]
        head, *rows = weft(tmp_path, "servers", "status").stdout.splitlines()
        assert [row[head.index("WEFT") :].split()[0] for row in rows] == [str(first.pid), str(second.pid)]
        both = weft(tmp_path, "servers", "status", "one").stdout
        assert [line.split()[1] for line in both.splitlines() if line.startswith("weft ")] == [
            str(first.pid),
            str(second.pid),
        ]


@requirement("MGR-19")
def test_a_weft_without_servers_says_how_to_get_some(tmp_path: Path) -> None:
    with gateway(tmp_path):
        said = weft(tmp_path, "servers", "status")
        assert (said.returncode, said.stdout) == (0, "")
        assert "weft servers import" in said.stderr


@requirement("MGR-19", "QUAL-13")
def test_a_killed_weft_leaves_nothing_that_misleads(tmp_path: Path) -> None:
    given, running = config(one=["tiny.py"]), tmp_path / "home" / "running"
    with gateway(tmp_path, *given) as served:
        until(tmp_path, of_the_gateway(served, "one"))
        (left,) = running.glob("*.sock")
        assert stat.S_IMODE(left.stat().st_mode) == 0o600
        assert stat.S_IMODE(running.stat().st_mode) == 0o700
        served.process.kill()
        served.process.wait()
    assert left.exists()
    assert status(tmp_path, *given)["one"]["weft"] is None
    with gateway(tmp_path, *given) as served:
        until(tmp_path, of_the_gateway(served, "one"))
        assert not left.exists()
        served.stop()
    assert list(running.iterdir()) == []


@contextmanager
def stopped(served: Served) -> Generator[None]:
    served.process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        served.process.send_signal(signal.SIGCONT)


@requirement("QUAL-13", "MGR-19")
def test_a_weft_that_does_not_answer_is_named_and_no_copies_of_its_servers_are_started(tmp_path: Path) -> None:
    given = config(one=["tiny.py"])
    with gateway(tmp_path, *given) as served:
        until(tmp_path, of_the_gateway(served, "one"))
        with stopped(served):
            told = weft(tmp_path, "servers", "status", *given)
            assert (told.returncode, told.stdout) == (1, "")
            assert f"process {served.pid}" in told.stderr
            assert f"kill -CONT {served.pid}" in told.stderr
            assert status(tmp_path, "--fresh", *given)["one"]["weft"] is None
            assert status(tmp_path, "--agent", "other") == {}, "that one serves another agent"


@requirement("QUAL-13", "MGR-19")
def test_beside_one_that_is_stopped_the_other_is_heard_soon(tmp_path: Path) -> None:
    given = config(one=["tiny.py"])
    with gateway(tmp_path, *given) as frozen, gateway(tmp_path, *given) as served:
        end = time.monotonic() + PATIENCE_S
        while wefts_of(tmp_path) != {frozen.pid, served.pid}:
            assert time.monotonic() < end
        with stopped(frozen):
            began = time.monotonic()
            told = weft(tmp_path, "servers", "status", "--json")
            took = time.monotonic() - began
        assert [row["weft"] for row in json.loads(told.stdout)["servers"]] == [served.pid]
        assert f"process {frozen.pid}, and does not answer" in told.stderr
        assert took < ANSWER_SECONDS


@requirement("QUAL-13", "MGR-19")
async def test_one_at_whose_door_too_many_wait_is_silent_and_not_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = private_dir(running_folder(tmp_path)) / f"17-aa-{mark_of_place('/here', 'me')}.sock"
    path.with_suffix(".key").write_text("key")
    with socket.socket(socket.AF_UNIX) as door, socket.socket(socket.AF_UNIX) as waits:
        monkeypatch.chdir(path.parent)  # a short path is all that the kernel takes
        door.bind(path.name)
        door.listen(0)
        waits.connect(path.name)
        for place, silent in (("/here", (17,)), ("/there", ())):
            found = await running_wefts(tmp_path, StatusQuestion("/here"), mark_of_place(place, "me"))
            assert (found.answering, found.silent) == ((), silent)
    found = await running_wefts(tmp_path, StatusQuestion("/here"), mark_of_place("/here", "me"))
    assert found.silent == (), "nobody listens there any more"


@requirement("QUAL-13")
def test_whoever_asks_nonsense_or_nothing_holds_up_nobody(tmp_path: Path) -> None:
    with gateway(tmp_path, *config(one=["tiny.py"])) as served:
        until(tmp_path, of_the_gateway(served, "one"))
        (path,) = (tmp_path / "home" / "running").glob("*.sock")
        for said in (b"\n", b"{}\n", b"[" * 9_000 + b"\n", b"x" * 1_000_000, b'{"here": 1}\n', b"\xff\xfe\n"):
            with connected(path) as asking:
                try:
                    asking.sendall(said)
                    assert asking.recv(1) == b""
                except ConnectionError:
                    continue  # it had enough
        silent = [connected(path) for _ in range(4)]
        try:
            with connected(path) as fifth:
                assert fifth.recv(1) == b"", "there are as many as may ask at a time"
        finally:
            for each in silent:
                each.close()
        assert until(tmp_path, of_the_gateway(served, "one"))["one"]["weft"] == served.pid


@requirement("POOL-22", "MGR-19")
def test_who_cannot_read_our_home_is_told_nothing(tmp_path: Path) -> None:
    """A server that Landlock holds reaches the socket: the kernel tells its name. It does not read what lies beside."""
    with gateway(tmp_path, *config(one=["tiny.py"])) as served:
        until(tmp_path, of_the_gateway(served, "one"))
        (path,) = (tmp_path / "home" / "running").glob("*.sock")
        key = path.with_suffix(".key")
        assert stat.S_IMODE(key.stat().st_mode) == 0o600
        told = [asked(path, {"here": str(tmp_path), "key": each}) for each in ("", "0" * 32, key.read_text())]
        assert [bool(each) for each in told] == [False, False, True]
        assert json.loads(told[2])["pid"] == served.pid
    assert list(path.parent.iterdir()) == []


def asked(path: Path, question: dict[str, str]) -> bytes:
    with connected(path) as ours:
        ours.settimeout(PATIENCE_S)
        ours.sendall(json.dumps(question).encode() + b"\n")
        return b"".join(iter(lambda: ours.recv(65536), b""))


def connected(path: Path) -> socket.socket:
    """By a path that the kernel takes, however deep the folder is."""
    folder = os.open(path.parent, os.O_PATH)
    ours = socket.socket(socket.AF_UNIX)
    ours.settimeout(PATIENCE_S)
    try:
        ours.connect(f"/proc/self/fd/{folder}/{path.name}")
    finally:
        os.close(folder)
    return ours
