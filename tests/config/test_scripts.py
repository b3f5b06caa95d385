"""Which arguments of a launch are scripts."""

from pathlib import Path

import pytest

from clawft.config import scripts as module
from clawft.config.scripts import MAX_SCRIPTS, UNREAD, digests, scripts
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
    assert digests({"server.py": str(folder / "server.py")}) == {"server.py": UNREAD}
    assert digests({"gone": str(folder / "gone")}) == {"gone": "cannot be read: No such file or directory"}
