"""The bounds of a task's cost, and the ways it can end. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from msgspec import Struct

from clawft.delegate.turns import TokenUsage
from clawft.policy.delegation import DelegationConfig, Price

MILLION = 1_000_000


class RunEnd(Enum):
    """How a run ended."""

    DONE = "done"
    TURNS = "out_of_turns"
    TOKENS = "out_of_tokens"
    COST = "out_of_money"
    TIME = "out_of_time"
    CUT = "answer_cut"
    REFUSED = "refused"
    FULL = "context_full"
    LOOPING = "looping"
    CANCELLED = "cancelled"
    FAILED = "failed"


class RunBounds(Struct, frozen=True):
    turns: int = 10
    answer_tokens: int = 4096
    tokens: int = 1_000_000
    cost: float = 5.0
    seconds: float = 900.0
    tool_seconds: float = 300.0
    parallel: int = 8

    @classmethod
    def of(cls, config: DelegationConfig) -> RunBounds:
        return cls(
            config.max_turns,
            config.max_tokens,
            config.max_total_tokens,
            config.max_cost_usd,
            config.max_seconds,
            config.tool_seconds,
            config.max_parallel,
        )


class Spending(Struct, frozen=True):
    turns: int = 0
    usage: TokenUsage = TokenUsage()
    cost: float | None = None
    """In US dollars; None if nobody knows the price of this model."""

    def plus(self, usage: TokenUsage, price: Price | None) -> Spending:
        cost = None if price is None else (self.cost or 0.0) + cost_of(usage, price)
        return Spending(self.turns + 1, self.usage + usage, cost)


def exceeded(bounds: RunBounds, spent: Spending) -> RunEnd | None:
    """The bound that is used up, so that no further answer may be asked for; None if there is none."""
    if spent.turns >= bounds.turns:
        return RunEnd.TURNS
    if spent.usage.total >= bounds.tokens:
        return RunEnd.TOKENS
    if spent.cost is not None and spent.cost >= bounds.cost:
        return RunEnd.COST
    return None


def room(bounds: RunBounds, spent: Spending) -> int:
    """How many tokens the next answer may have."""
    return max(1, min(bounds.answer_tokens, bounds.tokens - spent.usage.total))


def why(end: RunEnd, bounds: RunBounds) -> tuple[str, str]:
    """The reason for an end, and what to do next."""
    match end:
        case RunEnd.TURNS:
            return f"not done after {bounds.turns} turns", "raise delegation.max_turns, or ask for less"
        case RunEnd.TOKENS:
            return f"more than {bounds.tokens} tokens are used", "raise delegation.max_total_tokens, or ask for less"
        case RunEnd.COST:
            return f"it has cost ${bounds.cost:g}", "raise delegation.max_cost_usd, or ask for less"
        case RunEnd.TIME:
            return f"not done within {bounds.seconds:g} s", "raise delegation.max_seconds, or ask for less"
        case RunEnd.CUT:
            return f"the answer does not fit into {bounds.answer_tokens} tokens", "raise delegation.max_tokens"
        case RunEnd.REFUSED:
            return "the model refused", "describe the task in other words"
        case RunEnd.FULL:
            return "the conversation is longer than the model can read", "start again with a smaller task"
        case RunEnd.LOOPING:
            return (
                "the model made the same call again and again",
                "describe the task in other words, or give it other tools",
            )
        case RunEnd.CANCELLED:
            return "interrupted", "weft agent --resume continues"
        case RunEnd.DONE | RunEnd.FAILED:
            return "", ""


# ── prices ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _claude(input: float, output: float, read: float = 0.1) -> Price:
    """Writing to the cache is a quarter more than reading anew, reading from it a small part."""
    return Price(input, output, cache_write=input * 1.25, cache_read=input * read)


PRICES: Mapping[str, Price] = {
    "claude-fable": _claude(10, 50),
    "claude-mythos": _claude(10, 50),
    "claude-opus": _claude(5, 25),
    "claude-opus-5-5": _claude(4, 20, 0.05),
    "claude-sonnet": _claude(3, 15),
    "claude-sonnet-5": _claude(2, 10),
    "claude-sonnet-5-5": _claude(2, 10, 0.05),
    "claude-haiku": _claude(1, 5),
    "claude-haiku-5-5": _claude(0.5, 2.5),
}
"""List prices as published in October 2026, by the beginning of a model's name; the dearer one where there are two."""


def price_of(model: str, told: Mapping[str, Price]) -> Price | None:
    """The price the user has set, else the list price; None for an unknown model."""
    if model in told:
        return told[model]
    known = [name for name in PRICES if model.startswith(name)]
    return PRICES[max(known, key=len)] if known else None


def cost_of(usage: TokenUsage, price: Price) -> float:
    return (
        usage.input * price.input
        + usage.output * price.output
        + usage.cache_write * price.cache_write
        + usage.cache_read * price.cache_read
    ) / MILLION
