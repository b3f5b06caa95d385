"""A provider of an outside package: installed beside clawft, it is offered by `weft` without further configuration.

Tools `notes__keep` and `notes__drop`; each note is a resource; a prompt sums them up; titles are completed. What
changes while agents are connected is announced to them.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from clawft import Call, ExecutionFailed, FunctionProvider, tool
from clawft.model import Prompt, PromptArgument, Resource, ResourceContent, ResourceTemplate
from clawft.provider.base import Changes
from clawft.store.memory import MemoryStore

SCHEME = "note:///"
MAX_NOTES = 1_000
SUM_UP = Prompt("sum_up", description="Sum up a note.", arguments=(PromptArgument("title", required=True),))


class NotesProvider(FunctionProvider):
    """Notes that live as long as the process. `weft` makes one, with the workspace."""

    def __init__(self, workspace: Path) -> None:
        self._notes: dict[str, str] = {}
        self._news: Changes | None = None
        super().__init__("notes", note_tools(self), workspace=workspace, store=MemoryStore)

    def keep(self, title: str, text: str) -> None:
        is_new = title not in self._notes
        if is_new and len(self._notes) >= MAX_NOTES:
            raise ExecutionFailed(f"{MAX_NOTES} notes are kept already", hint="drop some with notes__drop")
        self._notes[title] = text
        self._tell(title, listed=is_new)

    def drop(self, title: str) -> None:
        if self._notes.pop(title, None) is None:
            raise ExecutionFailed(f"there is no note {title!r}", hint="resources/list names the notes there are")
        self._tell(title, listed=True)

    # ── what changes while agents are connected ──────────────────────────────────────────────────────────────────────

    def watch(self, changes: Changes) -> None:
        super().watch(changes)
        self._news = changes

    def _tell(self, title: str, *, listed: bool) -> None:
        if self._news is None:
            return
        if listed:
            self._news.resources_changed()
        else:
            self._news.resource_updated(uri_of(title))

    # ── resources ────────────────────────────────────────────────────────────────────────────────────────────────────

    def list_resources(self) -> Sequence[Resource]:
        return [Resource(uri_of(title), title, mime_type="text/plain") for title in self._notes]

    def list_templates(self) -> Sequence[ResourceTemplate]:
        return [ResourceTemplate(f"{SCHEME}{{title}}", "note")]

    async def read_resource(self, uri: str) -> Sequence[ResourceContent] | None:
        """None if it is not one of ours: then the next provider is asked."""
        text = self._notes.get(unquote(uri.removeprefix(SCHEME))) if uri.startswith(SCHEME) else None
        return None if text is None else [ResourceContent(uri, "text/plain", text=text)]

    # ── prompts and completion ───────────────────────────────────────────────────────────────────────────────────────

    def list_prompts(self) -> Sequence[Prompt]:
        return [SUM_UP]

    async def get_prompt(self, call: Call) -> Mapping[str, Any]:
        import msgspec  # only where a prompt is made

        title = msgspec.json.decode(call.arguments, type=dict[str, str]).get("title", "")
        said = f"Sum up the note {title!r}: {self._notes.get(title, '(there is none)')}"
        return {"messages": [{"role": "user", "content": {"type": "text", "text": said}}]}

    async def complete(self, ref: Mapping[str, Any], argument: str, value: str) -> Sequence[str]:
        return [title for title in self._notes if argument == "title" and title.startswith(value)]


def uri_of(title: str) -> str:
    return SCHEME + quote(title, safe="")


def note_tools(notes: NotesProvider) -> list[Callable[..., Any]]:
    """Tools that share state are functions made around it."""

    @tool(destructive=False, open_world=False)
    async def keep(title: str, text: str) -> str:
        """Keep a note under a title, in place of what was there."""
        notes.keep(title, text)
        return f"kept {title!r}"

    @tool(open_world=False)
    async def drop(title: str) -> str:
        """Remove a note."""
        notes.drop(title)
        return f"dropped {title!r}"

    return [keep, drop]
