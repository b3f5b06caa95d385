"""The keys of `[delegation]`: which delegates exist, by which rules, within which bounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from clawft.config.key import ConfigKey, Texts, is_http
from clawft.policy.delegation import FLOW_SERVER, DelegationConfig, DelegationRule, Price
from clawft.wire.shapes import members

MAX_RULES = 1_000

Count = Annotated[int, Meta(ge=1, le=1_000_000_000)]
Turns = Annotated[int, Meta(ge=1, le=1_000)]
Depth = Annotated[int, Meta(ge=1, le=8)]
Parallel = Annotated[int, Meta(ge=1, le=64)]
Amount = Annotated[float, Meta(gt=0, le=1_000_000)]

_GLOBS = 'a list of globs, like ["shell__*"]'
_default = DelegationConfig()


def _is_reference(value: str) -> str:
    if not value or value.startswith("secret://"):
        return ""
    return "must be a reference like secret://env/NAME, so that no key is stored in a file"


def _are_few(values: Sequence[DelegationRule]) -> str:
    return f"holds more than {MAX_RULES} rules" if len(values) > MAX_RULES else ""


def _server_name(value: str | Mapping[str, Any]) -> str:
    """The name of the server; a table that describes the server itself has a fixed name."""
    return value if isinstance(value, str) else FLOW_SERVER


def _key(field: str, type: Any, words: str, doc: str, **more: Any) -> ConfigKey:
    """The key of the field with the same name. `more`: further members of the key."""
    name = f"delegation.{field}"
    return ConfigKey(name, name, type, words, getattr(_default, field), doc, **more)


_SWITCH = "true or false"
_KEY = "a reference like secret://env/NAME"

DELEGATION: tuple[ConfigKey, ...] = (
    _key("claude_enabled", bool, _SWITCH, "Allow tasks to be handed to Claude."),
    _key("claude_model", str, "a text", "The model: a full name, or fable, opus, sonnet or haiku for the newest one."),
    _key("claude_url", str, "a text", "The address of the API; empty: the vendor's own.", check=is_http),
    _key("claude_key", str, _KEY, "A reference to the API key.", check=_is_reference),
    _key("openai_enabled", bool, _SWITCH, "Allow tasks to be handed to a model with an OpenAI-compatible API."),
    _key("openai_model", str, "a text", "The name of the model in that API."),
    _key("openai_url", str, "a text", "The address of that API, like http://127.0.0.1:11434/v1.", check=is_http),
    _key("openai_key", str, _KEY, "A reference to the API key.", check=_is_reference),
    _key("claude_flow_enabled", bool, _SWITCH, "Allow tasks to be handed to claude-flow."),
    _key(
        "claude_flow_server",
        str | dict[str, Any],
        "the name of a server, or a table that describes one",
        "The MCP server of claude-flow: its name, or a table with the keys of a server.",
        whole=True,
        turned=_server_name,
    ),
    _key(
        "rules",
        tuple[DelegationRule, ...],
        'a list of tables, like [{ pattern = "deploy", target = "claude", tools = ["git__*"] }]',
        "Who gets a task: the first rule whose pattern is found in it decides.",
        check=_are_few,
    ),
    _key("excluded_tools", Texts, _GLOBS, "Tools that no delegate may use.", adds=True),
    _key("max_turns", Turns, "1 to 1000", "Maximum responses of the model for one task."),
    _key("max_tokens", Count, "a number from 1", "Maximum tokens of one response."),
    _key("max_total_tokens", Count, "a number from 1", "Maximum input and output tokens of one task."),
    _key("max_cost_usd", Amount, "a number above 0", "Maximum cost of one task, in US dollars."),
    _key("max_seconds", Amount, "a number above 0", "Maximum duration of one task."),
    _key("tool_seconds", Amount, "a number above 0", "How long a delegate waits for one tool call."),
    _key("max_parallel", Parallel, "1 to 64", "Tool calls that one delegate may run at the same time."),
    _key("max_depth", Depth, "1 to 8", "How many levels deep tasks may be delegated."),
    _key(
        "tool_tokens",
        Count,
        "a number from 1",
        "With more tokens of tool definitions than this, a delegate searches for tools.",
    ),
    _key(
        "prices",
        dict[str, Price],
        'a table, like { "my-model" = { input = 1.0, output = 2.0 } }',
        "Prices of unknown models, in US dollars per million tokens.",
        whole=True,
    ),
)

FOREIGN = frozenset(
    """claude_enabled claude_model max_turns max_tokens claude_flow_enabled claude_flow_server rules
    excluded_tools""".split()
)
"""Keys that another program's file may set. The storage and the receivers of API keys are left to the user's own files:
a file that came with a repository must not be able to send them elsewhere.
"""

_FIELDS = {name: key for key in DELEGATION if (name := key.name.removeprefix("delegation.")) in FOREIGN}


def in_foreign(told: Mapping[str, Any]) -> dict[str, Any]:
    """The valid keys of the delegation table in another program's JSON, beside its servers or under `tools`.

    Read leniently, in camel or snake case: unknown or unreadable keys are ignored.
    """
    table = members(told.get("delegation")) or members(members(told.get("tools")).get("delegation"))
    named = {_snake(name): value for name, value in table.items()}
    return {_FIELDS[name].name: value for name, value in named.items() if name in _FIELDS and _reads(name, value)}


def _reads(name: str, value: Any) -> bool:
    try:
        return not _FIELDS[name].check(_FIELDS[name].read(value))
    except msgspec.ValidationError:
        return False


def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)
