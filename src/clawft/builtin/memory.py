"""The memory family: texts an agent remembers, in its own key-value store.

The tools are store, recall, list, forget and search; calls of `memory__set`, `memory__get` and `memory__delete` are
accepted as well.
"""

from typing import Annotated

from msgspec import Meta, Struct

from clawft.provider.context import ToolContext
from clawft.provider.function import tool
from clawft.provider.keeps import FIRST
from clawft.provider.manifest import Manifest

MAX_KEY_CHARS = 256
MAX_VALUE_CHARS = 65_536
MAX_SEARCHED = 10_000
"""Keys that one search looks at."""

MANIFEST = Manifest(id="com.clawft.plugin-memory", name="Agent Memory")

Key = Annotated[str, Meta(min_length=1, max_length=MAX_KEY_CHARS)]


class Memory(Struct, frozen=True):
    key: str
    value: Annotated[str, FIRST]


@tool(alias="memory_set", title="Remember", destructive=False, idempotent=True, open_world=False)
async def store(
    key: Key,
    value: Annotated[str, Meta(max_length=MAX_VALUE_CHARS)],
    ctx: ToolContext,
    ttl_s: Annotated[int, Meta(ge=1, description="forget it after so many seconds")] | None = None,
) -> str:
    """Remember a text under a key, in place of what was there."""
    await ctx.store.set(key, value, ttl_s)
    return f"stored '{key}'"


@tool(alias="memory_get", title="Recall", read_only=True, idempotent=True, open_world=False)
async def recall(key: Key, ctx: ToolContext) -> Annotated[str, FIRST] | None:
    """The text remembered under a key, or null."""
    return await ctx.store.get(key)


@tool(name="list", alias="memory_list", title="List memories", read_only=True, idempotent=True, open_world=False)
async def list_keys(
    ctx: ToolContext, prefix: Annotated[str, Meta(max_length=MAX_KEY_CHARS)] | None = None
) -> Annotated[list[str], FIRST]:
    """The keys that something is remembered under."""
    return await ctx.store.list_keys(prefix)


@tool(alias="memory_delete", title="Forget", idempotent=True, open_world=False)
async def forget(key: Key, ctx: ToolContext) -> bool:
    """Forget what is remembered under a key. False if there was nothing."""
    return await ctx.store.delete(key)


@tool(alias="memory_search", title="Search memories", read_only=True, idempotent=True, open_world=False)
async def search(
    query: Annotated[str, Meta(min_length=1, max_length=1000, description="text to find in keys and values")],
    ctx: ToolContext,
    limit: Annotated[int, Meta(ge=1, le=100)] = 10,
) -> list[Memory]:
    """Memories whose key or text contains the query, whatever the case; those with a matching key come first."""
    wanted = query.casefold()
    by_key: list[Memory] = []
    by_value: list[Memory] = []
    for key in (await ctx.store.list_keys())[:MAX_SEARCHED]:
        value = await ctx.store.get(key)
        if value is None:
            continue  # expired after it was listed
        if wanted in key.casefold():
            by_key.append(Memory(key, value))
        elif wanted in value.casefold():
            by_value.append(Memory(key, value))
        if len(by_key) >= limit:
            break
    return (by_key + by_value)[:limit]


TOOLS = (store, recall, list_keys, forget, search)
