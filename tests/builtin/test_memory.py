"""What an agent remembers."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from clawft.errors import InvalidArguments
from clawft.model import CallToolResult
from tests.requirements import requirement

CallTool = Callable[..., Awaitable[CallToolResult]]


@requirement("MEM-01")
async def test_what_is_stored_can_be_recalled_listed_and_forgotten(call: CallTool) -> None:
    async def value(name: str, **arguments: Any) -> Any:
        return (await call("memory", name, **arguments)).structured_content["result"]

    await call("memory", "store", key="city/home", value="Bern")
    await call("memory", "store", key="city/work", value="Basel", ttl_s=3600)
    await call("memory", "store", key="name", value="Ann")
    await call("memory", "store", key="name", value="Anna")
    assert await value("recall", key="name") == "Anna"
    assert await value("recall", key="nothing") is None
    assert await value("list") == ["city/home", "city/work", "name"]
    assert await value("list", prefix="city/") == ["city/home", "city/work"]
    assert await value("forget", key="name") is True
    assert await value("forget", key="name") is False
    assert await value("recall", key="name") is None


@requirement("MEM-01", "PROV-12")
async def test_get_set_and_delete_are_accepted(call: CallTool) -> None:
    await call("memory", "memory_set", key="k", value="v")
    assert (await call("memory", "memory_get", key="k")).structured_content == {"result": "v"}
    assert (await call("memory", "memory_delete", key="k")).structured_content == {"result": True}


@requirement("MEM-01")
async def test_search_looks_at_keys_first_and_ignores_case(call: CallTool) -> None:
    for key, value in (("a", "the Needle"), ("b", "hay"), ("needle", "x"), ("z", "needles")):
        await call("memory", "store", key=key, value=value)
    found = (await call("memory", "search", query="NEEDLE")).structured_content["result"]
    assert [each["key"] for each in found] == ["needle", "a", "z"]
    assert found[1] == {"key": "a", "value": "the Needle"}
    assert len((await call("memory", "search", query="e", limit=1)).structured_content["result"]) == 1
    assert (await call("memory", "search", query="absent")).structured_content["result"] == []


async def test_keys_and_values_have_bounds(call: CallTool) -> None:
    for arguments in ({"key": "", "value": ""}, {"key": "k" * 300, "value": ""}, {"key": "k", "value": "v" * 70_000}):
        with pytest.raises(InvalidArguments, match=r"'(key|value)' must be str of length"):
            await call("memory", "store", **arguments)
