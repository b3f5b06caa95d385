"""The workspace as resources, prompts and completions."""

import asyncio
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import cast

import msgspec
import pytest

from clawft.builtin import workspace as module
from clawft.builtin.confine import ConfinedPath
from clawft.builtin.workspace import MAX_LISTED, TEMPLATE, WorkspaceProvider, path_of, uri_of
from clawft.errors import BadParams, ToolNotFound
from clawft.link.share.large_messages import MAX_PRODUCERS
from clawft.model import Call, Caller, Origin, ResourceContent, Tool
from clawft.provider.base import CompletionProvider, PromptProvider, Provider, ResourceProvider
from tests.requirements import requirement


@pytest.fixture
def weft_provider(providers: Mapping[str, Provider], workspace: Path) -> WorkspaceProvider:
    (workspace / "README.md").write_text("# Grüezi")
    (workspace / "a b.py").write_text("x = 1")
    (workspace / "logo.png").write_bytes(b"\x89PNG\xff")
    (workspace / ".env").write_text("SECRET=1")
    (workspace / "src").mkdir()
    (workspace / "src" / "main.rs").write_text("fn main() {}")
    (workspace / "out").symlink_to("/etc")
    return cast("WorkspaceProvider", providers["weft"])


def prompt_call(name: str, arguments: dict[str, object]) -> Call:
    return Call(Caller(), name, Tool(name, b""), Origin("weft"), msgspec.json.encode(arguments))


def test_it_offers_what_it_says(weft_provider: WorkspaceProvider) -> None:
    for kind in (Provider, ResourceProvider, PromptProvider, CompletionProvider):
        assert isinstance(weft_provider, kind)
    assert weft_provider.namespace == "weft"
    assert weft_provider.list_tools() == ()


def test_text_files_at_the_top_are_resources(weft_provider: WorkspaceProvider) -> None:
    assert [msgspec.to_builtins(each) for each in weft_provider.list_resources()] == [
        {"uri": "workspace:///README.md", "name": "README.md", "mimeType": "text/markdown", "size": 9},
        {"uri": "workspace:///a%20b.py", "name": "a b.py", "mimeType": "text/x-python", "size": 5},
    ]
    assert [each.uri_template for each in weft_provider.list_templates()] == ["workspace:///{+path}"]


def test_a_crowd_at_the_top_is_not_looked_through(
    weft_provider: WorkspaceProvider, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everybody waits while resources are listed: 100,000 files took seconds."""
    for number in range(2_500):
        (workspace / f"{number}.bin").touch()
    looked: list[str] = []
    look = ConfinedPath.stat

    def counted(found: ConfinedPath) -> os.stat_result:
        looked.append(found.name)
        return look(found)

    monkeypatch.setattr(ConfinedPath, "stat", counted)
    weft_provider.list_resources()
    assert len(looked) <= 2_000
    for number in range(MAX_LISTED * 2):
        (workspace / f"{number}.bin").rename(workspace / f"{number}.txt")
    assert len(weft_provider.list_resources()) <= MAX_LISTED


async def test_any_file_inside_can_be_read(weft_provider: WorkspaceProvider) -> None:
    for uri, text in (("workspace:///a%20b.py", "x = 1"), ("workspace:///src/main.rs", "fn main() {}")):
        contents = await weft_provider.read_resource(uri)
        assert contents is not None
        assert (contents[0].uri, contents[0].text) == (uri, text)
    picture = await weft_provider.read_resource("workspace:///logo.png")
    assert picture is not None
    assert msgspec.to_builtins(picture[0])["blob"] == "iVBOR/8="


async def test_few_files_are_read_at_a_time(
    weft_provider: WorkspaceProvider, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two dozen of the largest that may be read took 270 MiB."""
    (workspace / "large.bin").write_bytes(b"\xff" * 1024 * 1024)
    reading = most = 0
    made = module.content_of

    def counted(uri: str, path: str, data: bytes) -> ResourceContent:
        nonlocal reading, most
        reading += 1
        most = max(most, reading)
        time.sleep(0.01)
        reading -= 1
        return made(uri, path, data)

    monkeypatch.setattr(module, "content_of", counted)
    found = await asyncio.gather(*(weft_provider.read_resource("workspace:///large.bin") for _ in range(12)))
    assert all(found)
    assert most <= MAX_PRODUCERS


@requirement("FILE-03", "IDE-12")
@pytest.mark.parametrize(
    "uri",
    [
        "workspace:///missing",
        "workspace:///../secret",
        "workspace:///%2e%2e/secret",
        "workspace:////etc/passwd",
        "workspace:///out/passwd",
        "workspace:///a%00b",
        "workspace:///src",
        "workspace:///",
        "file:///etc/passwd",
    ],
)
async def test_what_is_outside_or_missing_is_unknown(weft_provider: WorkspaceProvider, uri: str) -> None:
    assert await weft_provider.read_resource(uri) is None


def test_paths_and_addresses_turn_into_each_other() -> None:
    for path in ("a", "a b/ü.txt", "100%", "a?b#c"):
        assert path_of(uri_of(path)) == path


async def test_prompts(weft_provider: WorkspaceProvider) -> None:
    assert [each.name for each in weft_provider.list_prompts()] == ["review_changes", "explain_file"]
    review = await weft_provider.get_prompt(prompt_call("review_changes", {"focus": "error paths"}))
    assert "Look most at: error paths" in review["messages"][0]["content"]["text"]
    plain = await weft_provider.get_prompt(prompt_call("review_changes", {}))
    assert "Look most at" not in plain["messages"][0]["content"]["text"]
    explained = await weft_provider.get_prompt(prompt_call("explain_file", {"path": "a b.py"}))
    assert explained["messages"][1]["content"]["resource"] == {
        "uri": "workspace:///a%20b.py",
        "mimeType": "text/x-python",
        "text": "x = 1",
    }


async def test_wrong_prompts_are_told(weft_provider: WorkspaceProvider) -> None:
    with pytest.raises(BadParams, match="explain_file: missing 'path'"):
        await weft_provider.get_prompt(prompt_call("explain_file", {}))
    with pytest.raises(BadParams, match="are strings"):
        await weft_provider.get_prompt(prompt_call("explain_file", {"path": 5}))
    with pytest.raises(BadParams, match=r"no such file in the workspace: '\.\./x'"):
        await weft_provider.get_prompt(prompt_call("explain_file", {"path": "../x"}))
    with pytest.raises(ToolNotFound, match="unknown prompt: nope"):
        await weft_provider.get_prompt(prompt_call("nope", {}))


async def test_paths_are_completed(weft_provider: WorkspaceProvider) -> None:
    prompt, template = (
        {"type": "ref/prompt", "name": "explain_file"},
        {"type": "ref/resource", "uri": TEMPLATE.uri_template},
    )
    assert await weft_provider.complete(prompt, "path", "s") == ["src/"]
    assert await weft_provider.complete(template, "path", "src/m") == ["src/main.rs"]
    assert "README.md" in await weft_provider.complete(prompt, "path", "")
    assert await weft_provider.complete(prompt, "path", "../") == []
    assert await weft_provider.complete(prompt, "path", "out/pass") == []
    assert await weft_provider.complete(prompt, "other", "s") == []
    assert await weft_provider.complete({"type": "ref/prompt", "name": "review_changes"}, "path", "s") == []
