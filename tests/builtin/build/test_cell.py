"""A declared task stays in a cell with all it starts."""

import shutil
from pathlib import Path

import pytest

from clawft.builtin import families
from clawft.builtin.build.family import BuildSettings
from clawft.provider.function import FunctionProvider
from clawft.store.memory import MemoryStore
from tests.builtin.build.trusting import Listener, call_as
from tests.builtin.escaping import EVERYTHING, escaping, needs_bubblewrap
from tests.requirements import requirement


def provider(workspace: Path, sandbox: str) -> FunctionProvider:
    settings = {"build": BuildSettings(sandbox)}
    (found,) = families(workspace, lambda agent, name: MemoryStore(), settings=settings, only=["build"])
    assert isinstance(found, FunctionProvider)
    return found


@requirement("PLUG-04")
@pytest.mark.slow
@needs_bubblewrap
@pytest.mark.skipif(not shutil.which("make"), reason="no make here: make tasks are NOT tested")
async def test_a_task_gets_what_the_manifest_grants(trusting: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The network is among it, and the file that declares tasks is not."""
    with escaping(trusting, monkeypatch) as escape:
        (trusting / "Makefile").write_text(
            f"all:\n\t@{' '.join(escape.command)}\n\t@-echo more >> .clawft/tasks.toml\n"
        )
        (trusting / ".clawft").mkdir()
        tasks = trusting / ".clawft/tasks.toml"
        tasks.write_text('[tasks.all]\nrunner = "make"\n')
        for sandbox, expected in (
            ("auto", {"workspace", "network"}),
            ("strict", {"workspace"}),
            ("off", EVERYTHING),
        ):
            assert "more" not in tasks.read_text()
            told = await call_as(Listener(), provider(trusting, sandbox), "run", task="all")
            assert told.structured_content["success"], told.structured_content
            assert escape.got() == expected, sandbox
