"""Offers the workspace as resources and prompts: its files by URI, and prompts to review and explain them."""

from __future__ import annotations

import asyncio
import base64
import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote_to_bytes

import msgspec

from clawft.builtin.confine import ConfinedPath, confined, open_file
from clawft.builtin.tree import walk_tree
from clawft.errors import BadParams, ToolError, ToolNotFound
from clawft.link.share.large_messages import produce_large
from clawft.model import Call, Caller, Prompt, PromptArgument, Resource, ResourceContent, ResourceTemplate
from clawft.model.encoded import without_surrogates
from clawft.provider.base import TellChange
from clawft.provider.function import FunctionProvider
from clawft.store.base import KeyValueStore

if TYPE_CHECKING:  # loaded with the first file that is watched
    from clawft.builtin.watched_files import WatchedFiles

NAMESPACE = "weft"
SCHEME = "workspace:///"
MAX_LISTED = 200
MAX_LOOKED_AT = 2_000
"""Entries at the top of the workspace that are examined, as this blocks the loop."""
MAX_COMPLETIONS = 100
MAX_RESOURCE_BYTES = 4 * 1024 * 1024

TEMPLATE = ResourceTemplate(
    uri_template=f"{SCHEME}{{+path}}", name="workspace file", description="A file of the workspace, by its path."
)
REVIEW_CHANGES = Prompt(
    name="review_changes",
    title="Review changes",
    description="Review the uncommitted changes of the workspace.",
    arguments=(PromptArgument("focus", description="what to look at most"),),
)
EXPLAIN_FILE = Prompt(
    name="explain_file",
    title="Explain a file",
    description="Explain a file of the workspace.",
    arguments=(PromptArgument("path", description="the file, relative to the workspace", required=True),),
)
PROMPTS = (REVIEW_CHANGES, EXPLAIN_FILE)

_MIME = {
    ".c": "text/x-c",
    ".cfg": "text/plain",
    ".css": "text/css",
    ".csv": "text/csv",
    ".go": "text/x-go",
    ".h": "text/x-c",
    ".html": "text/html",
    ".ini": "text/plain",
    ".java": "text/x-java",
    ".js": "text/javascript",
    ".json": "application/json",
    ".lock": "text/plain",
    ".md": "text/markdown",
    ".py": "text/x-python",
    ".rs": "text/x-rust",
    ".rst": "text/x-rst",
    ".sh": "text/x-shellscript",
    ".sql": "text/x-sql",
    ".toml": "application/toml",
    ".ts": "text/x-typescript",
    ".txt": "text/plain",
    ".xml": "text/xml",
    ".yaml": "application/yaml",
    ".yml": "application/yaml",
    "": "text/plain",
}  # fmt: skip - a table
_BINARY = "application/octet-stream"
_strings = msgspec.json.Decoder(dict[str, str])


class WorkspaceProvider(FunctionProvider):
    """Resources, prompts and completions of the workspace; tools of the namespace `weft` can be added."""

    stands_for = "file__read"
    """Callers that may not use this tool cannot read files by URI, or attached to a prompt, either."""

    def __init__(self, workspace: Path, *, stores: Callable[[str], KeyValueStore]) -> None:
        super().__init__(NAMESPACE, workspace=workspace, stores=stores)

    @cached_property
    def _watched(self) -> WatchedFiles:
        from clawft.builtin.watched_files import WatchedFiles  # few agents watch files

        return WatchedFiles(self.workspace)

    def list_resources(self) -> Sequence[Resource]:
        """Text files at the top of the workspace; hidden ones are left out."""
        return [
            Resource(uri_of(name), without_surrogates(name), mime_type=_MIME[Path(name).suffix], size=status.st_size)
            for name, status in islice(self._texts(), MAX_LISTED)
        ]

    def list_templates(self) -> Sequence[ResourceTemplate]:
        return (TEMPLATE,)

    async def read_resource(self, uri: str) -> Sequence[ResourceContent] | None:
        if not uri.startswith(SCHEME):
            return None
        try:
            return [await produce_large(partial(self._content, path_of(uri), uri), _size_of)]
        except ToolError:
            return None  # outside and missing must look the same

    async def watch_resource(self, uri: str, caller: Caller, changed: TellChange) -> Callable[[], None] | None:
        if not uri.startswith(SCHEME):
            return None
        return await self._watched.add(path_of(uri), caller.principal, partial(changed, uri, {}))

    def list_prompts(self) -> Sequence[Prompt]:
        return PROMPTS

    async def get_prompt(self, call: Call) -> Mapping[str, Any]:
        prompt = prompt_of(call)
        given = prompt_arguments(prompt, call.arguments)
        if prompt is REVIEW_CHANGES:
            return review_changes(given.get("focus", ""))
        contents = await self.read_resource(uri_of(given["path"]))
        if contents is None:
            raise BadParams(f"explain_file: no such file in the workspace: '{given['path']}'")
        return explain_file(given["path"], contents[0])

    async def complete(self, ref: Mapping[str, Any], argument: str, value: str) -> Sequence[str]:
        """Paths of the workspace that begin with `value`; folders end with a slash."""
        ours = ref.get("name") == EXPLAIN_FILE.name or ref.get("uri") == TEMPLATE.uri_template
        return await asyncio.to_thread(self._paths, value) if ours and argument == "path" else []

    def _texts(self) -> Iterator[tuple[str, os.stat_result]]:
        try:
            with confined(self.workspace, ".", NAMESPACE) as top:
                for name, status in walk_tree(top, recursive=False, most=MAX_LOOKED_AT):
                    if not name.startswith(".") and stat.S_ISREG(status.st_mode) and Path(name).suffix in _MIME:
                        yield name, status
        except ToolError:
            return  # a removed workspace has no files

    def _content(self, path: str, uri: str) -> ResourceContent:
        with confined(self.workspace, path, "read") as found, open_file(found) as file:
            data = file.read(MAX_RESOURCE_BYTES + 1)
        if len(data) > MAX_RESOURCE_BYTES:
            raise BadParams(
                f"'{without_surrogates(path)}' is larger than {MAX_RESOURCE_BYTES} bytes",
                hint="read it in parts with file__read",
            )
        return content_of(uri, path, data)

    def _paths(self, value: str) -> list[str]:
        folder, _, start = value.rpartition("/")
        try:
            with confined(self.workspace, folder or ".", "complete") as found:
                return list(islice(_beginning_with(found, start), MAX_COMPLETIONS))
        except ToolError:
            return []


def _size_of(content: ResourceContent) -> int:
    return len(content.text or "") + len(content.blob or "")


def uri_of(path: str) -> str:
    return SCHEME + quote(os.fsencode(path))


def path_of(uri: str) -> str:
    return os.fsdecode(unquote_to_bytes(uri.removeprefix(SCHEME)))


def content_of(uri: str, path: str, data: bytes) -> ResourceContent:
    mime = _MIME.get(Path(path).suffix)
    try:
        return ResourceContent(uri, mime or "text/plain", text=data.decode())
    except UnicodeDecodeError:
        return ResourceContent(uri, _BINARY, blob=base64.b64encode(data).decode())


def prompt_of(call: Call) -> Prompt:
    """The called prompt, by its own name or the exported one."""
    names = (call.tool.name, call.name.rpartition("__")[2])
    for prompt in PROMPTS:
        if prompt.name in names:
            return prompt
    raise ToolNotFound(f"unknown prompt: {call.name}")


def prompt_arguments(prompt: Prompt, raw: bytes) -> dict[str, str]:
    """Checked arguments of one of our prompts."""
    name = prompt.name
    try:
        given = _strings.decode(raw or b"{}")
    except (msgspec.DecodeError, UnicodeDecodeError) as wrong:
        raise BadParams(f"{name}: arguments of a prompt are strings: {wrong}") from None
    for argument in prompt.arguments:
        if argument.required and argument.name not in given:
            raise BadParams(f"{name}: missing '{argument.name}'")
    return given


def review_changes(focus: str) -> Mapping[str, Any]:
    text = (
        "Review the uncommitted changes of this workspace. List what changed (git status, git diff), read each "
        "changed file as far as you need it (file__read), then report: what the change does, mistakes with file and "
        "line, missing tests, and what you would do differently. Most important first; do not change anything."
    )
    return _prompt_result(text + (f"\n\nLook most at: {focus}" if focus else ""), REVIEW_CHANGES)


def explain_file(path: str, content: ResourceContent) -> Mapping[str, Any]:
    text = (
        f"Explain {path}: what it is for, how its parts work together, what it depends on, and what a newcomer should "
        "know before changing it. Name functions and lines where that helps."
    )
    prompt = _prompt_result(text, EXPLAIN_FILE)
    attached = {"role": "user", "content": {"type": "resource", "resource": msgspec.to_builtins(content)}}
    return {**prompt, "messages": [*prompt["messages"], attached]}


def _prompt_result(text: str, prompt: Prompt) -> dict[str, Any]:
    message = {"role": "user", "content": {"type": "text", "text": text}}
    return {"description": prompt.description, "messages": [message]}


def _beginning_with(folder: ConfinedPath, start: str) -> Iterator[str]:
    for path, status in walk_tree(folder, recursive=False):
        if path.rpartition("/")[2].startswith(start) and without_surrogates(path) == path:
            yield f"{path}/" if stat.S_ISDIR(status.st_mode) else path
