"""The measured tool, as an outside package brings it: one entry point that makes one provider."""

from pathlib import Path
from typing import NoReturn

from clawft.provider.function import FunctionProvider, tool


@tool(read_only=True)
async def echo(text: str) -> str:
    """Return the text that was sent."""
    return text


def provider(workspace: Path) -> FunctionProvider:
    return FunctionProvider("bench", [echo], workspace=workspace, stores=_no_store)


def _no_store(agent: str) -> NoReturn:
    raise LookupError(f"echo keeps nothing, yet a store was opened for {agent!r}")
