"""Declared tasks, run for real."""

import asyncio
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from clawft.builtin.build.family import MANIFEST
from clawft.builtin.build.task import environment
from clawft.builtin.build.tasks import DeclaredTask
from clawft.errors import ExecutionFailed, PermissionDenied
from clawft.provider.manifest import Manifest
from tests import peers
from tests.builtin.build.trusting import Listener, call_as, provider_of, running_in, until
from tests.requirements import requirement

needs_make = pytest.mark.skipif(not shutil.which("make"), reason="no make here: make tasks are NOT tested")
needs_npm = pytest.mark.skipif(not shutil.which("npm"), reason="no npm here: npm tasks are NOT tested")

TESTS = """
import pytest, sys

def test_good():
    print("unheard")

def test_bad():
    print("seen", "before", sep="-")
    print("heard", "before", sep="-", file=sys.stderr)
    assert [1] == [2]

@pytest.mark.skip(reason="later")
def test_later():
    pass
"""


VITEST_TESTS = """
import { describe, expect, it } from "vitest";
describe("sums", () => {
  it("adds", () => expect(1 + 1).toBe(2));
  it("multiplies", () => expect(2 * 3).toBe(7));
  it.skip("divides", () => {});
});
"""
UNIT = """
[tasks.unit]
runner = "pytest"
kind = "test"
working_dir = "sub"
args = ["-p", "no:cacheprovider"]
"""
MAKEFILE = """
bad:
\t@echo "main.c:3:5: error: broken" >&2
\t@exit 3
good:
\t@echo $(X) $$Y
"""


def declare(workspace: Path, tasks: str) -> None:
    (workspace / ".clawft").mkdir(exist_ok=True)
    (workspace / ".clawft" / "tasks.toml").write_text(tasks)


async def run(workspace: Path, name: str = "run", listener: Listener | None = None, **arguments: Any) -> Any:
    done = await call_as(listener or Listener(), provider_of("build", workspace), name, **arguments)
    return done.structured_content


@pytest.fixture
def venv(trusting: Path) -> Path:
    """A workspace with a Python of its own: the one that runs these tests, which has pytest."""
    (trusting / ".venv" / "bin").mkdir(parents=True)
    (trusting / ".venv" / "bin" / "python").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    (trusting / ".venv" / "bin" / "python").chmod(0o755)
    return trusting


@requirement("PLUG-01", "PLUG-04")
def test_the_family_has_a_manifest_and_its_environment_follows_it() -> None:
    assert MANIFEST.id == "com.clawft.plugin-build"
    env = environment(DeclaredTask("make", env={"MODE": "x"}), {"PATH": "/bin", "HOME": "/h", "API_TOKEN": "secret"})
    assert env == {"PATH": "/bin", "HOME": "/h", "LANG": "C.UTF-8", "NO_COLOR": "1", "MODE": "x"}


@requirement("PLUG-04")
async def test_without_the_permission_nothing_is_started(trusting: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    declare(trusting, '[tasks.all]\nrunner = "make"\n')
    monkeypatch.setattr("clawft.builtin.build.task.MANIFEST", Manifest(id="com.clawft.x", name="x"))
    with pytest.raises(PermissionDenied, match="does not grant shell"):
        await run(trusting, task="all")


@pytest.mark.slow
async def test_pytest_reports_each_test(venv: Path) -> None:
    (venv / "sub").mkdir()
    (venv / "sub" / "test_it.py").write_text(TESTS)
    declare(venv, UNIT)
    listener = Listener()
    told = await run(venv, "test", listener)
    assert (told["task"], told["success"], told["exit_code"]) == ("unit", False, 1)
    tests = told["tests"]
    assert (tests["passed"], tests["failed"], tests["ignored"]) == (1, 1, 1)
    assert tests["cases"][0]["name"] == "test_bad"
    assert "[1] == [2]" in tests["cases"][0]["output"]
    assert "seen-before" in tests["cases"][0]["output"]
    assert "heard-before" in tests["cases"][0]["output"]
    assert (tests["cases"][1]["name"], tests["cases"][1]["ending"]) == ("test_later", "ignored")
    assert tests["cases"][2] == {"name": "test_good", "ending": "passed", "suite": "test_it"}
    assert listener.heard[-1][:2] == (100, 100)


NO_REPORT = """\
import os, sys
report = next(word.partition("=")[2] for word in sys.argv if word.startswith("--junitxml="))
{made}
"""


@pytest.mark.slow
@pytest.mark.parametrize("made", ["os.mkfifo(report)", 'os.symlink(os.path.abspath("other.xml"), report)'])
async def test_what_a_run_puts_in_place_of_its_report_is_not_read(trusting: Path, made: str) -> None:
    (trusting / "pytest").mkdir()
    (trusting / "pytest/__init__.py").touch()
    (trusting / "pytest/__main__.py").write_text(NO_REPORT.format(made=made))
    (trusting / "other.xml").write_text('<testsuite><testcase name="other"/></testsuite>')
    declare(trusting, '[tasks.unit]\nrunner = "pytest"\nkind = "test"\n')
    async with asyncio.timeout(30):
        told = await run(trusting, "test")
    assert (told["success"], told["tests"]) == (True, None)


@needs_make
async def test_make_runs_its_target_only(trusting: Path) -> None:
    (trusting / "Makefile").write_text(MAKEFILE)
    declare(
        trusting,
        '[tasks.bad]\nrunner = "make"\ntarget = "bad"\n'
        '[tasks.good]\nrunner = "make"\ntarget = "good"\nargs = ["X=1"]\nenv = { Y = "two" }\n',
    )
    told = await run(trusting, task="bad")
    assert (told["success"], told["exit_code"]) == (False, 2)
    assert [(each["file"], each["line"]) for each in told["diagnostics"]] == [("main.c", 3), ("Makefile", 4)]
    told = await run(trusting, task="good")
    assert (told["success"], told["stdout"], told["tests"]) == (True, "1 two\n", None)


@needs_make
async def test_what_has_no_room_is_in_a_log(trusting: Path) -> None:
    (trusting / "Makefile").write_text("all:\n\t@i=0; while [ $$i -lt 3000 ]; do echo line $$i; i=$$((i+1)); done\n")
    declare(trusting, '[tasks.all]\nrunner = "make"\n')
    told = await run(trusting, task="all")
    assert told["stdout"].endswith("line 2999\n")
    assert "line 0\n" not in told["stdout"]
    assert told["log"] in told["note"]
    assert (trusting / told["log"]).read_text().startswith("line 0\n")


@pytest.mark.slow
@needs_make
@requirement("CARGO-07")
async def test_the_deadline_of_a_task(trusting: Path) -> None:
    (trusting / "Makefile").write_text("all:\n\t@sleep 600 & echo $$! > pid.new; mv pid.new pid; wait\n")
    declare(trusting, '[tasks.all]\nrunner = "make"\ntimeout_s = 600\n')
    running = asyncio.create_task(run(trusting, task="all", timeout_s=2))
    await until((trusting / "pid").exists)
    assert len(running_in(trusting)) >= 2
    told = await running
    assert (told["success"], told["timed_out"]) == (False, True)
    assert "deadline of 2 s" in told["note"]
    await until(lambda: not running_in(trusting))


@pytest.mark.slow
@needs_npm
async def test_npm_runs_a_script(trusting: Path) -> None:
    (trusting / "package.json").write_text('{"name": "x", "version": "1.0.0", "scripts": {"lint": "node lint.js"}}')
    (trusting / "lint.js").write_text('console.log("a.ts(3,5): error TS1: " + process.argv[2]); process.exit(1)')
    declare(trusting, '[tasks.lint]\nrunner = "npm"\ntarget = "lint"\nargs = ["--strict"]\n')
    told = await run(trusting, task="lint")
    assert not told["success"]
    assert told["diagnostics"][0]["message"] == "--strict"


@pytest.mark.slow
async def test_vitest_reports_each_test(trusting: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Installed as npm does it: a package in node_modules with its command beside it, and a folder it may write to."""
    monkeypatch.setenv("PATH", os.pathsep.join([str(peers.node().parent), os.environ["PATH"]]))
    peers.bin("vitest")
    (trusting / "node_modules").mkdir()
    for name in (".bin", "vitest", "vite"):
        (trusting / "node_modules" / name).symlink_to(peers.PACKAGES / name)
    (trusting / "package.json").write_text('{"name": "x", "version": "1.0.0", "type": "module"}')
    (trusting / "sums.test.js").write_text(VITEST_TESTS)
    declare(trusting, '[tasks.js]\nrunner = "vitest"\nkind = "test"\nargs = ["--no-cache"]\n')
    told = await run(trusting, "test", task="js")
    assert (told["success"], told["timed_out"]) == (False, False), told
    cases = {each["name"]: each["ending"] for each in told["tests"]["cases"]}
    assert cases == {"sums adds": "passed", "sums multiplies": "failed", "sums divides": "ignored"}
    failed = next(each for each in told["tests"]["cases"] if each["ending"] == "failed")
    assert "expected 6 to be 7" in failed["output"]


async def test_test_runs_test_tasks_only_and_asks_which(trusting: Path) -> None:
    declare(trusting, '[tasks.a]\nrunner = "make"\n')
    with pytest.raises(ExecutionFailed, match="0 test tasks are declared"):
        await run(trusting, "test")
    with pytest.raises(ExecutionFailed, match="no tasks are declared"):
        await run(trusting, "test", task="a")
    declare(trusting, "".join(f'[tasks.{name}]\nrunner = "make"\nkind = "test"\n' for name in "ab"))
    with pytest.raises(ExecutionFailed, match=r"2 test tasks are declared, say which \(a, b\)"):
        await run(trusting, "test")


async def test_a_runner_that_is_not_there_is_named(trusting: Path) -> None:
    declare(trusting, '[tasks.js]\nrunner = "vitest"\n')
    with pytest.raises(ExecutionFailed, match="nothing to run vitest with: tried node_modules/"):
        await run(trusting, task="js")


async def test_a_task_stays_in_the_workspace(trusting: Path) -> None:
    declare(trusting, '[tasks.out]\nrunner = "make"\nworking_dir = ".."\n')
    with pytest.raises(PermissionDenied, match="outside the workspace"):
        await run(trusting, task="out")


@pytest.mark.parametrize("target", ["publish", "run", ""])
async def test_a_cargo_task_keeps_to_the_list(trusting: Path, target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    bin = trusting / "bin"
    bin.mkdir()
    (bin / "cargo").write_text("#!/bin/sh\ntouch started\n")
    (bin / "cargo").chmod(0o755)
    monkeypatch.setenv("PATH", f"{bin}:/usr/bin:/bin")
    line = f'target = "{target}"' if target else ""
    declare(trusting, f'[tasks.c]\nrunner = "cargo"\n{line}\n')
    with pytest.raises(ExecutionFailed, match="target of a cargo task cannot be"):
        await run(trusting, task="c")
    declare(trusting, '[tasks.c]\nrunner = "cargo"\ntarget = "build"\nargs = ["--config", "build.rustc-wrapper=x"]\n')
    with pytest.raises(ExecutionFailed, match="'--config' is not allowed"):
        await run(trusting, task="c")
    assert not (trusting / "started").exists()
