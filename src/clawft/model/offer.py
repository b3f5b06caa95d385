"""The things on offer: tools, resources and prompts, ours and those of others."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec
from msgspec import UNSET, Struct, UnsetType

from clawft.model.caller import Caller, Capabilities


class Annotations(Struct, frozen=True, rename="camel", omit_defaults=True):
    """Hints about a tool. From an untrusted server they are only that: hints."""

    title: str | UnsetType = UNSET
    read_only_hint: bool = False
    destructive_hint: bool = True
    idempotent_hint: bool = False
    open_world_hint: bool = True


TaskSupport = Literal["forbidden", "optional", "required", "server"]


class ToolDefinition(Struct, frozen=True, rename="camel"):
    """A tool's description of itself: a view of its definition."""

    title: str = ""
    description: str = ""
    input_schema: msgspec.Raw = msgspec.Raw(b'{"type":"object"}')
    output_schema: msgspec.Raw = msgspec.Raw(b"")


_definition = msgspec.json.Decoder(ToolDefinition)
_NO_DEFINITION = ToolDefinition()


class Tool(Struct, frozen=True, gc=False):
    """One tool. `wire` is the whole definition as JSON, unknown keys included.

    There may be tens of thousands of them. What one says is read from its definition when somebody asks, and not kept
    a second time; `fuller_definition` is for one that has more to say than is listed.
    """

    name: str
    wire: bytes
    annotations: Annotations = Annotations()
    alias: str = ""
    """A second name accepted on calls and used as the bare name (built-ins only)."""
    task: TaskSupport = "forbidden"
    """Whether it may, or must, run as a task. `server`: the server behind it decides with each call."""
    needs: Capabilities = Capabilities()
    """The abilities that the caller must have for this tool to work at all."""
    fuller_definition: ToolDefinition | None = None

    @property
    def definition(self) -> ToolDefinition:
        return self.fuller_definition or (_definition.decode(self.wire) if self.wire else _NO_DEFINITION)

    @property
    def title(self) -> str:
        return self.definition.title

    @property
    def description(self) -> str:
        return self.definition.description

    @property
    def input_schema(self) -> bytes:
        return bytes(self.definition.input_schema)

    @property
    def output_schema(self) -> bytes:
        return bytes(self.definition.output_schema)


class Origin(Struct, frozen=True):
    """Where a tool comes from: the namespace, the server behind it (if any) and whether it is trusted."""

    namespace: str
    server: str = ""
    trusted: bool = True


class Resource(Struct, frozen=True, rename="camel", omit_defaults=True):
    uri: str
    name: str
    title: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    mime_type: str | UnsetType = UNSET
    size: int | UnsetType = UNSET


class ResourceTemplate(Struct, frozen=True, rename="camel", omit_defaults=True):
    uri_template: str
    name: str
    title: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    mime_type: str | UnsetType = UNSET


class ResourceContent(Struct, frozen=True, rename="camel", omit_defaults=True):
    """`text`, or `blob` in base64."""

    uri: str
    mime_type: str | UnsetType = UNSET
    text: str | UnsetType = UNSET
    blob: str | UnsetType = UNSET


class PromptArgument(Struct, frozen=True, omit_defaults=True):
    name: str
    description: str | UnsetType = UNSET
    required: bool = False


class Prompt(Struct, frozen=True, omit_defaults=True):
    name: str
    title: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    arguments: tuple[PromptArgument, ...] = ()


MAX_COMPLETIONS = 100
"""Values in one answer to a completion."""


class Completing(Struct, frozen=True):
    """The text typed for an argument of a prompt or a template; `chosen` are the other arguments so far."""

    ref: Mapping[str, Any]
    argument: str
    value: str
    chosen: Mapping[str, str] = {}
    params: bytes = b"{}"
    """The whole request, for whoever passes it on."""
    caller: Caller = Caller()


class Completion(Struct, frozen=True, rename="camel", omit_defaults=True):
    """Values that may stand for an argument. How many there are in all, only their owner knows, if anybody."""

    values: Sequence[str]
    total: int | None = None
    has_more: bool | None = None


class ForeignCompletion(Struct, frozen=True):
    """The values an external server knows: `raw` is the whole of its answer."""

    values: Sequence[str]
    raw: bytes


class ForeignResource(Struct, frozen=True):
    """A resource of an external server: `raw` is the whole of what the server said, and `view` what we read in it."""

    uri: str
    raw: bytes

    @property
    def view(self) -> Resource:
        return msgspec.json.decode(self.raw, type=Resource)


class ForeignTemplate(Struct, frozen=True):
    uri_template: str
    raw: bytes

    @property
    def view(self) -> ResourceTemplate:
        return msgspec.json.decode(self.raw, type=ResourceTemplate)


class ForeignPrompt(Struct, frozen=True):
    name: str
    raw: bytes

    @property
    def view(self) -> Prompt:
        return msgspec.json.decode(self.raw, type=Prompt)
