"""Declared tasks: strict, and a mistake is pointed at with file, line and what was probably meant."""

from pathlib import Path

import pytest

from clawft.builtin.build.tasks import FILE, MAX_FILE_BYTES, MAX_TASKS, DeclaredTask, find_task, read_tasks, tasks_in
from clawft.errors import ExecutionFailed, InvalidConfig, PermissionDenied
from tests.builtin.build.trusting import Listener, call_as, provider_of
from tests.requirements import requirement

GOOD = """\
[tasks.unit]
runner = "pytest"
kind = "test"
description = '''
runner = "not a key"
'''
args = ["tests", "-q"]
env = { PYTHONPATH = "src" }

[tasks."all of it"]
runner = "make"
"""


def declare(workspace: Path, text: str | bytes) -> None:
    (workspace / ".clawft").mkdir(exist_ok=True)
    (workspace / FILE).write_bytes(text if isinstance(text, bytes) else text.encode())


@requirement("PLUG-04")
def test_what_is_declared_is_read(workspace: Path) -> None:
    assert read_tasks(workspace) == {}
    declare(workspace, GOOD.replace('"all of it"', "all"))
    tasks = read_tasks(workspace)
    assert tasks["all"] == DeclaredTask("make")
    unit = tasks["unit"]
    assert (unit.kind, unit.args, unit.env, unit.timeout_s) == ("test", ("tests", "-q"), {"PYTHONPATH": "src"}, 300)


@requirement("PLUG-04")
@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        (GOOD, 10, "'all of it' cannot name a task"),
        ('[task.a]\nrunner = "make"', 1, "unknown key 'task', did you mean 'tasks'?"),
        ('[tasks.a]\nrunner = "make"\nruner = "x"', 3, "unknown key 'runer' in [tasks.a], did you mean 'runner'?"),
        ('[tasks.a]\nrunner = "pytset"', 2, "unknown runner 'pytset', did you mean 'pytest'?"),
        ('[tasks.a]\nrunner = "sh"\nargs = ["-c", "x"]', 2, "unknown runner 'sh'"),
        ("[tasks.a]\nrunner = 3", 2, "unknown runner '3'"),
        ('\n[tasks.a]\nkind = "test"', 2, "[tasks.a] needs a runner"),
        ('[tasks.a]\nrunner = "make"\nkind = "lint"', 3, "kind: Invalid enum value 'lint'"),
        ('[tasks.a]\nrunner = "make"\n\nargs = "x"', 4, "args: Expected `array`, got `str`"),
        ('[tasks.a]\nrunner = "make"\nargs = ["x", 1]', 3, "args: Expected `str`, got `int`"),
        ('[tasks.a]\nrunner = "make"\ntarget = "-f/etc/evil"', 3, "target: "),
        ('[tasks.a]\nrunner = "make"\ntimeout_s = 0', 3, "timeout_s: Expected `int` >= 1"),
        ('[tasks.a]\nrunner = "make"\nenv = { "A=B" = "c" }', 3, "env: "),
        ('[tasks]\na = "make"', 2, "task 'a' is no table"),
        ('tasks = ["make"]', 1, f"tasks are at most {MAX_TASKS} tables"),
        ("[tasks.a]\nrunner = make", 2, "not valid TOML"),
        ('[tasks.a]\nrunner = "make', 2, "not valid TOML"),
        (b"[tasks.a]\n# \xff", 2, "this is not UTF-8 text"),
        ("a = " + "[" * 5000, 1, "nested too deep"),
    ],
)
def test_a_mistake_is_pointed_at(workspace: Path, text: str | bytes, line: int, words: str) -> None:
    declare(workspace, text)
    with pytest.raises(InvalidConfig) as wrong:
        read_tasks(workspace)
    assert wrong.value.message.startswith(f"{FILE}:{line}: {words}")


def test_there_is_a_bound_on_tasks_and_on_the_file(workspace: Path) -> None:
    many = "".join(f'[tasks.t{number}]\nrunner = "make"\n' for number in range(MAX_TASKS + 1))
    with pytest.raises(InvalidConfig, match="at most"):
        tasks_in(many.encode())
    declare(workspace, "#" * (MAX_FILE_BYTES + 1))
    with pytest.raises(InvalidConfig, match="larger than"):
        read_tasks(workspace)


def test_the_file_is_one_of_the_workspace(workspace: Path, tmp_path: Path) -> None:
    (tmp_path / "tasks.toml").write_text(GOOD)
    (workspace / ".clawft").symlink_to(tmp_path)
    with pytest.raises(PermissionDenied, match="outside the workspace"):
        read_tasks(workspace)


def test_an_unknown_task_is_told_with_those_there_are() -> None:
    with pytest.raises(
        ExecutionFailed, match=r"there is no task 'unti', did you mean 'unit'\? \(declared: unit, all\)"
    ):
        find_task({"unit": DeclaredTask("pytest"), "all": DeclaredTask("make")}, "unti", "run")
    with pytest.raises(ExecutionFailed, match="no tasks are declared") as wrong:
        find_task({}, "unit", "run")
    assert FILE in wrong.value.hint
    with pytest.raises(ExecutionFailed) as wrong:
        find_task({"unit": DeclaredTask("pytest")}, "x" * 10_000_000, "run")
    assert len(str(wrong.value)) < 200


@requirement("PLUG-08")
async def test_tasks_are_listed_without_trust_and_mistakes_are_told(workspace: Path) -> None:
    provider = provider_of("build", workspace)
    declare(workspace, '[tasks.unit]\nrunner = "pytest"\nkind = "test"\ndescription = "fast ones"\n')
    told = (await call_as(Listener(), provider, "list")).structured_content["result"]
    assert told == [{"name": "unit", "kind": "test", "runner": "pytest", "description": "fast ones"}]
    declare(workspace, "[tasks.unit]\nrunner = 1")
    with pytest.raises(ExecutionFailed, match=r"tasks\.toml:2: "):
        await call_as(Listener(), provider, "list")
