"""The provider the suite calls: every tool, resource and prompt it looks for, written with the public API."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from clawft.errors import ProtocolFailure, ToolNotFound
from clawft.model import Call, Prompt, Reply, Resource, ResourceContent, ResourceTemplate
from clawft.provider.base import Changes
from clawft.provider.function import FunctionProvider, tool
from clawft.store.memory import MemoryStore
from tests.conformance import content, jobs, listings, questions
from tests.conformance.questions import STRING, form

NAMESPACE = "conformance"
ADDED_TOOL = "test_added_tool"
CONTEXT_KEY = "user_context"
WORDS = ("paris", "park", "party", "test", "testing")
BROKEN = "protocol_error_job"

_arguments = msgspec.json.Decoder(dict[str, str])


@tool(name=ADDED_TOOL)
async def added_tool() -> str:
    """There after every other test_trigger_tool_change."""
    return "I was added while you watched"


class ConformanceProvider(FunctionProvider):
    """Tools, resources, prompts and completion of the suite; the two triggers really change the lists."""

    def __init__(self, workspace: Path) -> None:
        super().__init__(
            NAMESPACE,
            [*content.TOOLS, *questions.TOOLS, *jobs.TOOLS, *triggers(self)],
            workspace=workspace,
            store=MemoryStore,
        )
        self._prompts = listings.PROMPTS
        self._changes: Changes | None = None

    def watch(self, changes: Changes) -> None:
        super().watch(changes)
        self._changes = changes

    async def run(self, call: Call) -> Reply:
        if call.tool.name == BROKEN:
            # An exception inside a tool becomes an error result; the suite wants one below it.
            raise ProtocolFailure("the provider broke, as it always does here")
        return await super().run(call)

    def toggle_tool(self) -> None:
        if any(tool.name == ADDED_TOOL for tool in self.list_tools()):
            self.remove(ADDED_TOOL)
        else:
            self.add(added_tool)

    def toggle_prompt(self) -> None:
        without = self._prompts == listings.PROMPTS
        self._prompts = (*listings.PROMPTS, listings.ADDED_PROMPT) if without else listings.PROMPTS
        if self._changes is not None:
            self._changes.prompts_changed()

    def list_resources(self) -> Sequence[Resource]:
        return listings.RESOURCES

    def list_templates(self) -> Sequence[ResourceTemplate]:
        return listings.TEMPLATES

    async def read_resource(self, uri: str) -> Sequence[ResourceContent] | None:
        return listings.read(uri)

    def list_prompts(self) -> Sequence[Prompt]:
        return self._prompts

    async def get_prompt(self, call: Call) -> Mapping[str, Any]:
        if call.tool.name == listings.ASKING_PROMPT:
            return await _prompt_with_context(call)
        filled = listings.fill(call.tool.name, _arguments.decode(call.arguments))
        if filled is None:
            raise ToolNotFound(
                f"unknown prompt: {call.tool.name}", hint="call prompts/list to see the available prompts"
            )
        return filled

    async def complete(self, ref: Mapping[str, Any], argument: str, value: str) -> Sequence[str]:
        return [word for word in WORDS if word.startswith(value)]


async def _prompt_with_context(call: Call) -> Mapping[str, Any]:
    question = form("What context should the prompt use?", {"context": STRING})
    answer = (await call.talk.ask({CONTEXT_KEY: question}))[CONTEXT_KEY]
    context = answer.get("content", {}).get("context", "none")
    return listings.user(content.text_block(f"Use this context: {context}"))


def triggers(provider: ConformanceProvider) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The two tools that change what `provider` offers."""

    @tool(name="test_trigger_tool_change")
    async def trigger_tool_change() -> str:
        """Add a tool, or take it away again."""
        provider.toggle_tool()
        return "The list of tools has changed"

    @tool(name="test_trigger_prompt_change")
    async def trigger_prompt_change() -> str:
        """Add a prompt, or take it away again."""
        provider.toggle_prompt()
        return "The list of prompts has changed"

    return trigger_tool_change, trigger_prompt_change
