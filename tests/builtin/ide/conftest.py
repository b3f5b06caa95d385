"""The family on a small workspace, with an editor that is not there."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from clawft.builtin.ide.mock import MockIde
from clawft.builtin.ide.provider import IdeProvider
from clawft.gateway.core import Gateway
from clawft.model import Caller, CallToolResult
from clawft.provider.definition import as_result
from clawft.store.memory import MemoryStore

Ask = Callable[..., Awaitable[CallToolResult]]

MAIN = 'def greet(name: str) -> str:\n    return "😀 hü " + nam\n\nn: int = greet("x")\n'


@pytest.fixture
def main(workspace: Path) -> Path:
    file = workspace / "main.py"
    file.write_text(MAIN)
    return file


@pytest.fixture
async def provider(workspace: Path, home: Path) -> AsyncGenerator[IdeProvider]:
    def store(agent: str) -> MemoryStore:
        return MemoryStore()

    provider = IdeProvider(workspace, stores=store)
    yield provider
    await provider.close()


@pytest.fixture
def editor(provider: IdeProvider, main: Path) -> MockIde:
    """Connected, with the workspace open."""
    editor = MockIde(main.parent)
    provider.hub.connect(editor)
    return editor


@pytest.fixture
def ask(provider: IdeProvider) -> Ask:
    """`await ask("hover", path="main.py", …)`: through a gateway, so that errors come as results."""
    gateway = Gateway()
    gateway.register(provider)

    async def call(tool: str, **arguments: Any) -> CallToolResult:
        import msgspec

        return as_result(await gateway.call(Caller(), f"ide__{tool}", msgspec.json.encode(arguments)))

    return call


def text_of(result: CallToolResult) -> str:
    return result.content[0]["text"]
