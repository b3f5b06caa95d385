"""Where tools come from.

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
    """A source of tools. `list_tools` reads a ready snapshot and never waits."""

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
    """A provider that can start a call without a task that waits for it."""

    def start(self, call: Call, receiver: ReplyReceiver) -> SentCall | None:
        """Send the call; None if it needs more than one message and its answer, and has to be run instead."""
        ...


@runtime_checkable
class RawTalk(Protocol):
    """A Talk that also passes on notifications of servers with all their members, known or not."""

    def carry_progress(self, progress: float, told: Mapping[str, Any]) -> None: ...

    def carry_log(self, level: LogLevel, told: Mapping[str, Any]) -> None: ...


@runtime_checkable
class ExtendedProvider(Protocol):
    """A provider with protocol extensions that are a matter between it and the agents."""

    @property
    def extensions(self) -> Mapping[str, Any]:
        """By name, each with its settings."""
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
    """A provider whose resources and prompts give the same as some tool, perhaps another provider's."""

    @property
    def stands_for(self) -> str:
        """The exported name of that tool: a caller has these resources and prompts if it may call the tool."""
        ...


TellChange = Callable[[str, Mapping[str, Raw]], None]
"""Called with the URI of a resource that has changed, and everything else the notification says."""


@runtime_checkable
class WatchedProvider(Protocol):
    """A provider of resources that wants to know which of them someone watches."""

    async def watch_resource(self, uri: str, caller: Caller, changed: TellChange) -> Callable[[], None] | None:
        """Have `changed` called for what changes, until what this returns is called.

        None if this provider knows no such resource; raises ClawftError if nobody will tell of its changes.
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
    """A provider that may have to ask the caller something before it can read."""

    def may_have(self, uri: str) -> bool:
        """Whether its lists allow it to have this resource; if not, it is not asked."""
        ...

    async def read_resource_for(self, call: Call) -> bytes | None:
        """The whole result as JSON, or None if it has no such resource. `call` is for a tool named by its URI."""
        ...


@runtime_checkable
class PageProvider(Protocol):
    """A provider of resources that may have pages, which its tools are shown with, beside those it lists."""

    @property
    def pages(self) -> frozenset[str]:
        """Their URIs; the same object for as long as they are the same."""
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
        """Have `changed` called with each new shape, until what this returns is called."""
        ...


@runtime_checkable
class PromptProvider(Protocol):
    def list_prompts(self) -> Sequence[Prompt | ForeignPrompt]: ...

    async def get_prompt(self, call: Call) -> Mapping[str, Any] | bytes:
        """`{"description"?, "messages": […]}`, or that as JSON. The call carries name, arguments and the way to ask."""
        ...


@runtime_checkable
class CompletionProvider(Protocol):
    async def complete(self, ref: Mapping[str, Any], argument: str, value: str) -> Sequence[str]:
        """Values that may stand for `argument`, given the prefix typed so far."""
        ...


@runtime_checkable
class InformedCompletion(Protocol):
    """A provider that completes in the light of what was chosen before, and tells how many values there are."""

    def completes(self, ref: Mapping[str, Any]) -> bool:
        """Whether it may know values for this prompt or template."""
        ...

    async def complete_after(self, asked: Completing) -> Completion | ForeignCompletion:
        """Values that may stand for the argument. Called in place of `complete`."""
        ...


@runtime_checkable
class PersonalProvider(Protocol):
    """A provider that differs from person to person; `list_tools` is what it has for nobody in particular."""

    def of(self, caller: Caller) -> Provider | None:
        """The provider as this caller has it; None if that is not known yet."""
        ...

    async def ready(self, caller: Caller) -> None:
        """Return when it is known what this caller has."""
        ...

    def refusal(self, caller: Caller) -> ClawftError | None:
        """Why it has nothing for this caller."""
        ...


@runtime_checkable
class AbsentProvider(Protocol):
    """A provider that may not be ready yet, so that its tools are unknown."""

    def absence(self) -> ClawftError | None:
        """Why it is not there; None if it is."""
        ...

    def arrival(self) -> Awaitable[None] | None:
        """Returns when it is there or is not waited for any longer; None if it is not starting."""
        ...


class Changes(Protocol):
    """What a provider may call when what it offers has changed; `whose`: to the caller with this proof alone."""

    def tools_changed(self, whose: str = "") -> None: ...

    def prompts_changed(self, whose: str = "") -> None: ...

    def resources_changed(self, whose: str = "") -> None: ...

    def resource_updated(self, uri: str) -> None: ...

    def log(self, level: LogLevel, params: bytes, principal: str) -> None:
        """A log message that belongs to no call, for the conversations of this principal."""
        ...

    def elicitation_completed(self, id: str) -> None:
        """What a person was sent to an address for is done there; for the conversation that was asked."""
        ...


@runtime_checkable
class Changing(Protocol):
    """A provider whose lists change by themselves."""

    def watch(self, changes: Changes) -> None: ...


_arguments = msgspec.json.Decoder(dict[str, Any])


def arguments_of(given: Mapping[str, Any]) -> bytes:
    """The arguments of a Python program as JSON; paths and models included."""
    from clawft.model.encoded import encoded  # most calls come as bytes
    from clawft.provider.foreign import to_json

    return encoded(given, to_json)


async def _result(provider: Provider, tool: str, arguments: Mapping[str, Any]) -> CallToolResult:
    """Call the tool, and check what it returns: not every provider is type-checked."""
    answer: Any = provider.call_tool(tool, arguments)
    result: object = await answer if hasattr(answer, "__await__") else answer
    if isinstance(result, CallToolResult):
        return result
    raise ExecutionFailed(f"the provider {provider.namespace} gave {type(result).__name__}, and no CallToolResult")


def end_of(provider: Provider) -> Next:
    """How this provider is called, as the last step of a call."""
    if is_of(provider, RawProvider):
        return provider.run

    async def decode_and_call(call: Call) -> Reply:
        try:
            arguments = _arguments.decode(call.arguments)
        except msgspec.DecodeError as wrong:
            raise InvalidArguments(f"arguments of {call.name}: {wrong}") from None
        return Reply.of(await _result(provider, call.tool.name, arguments))

    return decode_and_call
