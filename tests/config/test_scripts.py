"""Which arguments of a launch are scripts."""

import os
from pathlib import Path

import pytest

from clawft.config import scripts as module
from clawft.config.launch_approval import MAX_PROGRAM_BYTES
from clawft.config.scripts import MAX_SCRIPTS, NO_FILE, UNREAD, digest, digests, scripts
from tests.requirements import requirement


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("server.py", "hook.mjs", "main", "notes.db", "run"):
        (tmp_path / name).write_text(name)
    (tmp_path / "run").chmod(0o755)
    (tmp_path / "starts").write_text("#!/bin/sh\n")
    (tmp_path / "folder.py").mkdir()
    return tmp_path


@requirement("POOL-19")
@pytest.mark.parametrize(
    ("command", "args", "found"),
    [
        ("/usr/bin/python3.12", ["-u", "server.py", "notes.db"], ["server.py"]),
        ("/usr/bin/python3", ["main", "notes.db"], ["main"]),
        ("/opt/tool", ["main", "notes.db", "run", "starts"], ["run", "starts"]),
        ("/usr/bin/node", ["--import=./hook.mjs", "main"], ["--import=./hook.mjs", "main"]),
        ("/usr/bin/node", ["--import", "./hook.mjs", "server.py"], ["./hook.mjs", "server.py"]),
        ("/opt/tool", ["folder.py", "missing.py", "", "-", "--", "a\0b", "https://a.example/server.py"], []),
    ],
)
def test_what_looks_like_a_program_counts(folder: Path, command: str, args: list[str], found: list[str]) -> None:
    assert list(scripts(command, args, str(folder))) == found


@requirement("POOL-19")
def test_there_are_bounds(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    many = [f"{number}.py" for number in range(MAX_SCRIPTS + 5)]
    for name in many:
        (folder / name).write_text(name)
    assert list(scripts("/opt/tool", many, str(folder))) == many[:MAX_SCRIPTS]
    monkeypatch.setattr(module, "MAX_SCRIPT_BYTES", 3)
    assert digests({"server.py": str(folder / "server.py")})["server.py"].startswith(UNREAD)
    assert digests({"gone": str(folder / "gone")}) == {"gone": "cannot be read: No such file or directory"}


@requirement("POOL-19")
def test_a_script_that_is_too_large_is_another_one_once_it_was_touched(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its length and the time of its last change can be set by whoever changes it."""
    monkeypatch.setattr(module, "MAX_SCRIPT_BYTES", 3)
    script = folder / "server.py"
    approved, seen = digests({"x": str(script)}), script.stat()
    assert digests({"x": str(script)}) == approved
    script.write_text("evil".ljust(seen.st_size))
    os.utime(script, ns=(seen.st_atime_ns, seen.st_mtime_ns))
    assert digests({"x": str(script)}) != approved


@requirement("POOL-19", "QUAL-12")
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_a_program_that_is_no_file_is_not_read(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    for path in (str(folder / "pipe"), os.devnull, "/dev/zero"):
        assert digest(path, MAX_PROGRAM_BYTES) == NO_FILE


# ── named in other ways ──────────────────────────────────────────────────────────────────────────────────────────────

WAYS: list[tuple[str, list[str], dict[str, str], str, str]] = [
    ("python3", ["-m", "server"], {}, "server.py", "-m server: server.py"),
    ("python3", ["-I", "-mserver"], {}, "server.py", "-mserver: server.py"),
    ("python3", ["-m", "a.b"], {}, "a/b/__main__.py", "-m a.b: a/b/__main__.py"),
    ("python3", ["-m", "a.b"], {}, "a/__init__.py", "-m a.b: a/__init__.py"),
    ("python3", ["-m", "server"], {"PYTHONPATH": "lib:src"}, "src/server.py", "-m server: src/server.py"),
    ("uv", ["run", "python", "-m", "server"], {}, "server.py", "-m server: server.py"),
    ("python3", ["-c", "import json, helper; helper.main()"], {}, "json.py", "import json: json.py"),
    ("python3", ["-c", "from helper import main"], {}, "helper.py", "import helper: helper.py"),
    ("sh", ["-c", "exec ./run.sh --fast"], {}, "run.sh", "./run.sh"),
    ("node", ["-e", "require('./hook.js')"], {}, "hook.js", "./hook.js"),
    ("node", ["-r", "./hook.js", "main.js"], {}, "hook.js", "./hook.js"),
    ("npx", ["-y", "server@1.2"], {}, "node_modules/.bin/server", "node_modules/.bin/server"),
    ("npx", ["-y", "server"], {}, ".npmrc", ".npmrc"),
    ("npm", ["run", "server"], {}, "package.json", "package.json"),
    ("uv", ["run", "server"], {}, ".venv/bin/server", ".venv/bin/server"),
    ("uvx", ["server"], {}, "uv.toml", "uv.toml"),
    ("tool", [], {"NODE_OPTIONS": "--require=./hook.js --x"}, "hook.js", "NODE_OPTIONS: ./hook.js"),
    ("tool", [], {"LD_PRELOAD": "a.so:./evil.so"}, "evil.so", "LD_PRELOAD: ./evil.so"),
    ("tool", [], {"JAVA_TOOL_OPTIONS": "-javaagent:agent.jar"}, "agent.jar", "JAVA_TOOL_OPTIONS: agent.jar"),
    ("python3", [], {"PYTHONSTARTUP": "start.py"}, "start.py", "PYTHONSTARTUP: start.py"),
    (
        "python3",
        [],
        {"PYTHONPATH": "lib"},
        "lib/sitecustomize.py",
        "PYTHONPATH sitecustomize: lib/sitecustomize.py",
    ),
    ("python3.12", ["folder", "x"], {}, "folder/__main__.py", "folder: __main__.py"),
    ("node", ["--no-warnings", "dist"], {}, "dist/package.json", "dist: package.json"),
    ("env", ["-S", "X=1 python3 ./server.py --fast"], {}, "server.py", "./server.py"),
    ("uv", ["--directory", "lib", "run", "server.py"], {}, "lib/server.py", "lib: server.py"),
    ("uv", ["--directory=lib", "run", "server.py"], {}, "lib/server.py", "lib: server.py"),
    ("uv", ["run", "--project", "./lib/", "server"], {}, "lib/.venv/bin/server", "lib: .venv/bin/server"),
    ("uv", ["--directory", "lib", "run", "-m", "server"], {}, "lib/server.py", "lib: -m server: server.py"),
    ("uvx", ["--from", "./lib", "server"], {}, "lib/pyproject.toml", "lib: pyproject.toml"),
    ("npm", ["--prefix", "lib", "start"], {}, "lib/package.json", "lib: package.json"),
    ("pnpm", ["-C", "../lib", "start"], {}, "../lib/package.json", "../lib: package.json"),
    ("bun", ["run", "--cwd=lib", "index.js"], {}, "lib/index.js", "lib: index.js"),
    ("make", ["-C", "lib", "run"], {}, "lib/Makefile", "lib: Makefile"),
    ("make", ["-f", "lib/other.mk"], {}, "lib/other.mk", "lib/other.mk"),
    ("deno", ["run", "--config", "lib/other.json", "x"], {}, "lib/other.json", "lib/other.json"),
    ("env", ["-C", "lib", "python3", "server.py"], {}, "lib/server.py", "lib: server.py"),
    ("sh", ["-c", "cd lib && exec ./server.sh"], {}, "lib/server.sh", "lib: ./server.sh"),
]


@requirement("POOL-19")
@pytest.mark.parametrize(("command", "args", "env", "file", "named"), WAYS)
def test_a_file_counts_however_it_is_named(
    tmp_path: Path, command: str, args: list[str], env: dict[str, str], file: str, named: str
) -> None:
    assert scripts(f"/usr/bin/{command}", args, str(tmp_path), env) == {}
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).write_text("x")
    ((name, path),) = scripts(f"/usr/bin/{command}", args, str(tmp_path), env).items()
    assert (name, Path(path).resolve()) == (named, (tmp_path / file).resolve())


@requirement("POOL-19")
def test_what_runs_a_program_by_its_first_line_counts_where_it_lies_beside_it(tmp_path: Path) -> None:
    (tmp_path / "own").write_text("#!/bin/sh\n")
    program = tmp_path / "program"
    program.write_text(f"#!{tmp_path / 'own'}\n")
    assert scripts(str(program), [], str(tmp_path)) == {f"#!{tmp_path / 'own'}": str(tmp_path / "own")}
    program.write_text("#!/bin/sh\n")
    assert scripts(str(program), [], str(tmp_path)) == {}


@requirement("POOL-19")
def test_data_and_secrets_in_variables_are_none(folder: Path) -> None:
    env = {"DATABASE": "notes.db", "TOKEN": "abc def", "HOME": str(folder), "ODD": "a\0b", "LONG": "x " * 10_000}
    assert scripts("/opt/tool", [], str(folder), env) == {}
