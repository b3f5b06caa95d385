"""Resources, prompts and completion, in both eras; and results for older callers."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from mcp_types.methods import validate_server_result

from clawft.model import (
    Call,
    Caller,
    Grant,
    Prompt,
    PromptArgument,
    Question,
    Reply,
    Resource,
    ResourceContent,
    ResourceTemplate,
)
from clawft.wire.revisions import HANDSHAKE
from tests.gateway.asking import ADA, CAN_FILL, FORM
from tests.gateway.support import Demo, echo, modern, pipe, serving, texts
from tests.requirements import requirement


class Library(Demo):
    """A provider that has everything."""

    def list_resources(self) -> Sequence[Resource]:
        return [Resource("x://a", "a\u202e", title="A", mime_type="text/plain", size=1), Resource("x://b", "b")]

    def list_templates(self) -> Sequence[ResourceTemplate]:
        return [ResourceTemplate("x://{id}", "t", description="d")]

    async def read_resource(self, uri: str) -> Sequence[ResourceContent] | None:
        return [ResourceContent(uri, text="content\u202e")] if uri == "x://a" else None

    def list_prompts(self) -> Sequence[Prompt]:
        return [Prompt("ask", title="Ask", arguments=(PromptArgument("who", required=True),)), Prompt("plain")]

    async def get_prompt(self, call: Call) -> Mapping[str, Any]:
        who = json.loads(call.arguments).get("who")
        if call.tool.name == "ask" and who is None:
            answer = (await call.talk.ask({"who": Question("elicitation/create", FORM)}))["who"]
            who = answer["content"]["name"]
        text = {"type": "text", "text": f"{call.tool.name} {who}"}
        return {"description": "d", "messages": [{"role": "user", "content": text}]}

    async def complete(self, ref: Mapping[str, Any], argument: str, value: str) -> Sequence[str]:
        return [f"{ref.get('name') or ref.get('uri')}:{argument}:{value}{n}" for n in range(150)]


ERAS = pytest.mark.parametrize("revision", [*HANDSHAKE, "2026-07-28"])


@requirement("RES-01", "RES-06", "RES-07", "WIRE-20")
@ERAS
@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("resources/list", {}),
        ("resources/templates/list", {}),
        ("resources/read", {"uri": "x://a"}),
        ("prompts/list", {}),
        ("prompts/get", {"name": "lib__ask", "arguments": {"who": "ada"}}),
        (
            "completion/complete",
            {"ref": {"type": "ref/resource", "uri": "x://{id}"}, "argument": {"name": "id", "value": "a"}},
        ),
        ("tools/list", {}),
        ("tools/call", {"name": "lib__echo"}),
    ],
)
async def test_what_we_emit_is_what_the_official_types_expect(
    revision: str, method: str, params: dict[str, Any]
) -> None:
    async with pipe(serving(Library("lib").add("echo", echo))) as caller:
        if revision == "2026-07-28":
            params = modern(**params)
        else:
            await caller.initialize(revision)
        result = (await caller.ask(method, params))["result"]
        validate_server_result(method, revision, result)
        assert ("resultType" in result) is (revision == "2026-07-28")


@requirement("RES-01", "GUARD-09")
async def test_resources_are_listed_and_read() -> None:
    async with pipe(serving(Library("lib"))) as caller:
        await caller.initialize()
        listed = (await caller.ask("resources/list"))["result"]["resources"]
        assert listed[0] == {"uri": "x://a", "name": "a⟨U+202E⟩", "title": "A", "mimeType": "text/plain", "size": 1}
        read = (await caller.ask("resources/read", {"uri": "x://a"}))["result"]
        assert read["contents"][0]["uri"] == "x://a"
        assert (await caller.ask("resources/read", {"uri": "x://no"}))["error"] == {
            "code": -32002,
            "message": "resource not found: x://no",
            "data": {"uri": "x://no"},
        }


@requirement("RES-13")
@pytest.mark.parametrize(("revision", "titled"), [("2024-11-05", False), ("2025-03-26", False), ("2025-06-18", True)])
async def test_lists_fit_the_revision_of_the_caller(revision: str, titled: bool) -> None:
    async with pipe(serving(Library("lib"))) as caller:
        await caller.initialize(revision)
        for method, member in (("resources/list", "resources"), ("prompts/list", "prompts")):
            first = (await caller.ask(method))["result"][member][0]
            assert ("title" in first) is titled


@requirement("RES-13")
async def test_callers_of_two_revisions_do_not_get_each_others_lists() -> None:
    served = serving(Library("lib"))
    async with pipe(served) as old, pipe(served) as new, pipe(served) as modern_caller:
        await old.initialize("2024-11-05")
        await new.initialize("2025-11-25")
        for _ in range(2):
            lists = [(await caller.ask("prompts/list"))["result"] for caller in (old, new)]
            lists.append((await modern_caller.ask("prompts/list", modern()))["result"])
            assert ["title" in page["prompts"][0] for page in lists] == [False, True, True]
            assert ["resultType" in page for page in lists] == [False, False, True]


@requirement("RES-13")
async def test_a_result_fits_the_revision_of_the_caller() -> None:
    async def rich(call: Call) -> Reply:
        audio = {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"}
        return Reply(json.dumps({"content": [audio], "structuredContent": {"a": 1}}).encode())

    served = serving(Demo().add("rich", rich))
    async with pipe(served) as old, pipe(served) as new:
        await old.initialize("2024-11-05")
        await new.initialize("2025-11-25")
        assert "audio/wav" in texts(await old.call("demo__rich"))[0]
        assert "structuredContent" not in (await old.call("demo__rich"))["result"]
        whole = (await new.call("demo__rich"))["result"]
        assert (whole["content"][0]["type"], whole["structuredContent"]) == ("audio", {"a": 1})


@requirement("RES-07")
async def test_prompts_are_named_like_tools_and_found_by_any_spelling() -> None:
    async with pipe(serving(Library("lib"))) as caller:
        await caller.initialize()
        listed = (await caller.ask("prompts/list"))["result"]["prompts"]
        assert [prompt["name"] for prompt in listed] == ["lib__ask", "lib__plain"]
        assert listed[0]["arguments"] == [{"name": "who", "required": True}]
        for name in ("lib__ask", "mcp__lib__ask", "mcp:lib:ask"):
            got = (await caller.ask("prompts/get", {"name": name, "arguments": {"who": "ada"}}))["result"]
            assert got["messages"][0]["content"]["text"] == "ask ada"


@requirement("RES-07", "GUARD-06")
@pytest.mark.parametrize("deny", ["lib__ask", "mcp__lib__ask", "mcp:lib:ask"])
async def test_a_hidden_prompt_is_an_unknown_one_however_the_rule_spells_it(deny: str) -> None:
    async with pipe(serving(Library("lib")), Caller(grant=Grant(deny=(deny,)))) as caller:
        await caller.initialize()
        listed = (await caller.ask("prompts/list"))["result"]["prompts"]
        assert [prompt["name"] for prompt in listed] == ["lib__plain"]
        hidden = (await caller.ask("prompts/get", {"name": "lib__ask"}))["error"]
        unknown = (await caller.ask("prompts/get", {"name": "lib__xxx"}))["error"]
        assert hidden["message"].replace("ask", "xxx") == unknown["message"]


@requirement("RES-07", "RES-10")
async def test_a_prompt_may_ask_back_in_both_eras() -> None:
    served = serving(Library("lib"))
    async with pipe(served) as old, pipe(served) as new:
        await old.initialize(capabilities=CAN_FILL)
        id = old.send("prompts/get", {"name": "lib__ask"})
        question = await old.message(lambda m: m.get("method") == "elicitation/create")
        old.write({"jsonrpc": "2.0", "id": question["id"], "result": ADA})
        assert (await old.answer(id))["result"]["messages"][0]["content"]["text"] == "ask ada"
        first = (await new.ask("prompts/get", modern(CAN_FILL, name="lib__ask")))["result"]
        validate_server_result("prompts/get", "2026-07-28", first)
        retry = modern(CAN_FILL, name="lib__ask", inputResponses={"who": ADA}, requestState=first["requestState"])
        done = (await new.ask("prompts/get", retry))["result"]
        assert done["messages"][0]["content"]["text"] == "ask ada"


@requirement("RES-11")
async def test_completion_names_the_prompt_as_its_provider_knows_it_and_has_a_bound() -> None:
    async with pipe(serving(Library("lib"), Demo("other"))) as caller:
        await caller.initialize()
        ref = {"type": "ref/prompt", "name": "lib__ask"}
        asked = await caller.ask("completion/complete", {"ref": ref, "argument": {"name": "who", "value": "a"}})
        completion = asked["result"]["completion"]
        assert (completion["values"][0], len(completion["values"])) == ("ask:who:a0", 100)
        assert (completion["total"], completion["hasMore"]) == (150, True)


@requirement("RES-11")
@pytest.mark.parametrize(
    ("ref", "lacks"),
    [
        ({}, "type"),
        ({"type": 5, "name": "lib__ask"}, "type"),
        ({"type": "ref/prompt"}, "name"),
        ({"type": "ref/prompt", "name": None}, "name"),
        ({"type": "ref/resource", "name": "lib__ask"}, "uri"),
    ],
)
async def test_a_reference_that_names_nothing_is_refused(ref: dict[str, Any], lacks: str) -> None:
    async with pipe(serving(Library("lib"))) as caller:
        await caller.initialize()
        asked = await caller.ask("completion/complete", {"ref": ref, "argument": {"name": "who", "value": "a"}})
        assert asked["error"]["code"] == -32602
        assert f"ref lacks {lacks}" in asked["error"]["message"]


@requirement("RES-11")
async def test_with_nobody_to_complete_there_are_no_values() -> None:
    async with pipe(serving(Demo())) as caller:
        await caller.initialize()
        ref = {"type": "ref/resource", "uri": "x"}
        asked = await caller.ask("completion/complete", {"ref": ref, "argument": {"name": "a", "value": ""}})
        assert asked["result"]["completion"] == {"values": [], "total": 0, "hasMore": False}
