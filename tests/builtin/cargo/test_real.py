"""Real cargo, on small projects."""

import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import msgspec
import psutil
import pytest

from clawft.errors import ClawftError
from tests.builtin.build.trusting import Listener, call_as, provider_of, running_in, until
from tests.builtin.cargo.crates import HANGING_BUILD, WAITING_BUILD, crate, needs_cargo, project
from tests.builtin.cargo.loopback import registry
from tests.requirements import requirement

pytestmark = [pytest.mark.slow, needs_cargo]

TOKEN = "a-token-only-the-registry-knows"


async def call(workspace: Path, name: str, listener: Listener | None = None, **arguments: Any) -> Any:
    done = await call_as(listener or Listener(), provider_of("cargo", workspace), name, **arguments)
    return done.structured_content


@requirement("CARGO-09", "test_cargo_build_integration", "CARGO-06")
async def test_a_workspace_is_built_checked_and_linted(trusting: Path) -> None:
    project(trusting)
    listener = Listener()
    told = await call(trusting, "build", listener, working_dir=".")
    assert (told["success"], told["exit_code"], told["timed_out"]) == (True, 0, False)
    (unused,) = told["diagnostics"]
    assert (unused["code"], unused["file"], unused["line"]) == ("unused_variables", "sums/src/lib.rs", 7)
    (fix,) = unused["suggestions"]
    assert (fix["machine_applicable"], fix["edits"][0]["replacement"]) == (True, "_unused")
    assert {message["reason"] for message in told["messages"]} >= {"compiler-artifact", "compiler-message"}
    assert (trusting / "target" / "debug" / "app").exists()
    steps = [progress for progress, _, _ in listener.heard]
    assert steps == sorted(set(steps))
    assert any("Compiling sums v0.1.0" in message for _, _, message in listener.heard)

    told = await call(trusting, "clippy", working_dir="sums", extra_args=["--all-targets"])
    codes = [each["code"] for each in told["diagnostics"]]
    assert sorted(codes) == ["clippy::needless_return", "unused_variables"], "each once, for the library and its tests"
    told = await call(trusting, "clippy", working_dir="sums", extra_args=["--", "-D", "warnings"])
    assert (told["success"], told["diagnostics"][0]["level"]) == (False, "error")

    told = await call(trusting, "check", working_dir=".", profile="release", package="sums", features=["loud"])
    assert told["success"]
    told = await call(trusting, "check", working_dir=".", package="nope")
    assert (told["success"], told["exit_code"]) == (False, 101)
    assert "nope" in told["stderr"]


@requirement("CARGO-03", "CARGO-09")
async def test_a_broken_build_is_a_result(trusting: Path) -> None:
    crate(trusting / "broken", "broken", library="pub fn f() -> i32 {\n    true\n}\n")
    for name in ("build", "test"):
        told = await call(trusting, name, working_dir="broken")
        assert (told["success"], told["exit_code"]) == (False, 101)
        error = told["diagnostics"][0]
        assert (error["level"], error["code"], error["file"], error["line"]) == ("error", "E0308", "src/lib.rs", 2)


@requirement("CARGO-09", "CARGO-06")
async def test_tests_are_reported_one_by_one(trusting: Path) -> None:
    project(trusting)
    told = await call(trusting, "test", working_dir="sums", extra_args=["--no-fail-fast"])
    assert (told["success"], told["exit_code"]) == (False, 101)
    tests = told["tests"]
    assert (tests["passed"], tests["failed"], tests["ignored"]) == (3, 1, 1)
    first = tests["cases"][0]
    assert (first["name"], first["ending"], first["suite"]) == ("tests::bad", "failed", "src/lib.rs")
    assert "seen before" in first["output"]
    assert "sums are hard" in first["output"]
    assert [case["name"] for case in tests["cases"] if case["suite"] == "doc sums"] == [
        "sums/src/lib.rs - add (line 3)"
    ]
    told = await call(trusting, "test", working_dir="sums", extra_args=["--lib", "--", "--exact", "tests::good"])
    assert told["success"]
    assert [case["name"] for case in told["tests"]["cases"]] == ["tests::good"]


@requirement("CARGO-07")
async def test_a_build_script_that_hangs_is_gone_at_the_deadline(trusting: Path) -> None:
    folder = crate(trusting / "hanging", "hanging", library="\n", build=HANGING_BUILD)
    assert (await call(trusting, "build", working_dir="hanging"))["success"]
    (folder / "hang").write_text("")
    began = time.monotonic()
    running = asyncio.create_task(call(trusting, "build", working_dir="hanging", timeout_s=3))
    await until((folder / "pids").exists)
    assert len(running_in(folder)) >= 2
    told = await running
    assert (told["success"], told["exit_code"], told["timed_out"]) == (False, None, True)
    assert "stopped at its deadline of 3 s" in told["note"]
    assert time.monotonic() - began < 15
    await until(lambda: not running_in(folder))


@requirement("CARGO-07")
async def test_a_cancelled_build_is_gone_with_all_its_children(trusting: Path) -> None:
    folder = crate(trusting / "hanging", "hanging", library="\n", build=HANGING_BUILD)
    (folder / "hang").write_text("")
    running = asyncio.create_task(call(trusting, "check", working_dir="hanging"))
    await until((folder / "pids").exists, seconds=60)
    assert len(running_in(folder)) >= 2
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await until(lambda: not running_in(folder))


# ── publishing ───────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def cargo_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fresh one, with the toolchains that are installed."""
    rustup = os.environ.get("RUSTUP_HOME") or str(Path.home() / ".rustup")
    folder = tmp_path / "cargo"
    folder.mkdir()
    monkeypatch.setenv("RUSTUP_HOME", rustup)
    monkeypatch.setenv("CARGO_HOME", str(folder))
    return folder


@requirement("CARGO-01", "CARGO-10")
async def test_a_crate_is_rehearsed_refused_published_and_used(
    trusting: Path, cargo_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crate(trusting / "sums", "sums", library="pub fn add(a: i32, b: i32) -> i32 {\n    a + b\n}\n")
    where: dict[str, Any] = {"working_dir": "sums", "registry": "local", "extra_args": ["--allow-dirty"]}
    reference = "secret://env/CARGO_REGISTRIES_LOCAL_TOKEN"
    with registry(TOKEN) as server:
        (cargo_home / "config.toml").write_text(f'[registries.local]\nindex = "sparse+{server.address}/index/"\n')

        told = await call(trusting, "publish", **where)
        assert told["success"], told["stderr"]
        assert "dry run" in told["stderr"]
        assert (server.crates, server.tokens) == ({}, [])

        monkeypatch.setenv("CARGO_REGISTRIES_LOCAL_TOKEN", "a-wrong-token-we-send")
        told = await call(trusting, "publish", **where, dry_run=False, token=reference)
        assert not told["success"]
        assert "this token opens nothing" in told["stderr"]
        assert "a-wrong-token-we-send" not in msgspec.json.encode(told).decode()

        monkeypatch.setenv("CARGO_REGISTRIES_LOCAL_TOKEN", TOKEN)
        told = await call(trusting, "publish", **where, dry_run=False, token=reference)
        assert told["success"], told["stderr"]
        assert list(server.crates) == [("sums", "0.1.0")]
        assert server.tokens[-1] == TOKEN
        assert TOKEN not in msgspec.json.encode(told).decode()

        main = "fn main() {\n    assert_eq!(sums::add(1, 2), 3);\n}\n"
        crate(trusting / "app", "app", main=main, depends='sums = { version = "0.1", registry = "local" }')
        assert (await call(trusting, "build", working_dir="app"))["success"]


@requirement("PLUG-04", "CARGO-10")
async def test_a_project_cannot_redirect_the_token(
    trusting: Path, cargo_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = crate(trusting / "sums", "sums", library="\n")
    monkeypatch.setenv("CARGO_REGISTRIES_LOCAL_TOKEN", TOKEN)
    with registry(TOKEN) as server, registry(TOKEN) as evil:
        index = 'index = "sparse+{}/index/"\n'
        (cargo_home / "config.toml").write_text("[registries.local]\n" + index.format(server.address))
        (folder / ".cargo").mkdir()
        (folder / ".cargo" / "config.toml").write_text(
            '[registry]\ndefault = "evil"\n[registries.local]\n'
            + index.format(evil.address)
            + "[registries.evil]\n"
            + index.format(evil.address)
        )  # fmt: skip - two tables
        arguments: dict[str, Any] = {"working_dir": "sums", "dry_run": False, "extra_args": ["--allow-dirty"]}
        reference = "secret://env/CARGO_REGISTRIES_LOCAL_TOKEN"
        told = await call(trusting, "publish", **arguments, registry="local", token=reference)
        assert told["success"], told["stderr"]
        with pytest.raises(ClawftError, match="does not name the registry 'evil'"):
            await call(trusting, "publish", **arguments, registry="evil")
        assert (len(server.crates), evil.tokens, evil.crates) == (1, [], {})


@requirement("CARGO-10")
async def test_the_token_is_on_no_command_line(
    trusting: Path, cargo_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Looked at while it runs: a build script holds the verification open until we have looked."""
    crate(trusting / "sums", "sums", library="\n", build=WAITING_BUILD.replace("HERE", str(trusting)))
    monkeypatch.setenv("CARGO_REGISTRIES_LOCAL_TOKEN", TOKEN)
    with registry(TOKEN) as server:
        (cargo_home / "config.toml").write_text(f'[registries.local]\nindex = "sparse+{server.address}/index/"\n')
        arguments: dict[str, Any] = {"working_dir": "sums", "registry": "local", "extra_args": ["--allow-dirty"]}
        reference = "secret://env/CARGO_REGISTRIES_LOCAL_TOKEN"
        running = asyncio.create_task(call(trusting, "publish", **arguments, dry_run=False, token=reference))
        await until((trusting / "here").exists, seconds=60)
        lines = [" ".join(child.cmdline()) for child in psutil.Process().children(recursive=True)]
        (trusting / "go").write_text("")
        told = await running
    assert told["success"], told["stderr"]
    assert any("publish" in line for line in lines)
    assert not [line for line in lines if TOKEN in line]


# ── from outside ─────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("CARGO-09", "CARGO-03", "PLUG-04")
def test_from_the_command_line(trusting: Path, home: Path, weft: list[str]) -> None:
    crate(trusting / "sums", "sums", library="pub fn f() {}\n")
    argv = [*weft, "tools", "call", "cargo__build", "working_dir=sums"]
    env = {**os.environ, "CLAWFT_HOME": str(home)}

    def run() -> subprocess.CompletedProcess[str]:
        return subprocess.run(argv, cwd=trusting, env=env, capture_output=True, text=True, timeout=60, check=False)

    done = run()
    assert done.returncode == 0, done.stderr
    assert msgspec.json.decode(done.stdout)["success"]
    (home / "trusted").unlink()
    refused = run()
    assert refused.returncode != 0
    assert "is not trusted" in refused.stderr
    assert sys.executable not in refused.stderr
