"""What tests that build things share: a workspace the user trusts, a caller that listens, processes that are gone."""

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import psutil
import pytest

from clawft.builtin import families
from clawft.model import Call, Caller, CallToolResult, Capabilities, Origin, Question, SilentTalk
from clawft.provider.definition import as_result
from clawft.provider.function import FunctionProvider
from clawft.store.memory import MemoryStore


class Listener(SilentTalk):
    """Remembers progress and answers questions, all with the same answer."""

    def __init__(self, answer: Mapping[str, Any] | None = None) -> None:
        self.heard: list[tuple[float, float | None, str]] = []
        self.asked: list[Question] = []
        self._answer = answer or {"action": "decline"}

    def progress(self, progress: float, total: float | None = None, message: str = "") -> None:
        self.heard.append((progress, total, message))

    async def ask(self, questions: Mapping[str, Question], carry: bytes = b"") -> Mapping[str, Mapping[str, Any]]:
        self.asked += questions.values()
        return dict.fromkeys(questions, self._answer)


@pytest.fixture
def trusting(home: Path, workspace: Path) -> Path:
    """The workspace, named on the user's list."""
    (home / "trusted").write_text(f"# mine\n{workspace.resolve()}\n")
    (home / "trusted").chmod(0o600)
    return workspace


def provider_of(namespace: str, workspace: Path) -> FunctionProvider:
    (provider,) = families(workspace, lambda agent, name: MemoryStore(), only=[namespace])
    assert isinstance(provider, FunctionProvider)
    return provider


async def call_as(
    listener: Listener, provider: FunctionProvider, name: str, *, can_answer: bool = False, **arguments: Any
) -> CallToolResult:
    """A call by somebody who listens, and who may be asked."""
    tool = next(each for each in provider.list_tools() if each.name == name)
    caller = Caller(capabilities=Capabilities(elicit_form=can_answer))
    call = Call(caller, name, tool, Origin(provider.namespace), msgspec.json.encode(arguments), talk=listener)
    return as_result(await provider.run(call))


async def until(true: Callable[[], bool], seconds: float = 30) -> None:
    """Wait for something another process does; fails when the time is up."""
    async with asyncio.timeout(seconds):
        while not true():  # noqa: ASYNC110 - no event tells what another process does
            await asyncio.sleep(0.02)


def gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def running_in(folder: Path) -> list[psutil.Process]:
    """Who works there. Inside a sandbox processes have other numbers than out here."""
    return [each for each in psutil.process_iter() if _folder_of(each) == str(folder.resolve())]


def _folder_of(process: psutil.Process) -> str:
    try:
        return process.cwd() if process.status() != psutil.STATUS_ZOMBIE else ""
    except psutil.Error:
        return ""
