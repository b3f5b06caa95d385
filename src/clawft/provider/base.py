"""The protocols of providers, the sources of tools.

A `Provider` is a namespace, a ready list and a way to call. That is all an outside package needs. Providers that also
have resources, prompts, or a faster way to be called offer one of the further protocols; the gateway looks for them
once, when the provider is registered.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import msgspec
from msgspec import Raw

from clawft.errors import ClawftError, ExecutionFailed, InvalidArguments
from clawft.model import (
    Call,
    Caller,
    CallToolResult,
    Completing,
    Completion,
    ForeignCompletion,
    ForeignPrompt,
    ForeignResource,
    ForeignTemplate,
    LogLevel,
    Next,
    Prompt,
    Reply,
    ReplyReceiver,
    Resource,
    ResourceContent,
    ResourceTemplate,
    SentCall,
    Tool,
)
from clawft.model.protocols import is_of


@runtime_checkable
class Provider(Protocol):
    """A source of tools. `list_tools` returns a ready snapshot and never waits."""

    @property
    def namespace(self) -> str: ...

    def list_tools(self) -> Sequence[Tool]: ...

    async def call_tool(self, name: str, arguments: Mapping[str, Any]) -> CallToolResult: ...


@runtime_checkable
class RawProvider(Protocol):
    """A provider that takes the whole call, arguments still bytes, and can talk back while it runs."""

    async def run(self, call: Call) -> Reply: ...


@runtime_checkable
class StartingProvider(Protocol):
    """A provider that can start a call without an asyncio task to wait for it."""

    def start(self, call: Call, receiver: ReplyReceiver) -> SentCall | None:
        """Send the call; None if it takes more than one message and its answer, and has to be run instead."""
        ...


@runtime_checkable
class RawTalk(Protocol):
    """A Talk that also passes on notifications of servers with all their members, known or not."""

    def carry_progress(self, progress: float, told: Mapping[str, Any]) -> None: ...

    def carry_log(self, level: LogLevel, told: Mapping[str, Any]) -> None: ...


@runtime_checkable
class ExtendedProvider(Protocol):
    """A provider with protocol extensions, which agents use without the gateway knowing them."""

    @property
    def extensions(self) -> Mapping[str, Any]:
        """Extension name → its settings."""
        ...


@runtime_checkable
class ResourceProvider(Protocol):
    def list_resources(self) -> Sequence[Resource | ForeignResource]: ...

    def list_templates(self) -> Sequence[ResourceTemplate | ForeignTemplate]: ...

    async def read_resource(self, uri: str) -> Sequence[ResourceContent] | bytes | None:
        """The contents (or the whole result as JSON), or None if this provider knows no such resource."""
        ...


@runtime_checkable
class SubstituteProvider(Protocol):
    """A provider whose resources and prompts return the same data as some tool, perhaps another provider's."""

    @property
    def stands_for(self) -> str:
        """The exported name of that tool: a caller has these resources and prompts if it may call the tool."""
        ...


TellChange = Callable[[str, Mapping[str, Raw]], None]
"""Called with the URI of a resource that has changed, and all other members of the notification."""


@runtime_checkable
class WatchedProvider(Protocol):
    """A provider of resources that has to know which of them are watched."""

    async def watch_resource(self, uri: str, caller: Caller, changed: TellChange) -> Callable[[], None] | None:
        """Have `changed` called on changes, until the function returned here is called.

        None if this provider knows no such resource; raises ClawftError if its changes cannot be reported.
        """
        ...


@runtime_checkable
class LoggingProvider(Protocol):
    """A provider that can be told which log messages agents want."""

    async def set_log_level(self, level: str) -> None:
        """Set the lowest level that any conversation wants now; empty for none."""
        ...


@runtime_checkable
class AskingResources(Protocol):
    """A provider that may have to ask the caller something before it can read a resource."""

    def may_have(self, uri: str) -> bool:
        """Whether its lists allow for this resource; if not, it is not asked for it."""
        ...

    async def read_resource_for(self, call: Call) -> bytes | None:
        """The whole result as JSON, or None if it has no such resource. The tool of `call` is named by the URI."""
        ...


@runtime_checkable
class PageProvider(Protocol):
    """A provider of resources with further pages, which its tools are shown with, beside those it lists."""

    @property
    def pages(self) -> frozenset[str]:
        """The URIs of the pages; the same object as long as they are the same."""
        ...


@runtime_checkable
class TaskProvider(Protocol):
    """A provider whose calls may be answered with a task that it keeps (`Kind.TASK`)."""

    async def get_task(self, id: str, caller: Caller) -> bytes:
        """The task as the extension shapes it. Raises BadParams for an unknown one."""
        ...

    async def update_task(self, id: str, caller: Caller, responses: Mapping[str, Raw]) -> None: ...

    async def cancel_task(self, id: str, caller: Caller) -> None: ...

    async def watch_task(self, id: str, caller: Caller, changed: Callable[[bytes], None]) -> Callable[[], None]:
        """Have `changed` called with each new state, until the function returned here is called."""
        ...


@runtime_checkable
class PromptProvider(Protocol):
    def list_prompts(self) -> Sequence[Prompt | ForeignPrompt]: ...

    async def get_prompt(self, call: Call) -> Mapping[str, Any] | bytes:
        """`{"description"?, "messages": […]}`, or that as JSON, for the prompt that the call names."""
        ...


@runtime_checkable
class CompletionProvider(Protocol):
    async def complete(self, ref: Mapping[str, Any], argument: str, value: str) -> Sequence[str]:
        """Values for `argument` that fit the prefix typed so far."""
        ...


@runtime_checkable
class InformedCompletion(Protocol):
    """A provider whose completions depend on earlier arguments, and tell how many values there are."""

    def completes(self, ref: Mapping[str, Any]) -> bool:
        """Whether it may know values for this prompt or template."""
        ...

    async def complete_after(self, asked: Completing) -> Completion | ForeignCompletion:
        """Values for the argument. Called in place of `complete`."""
        ...


@runtime_checkable
class PersonalProvider(Protocol):
    """A provider that differs from person to person; `list_tools` is what callers without a proof get."""

    def of(self, caller: Caller) -> Provider | None:
        """The provider as this caller has it; None if that is not known yet."""
        ...

    async def ready(self, caller: Caller) -> None:
        """Return when it is known what this caller has."""
        ...

    def refusal(self, caller: Caller) -> ClawftError | None:
        """Why this caller gets nothing from it."""
        ...


@runtime_checkable
class AbsentProvider(Protocol):
    """A provider that may not be ready yet, so that its tools are unknown."""

    def absence(self) -> ClawftError | None:
        """Why it is not ready; None if it is."""
        ...

    def arrival(self) -> Awaitable[None] | None:
        """Returns when it is ready or is given up; None if it is not starting."""
        ...


class Changes(Protocol):
    """How a provider reports changes of its lists; `whose`: only for the caller with this proof."""

    def tools_changed(self, whose: str = "") -> None: ...

    def prompts_changed(self, whose: str = "") -> None: ...

    def resources_changed(self, whose: str = "") -> None: ...

    def resource_updated(self, uri: str) -> None: ...

    def log(self, level: LogLevel, params: bytes, principal: str) -> None:
        """A log message outside of any call, for the conversations of this principal."""
        ...

    def elicitation_completed(self, id: str) -> None:
        """A person has finished what they were sent to an address for; tell the conversation that was asked."""
        ...


@runtime_checkable
class Changing(Protocol):
    """A provider whose lists change by themselves."""

    def watch(self, changes: Changes) -> None: ...


_arguments = msgspec.json.Decoder(dict[str, Any])


def arguments_of(given: Mapping[str, Any]) -> bytes:
    """Arguments from a Python program as JSON, including paths and models."""
    from clawft.model.encoded import encoded  # most calls come as bytes
    from clawft.provider.foreign import to_json

    return encoded(given, to_json)


async def _result(provider: Provider, tool: str, arguments: Mapping[str, Any]) -> CallToolResult:
    """Call the tool, and check the type of its result: not every provider is type-checked."""
    answer: Any = provider.call_tool(tool, arguments)
    result: object = await answer if hasattr(answer, "__await__") else answer
    if isinstance(result, CallToolResult):
        return result
    raise ExecutionFailed(f"the provider {provider.namespace} gave {type(result).__name__}, not a CallToolResult")


def end_of(provider: Provider) -> Next:
    """The last step of a call: the function that calls this provider."""
    if is_of(provider, RawProvider):
        return provider.run

    async def decode_and_call(call: Call) -> Reply:
        try:
            arguments = _arguments.decode(call.arguments)
        except msgspec.DecodeError as wrong:
            raise InvalidArguments(f"arguments of {call.name}: {wrong}") from None
        return Reply.of(await _result(provider, call.tool.name, arguments))

    return decode_and_call
