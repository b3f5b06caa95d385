"""Resources as tools, for agents that know nothing else."""

import pytest

from clawft.builtin.resources import resource_tools
from clawft.errors import ExecutionFailed, ResourceNotFound
from clawft.model import Caller, Resource, Talk
from clawft.provider.function import FunctionProvider
from clawft.store.memory import MemoryStore
from tests.requirements import requirement

OWNED = [("docs", Resource("doc:///a", "a", mime_type="text/plain")), ("pics", Resource("pic:///b", "b"))]


async def list_owned(caller: Caller) -> list[tuple[str, Resource]]:
    return OWNED


async def read(uri: str, owner: str, caller: Caller, talk: Talk) -> bytes:
    if uri == "doc:///a" and owner in ("", "docs"):
        return b'{"contents":[{"uri":"doc:///a","text":"A"}]}'
    if uri == "pic:///b" and owner in ("", "pics"):
        return b'{"contents":[{"uri":"pic:///b","mimeType":"image/png","blob":"AAAA","x":1}]}'
    raise ResourceNotFound(uri)


@pytest.fixture
def tools(tmp_path_factory: pytest.TempPathFactory) -> FunctionProvider:
    functions = resource_tools(list_owned, read, lambda name, caller: name == "bare")
    return FunctionProvider("weft", functions, workspace=tmp_path_factory.mktemp("w"), store=MemoryStore())


@requirement("RES-02", "S2-P4-14")
async def test_all_resources_are_listed_or_those_of_one_server(tools: FunctionProvider) -> None:
    everything = (await tools.call_tool("list_resources", {})).structured_content["result"]
    assert everything == [
        {"server": "docs", "uri": "doc:///a", "name": "a", "mimeType": "text/plain"},
        {"server": "pics", "uri": "pic:///b", "name": "b"},
    ]
    one = (await tools.call_tool("list_mcp_resources", {"server": "pics"})).structured_content["result"]
    assert [row["uri"] for row in one] == ["pic:///b"]


@requirement("RES-02", "MGR-09")
async def test_a_server_that_is_not_there_is_told_from_one_without_resources(tools: FunctionProvider) -> None:
    assert (await tools.call_tool("list_resources", {"server": "bare"})).structured_content["result"] == []
    with pytest.raises(ExecutionFailed, match="there is no server 'pisc'"):
        await tools.call_tool("list_resources", {"server": "pisc"})


@requirement("RES-03", "S2-P5-02")
async def test_a_resource_is_read_as_text_or_as_base64(tools: FunctionProvider) -> None:
    text = await tools.call_tool("read_resource", {"uri": "doc:///a", "server": "docs"})
    blob = await tools.call_tool("read_mcp_resource", {"uri": "pic:///b"})
    assert text.structured_content["result"] == [{"uri": "doc:///a", "text": "A"}]
    assert blob.structured_content["result"] == [{"uri": "pic:///b", "mimeType": "image/png", "blob": "AAAA"}]


@requirement("RES-03")
async def test_what_is_not_there_is_said_with_the_way_to_find_it(tools: FunctionProvider) -> None:
    with pytest.raises(ExecutionFailed, match="no resource doc:///a"):
        await tools.call_tool("read_resource", {"uri": "doc:///a", "server": "pics"})
