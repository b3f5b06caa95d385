"""To whom a task may be handed, by which rules and within which bounds. Data only; `delegate` acts on it."""

from enum import Enum

from msgspec import Struct

ALIASES = {
    "fable": "claude-fable-5-2",
    "opus": "claude-opus-5-5",
    "sonnet": "claude-sonnet-5-5",
    "haiku": "claude-haiku-5-5",
}
"""Short names of models, so that a configuration does not go stale with each release."""
DEFAULT_MODEL = "sonnet"
FLOW_SERVER = "claude-flow"
"""The name of the server of `delegation.claude_flow_server` where its table is written there."""


class Target(Enum):
    """The targets of tasks. `local` is whoever has the task already."""

    LOCAL = "local"
    CLAUDE = "claude"
    OPENAI = "openai"
    FLOW = "flow"
    AUTO = "auto"

    @classmethod
    def _missing_(cls, value: object) -> "Target | None":
        """Reads other spellings of a target: `claude_flow`, `claude-flow`, `ClaudeFlow`."""
        spelled = str(value).lower().replace("_", "").replace("-", "")
        return cls.FLOW if spelled == "claudeflow" else next((one for one in cls if one.value == spelled), None)


class DelegationRule(Struct, frozen=True, forbid_unknown_fields=True):
    """A task in which `pattern` is found goes to `target`, which gets only `tools` if any are named."""

    pattern: str
    target: str
    tools: tuple[str, ...] = ()


class Price(Struct, frozen=True, forbid_unknown_fields=True):
    """US dollars for a million tokens."""

    input: float
    output: float
    cache_write: float = 0.0
    cache_read: float = 0.0


class DelegationConfig(Struct, frozen=True):
    """The table `[delegation]`. Everything is off unless somebody switches it on."""

    claude_enabled: bool = False
    claude_model: str = DEFAULT_MODEL
    claude_url: str = ""
    claude_key: str = "secret://env/ANTHROPIC_API_KEY"
    openai_enabled: bool = False
    openai_model: str = ""
    openai_url: str = ""
    openai_key: str = "secret://env/OPENAI_API_KEY"
    claude_flow_enabled: bool = False
    claude_flow_server: str = ""
    rules: tuple[DelegationRule, ...] = ()
    excluded_tools: tuple[str, ...] = ()
    max_turns: int = 10
    max_tokens: int = 4096
    max_total_tokens: int = 1_000_000
    max_cost_usd: float = 5.0
    max_seconds: float = 900.0
    tool_seconds: float = 300.0
    max_parallel: int = 8
    max_depth: int = 1
    tool_tokens: int = 20_000
    prices: dict[str, Price] = {}

    @property
    def is_on(self) -> bool:
        """Whether anybody but the caller could get a task."""
        return self.claude_enabled or self.openai_enabled or self.claude_flow_enabled
