"""URIs that a result names, and nothing else in it."""

import json
from typing import Any

import pytest

from clawft.wire import resource_links
from tests.requirements import requirement

pytestmark = requirement("RES-05", "WIRE-21")


def upper(uri: str) -> str:
    return uri.upper() if uri.startswith("a:") else uri


def spelled(content: Any, **more: Any) -> Any:
    return json.loads(resource_links.in_result(json.dumps({"content": content, **more}).encode(), upper))


def test_links_and_embedded_resources_are_spelled_and_texts_are_not() -> None:
    link, embedded = {"type": "resource_link", "uri": "a:x"}, {"type": "resource", "resource": {"uri": "a:x", "n": 1}}
    other = {"type": "text", "text": "a:x", "uri": "a:x"}
    assert spelled([link, embedded, other], structuredContent={"uri": "a:x"}) == {
        "content": [{**link, "uri": "A:X"}, {"type": "resource", "resource": {"uri": "A:X", "n": 1}}, other],
        "structuredContent": {"uri": "a:x"},
    }


def test_a_page_is_spelled_in_both_forms() -> None:
    meta = {"ui": {"resourceUri": "a:x", "n": 1}, "ui/resourceUri": "a:x", "v": "a:x"}
    told = {"ui": {"resourceUri": "A:X", "n": 1}, "ui/resourceUri": "A:X", "v": "a:x"}
    assert spelled([], _meta=meta)["_meta"] == told
    definition = {"name": "t", "_meta": meta}
    assert json.loads(resource_links.in_definition(json.dumps(definition).encode(), upper)) == {
        "name": "t",
        "_meta": told,
    }


def test_however_a_uri_is_escaped_it_is_read() -> None:
    raw = rb'{"content":[{"type":"resource_l\u0069nk","uri":"a:\/\/\u0078"}]}'
    assert json.loads(resource_links.in_result(raw, upper))["content"][0]["uri"] == "A://X"


def test_messages_have_one_block_or_many() -> None:
    block = {"type": "resource_link", "uri": "a:x"}
    told = {"messages": [{"role": "user", "content": block}, {"role": "user", "content": [block]}]}
    made = json.loads(resource_links.in_prompt(json.dumps(told).encode(), upper))["messages"]
    assert [made[0]["content"]["uri"], made[1]["content"][0]["uri"]] == ["A:X", "A:X"]


def test_all_contents_of_a_read_are_looked_at() -> None:
    told = {"contents": [{"uri": "a:x", "text": "a:x"}, {"uri": "b:x"}], "n": 1.5}
    read = json.loads(resource_links.in_contents(json.dumps(told).encode(), upper))
    assert read == {"contents": [{"uri": "A:X", "text": "a:x"}, {"uri": "b:x"}], "n": 1.5}


@pytest.mark.parametrize(
    "raw",
    [
        b'{"content" : [{"type":"resource_link", "uri":"b:x"}]}',
        b'{"content":[{"type":"resource_link","uri":5}, {"type":["uri"]}, 5, []]}',
        b'{"content":[{"type":"resource","resource":"uri"}]}',
        b'{"content":{"uri":5},"_meta":{"ui":[],"ui/resourceUri":5}}',
        b'{"content":"uri","_meta":"uri"}',
        b'["uri"]',
        b'{"content":[],"uri":"a:x"}',
        b'no JSON, though it says "uri"',
    ],
)
def test_what_has_nothing_to_change_is_given_back_itself(raw: bytes) -> None:
    for way in (
        resource_links.in_result,
        resource_links.in_prompt,
        resource_links.in_contents,
        resource_links.in_definition,
    ):
        assert way(raw, upper) is raw


def test_all_else_keeps_its_bytes() -> None:
    raw = b'{"content":[{"type":"resource_link","uri":"a:x","n":1.50},{"type":"text","text":"\\u0041"}],"m":[1.0, 2]}'
    assert resource_links.in_result(raw, upper) == raw.replace(b"a:x", b"A:X")
