"""From a function that works with git to a tool: settings bound, result typed, a short text beside it."""

from collections.abc import Awaitable, Callable
from typing import Any, Unpack

from msgspec import Struct

from clawft.builtin.git.repo import Git
from clawft.builtin.git.settings import GitSettings
from clawft.builtin.told import Told, Words, bound_tool


class Recipe(Struct, frozen=True):
    """A tool that still lacks its settings."""

    function: Callable[..., Awaitable[Told]]
    words: Words

    @property
    def name(self) -> str:
        return self.words.get("name") or self.function.__name__

    def tool(self, settings: GitSettings) -> Callable[..., Any]:
        """The function as a tool. Its first parameter, the way to git, is filled in by us."""
        return bound_tool(self.function, self.name, self.words, lambda ctx: Git(self.name, settings, ctx))


def git_tool(**words: Unpack[Words]) -> Callable[[Callable[..., Awaitable[Told]]], Recipe]:
    """Mark `async def status(git: Git, repo_path: str, …) -> StatusResult` as a tool of the family."""
    return lambda function: Recipe(function, words)
