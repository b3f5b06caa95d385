"""The built-in tools: one namespace per family, one module or folder per namespace.

| what | where |
|---|---|
| families | `file`, `shell`, `memory`, `web`, `git`, `cargo`, `build`, `oauth2`, `rest`, `ide`, `workspace` |
| tools of `weft` for the gateway | `search_tools`, `read_result`, `resources`, `missing_servers`, `start_server` |
| offered before they are loaded | `lazy` |
| from functions to tools | `partial_tool` |
| files and what is in them | `confine`, `autorun_refusal`, `tree`, `search` |
| patterns | `matcher` and its `matcher_child` |
| files that change | `watched_files` |
| commands | `process`, in the cell of `cells`, where `trust` lets them; `allowed_once` asks, `tail` is what they said |
| the words of one, and how many run | `command_words`; `command_places` |
| names and texts as agents write them | `file_names`, `escaped_characters` |
| what was fetched | `html_text`, `bounded_text`, `rest_answer` |

A family is a module with `MANIFEST` and `TOOLS`, functions marked with `@tool`; one whose tools depend on settings has
`tools_with(settings)` instead. To add one, write the module and name it in `FAMILIES`. Modules are imported when the
family is asked for, so what is switched off costs nothing.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from clawft.provider.base import Provider
from clawft.provider.function import FunctionProvider
from clawft.store.base import KeyValueStore

OfferedFunction = tuple[Callable[..., Any], bool]
"""A tool function, and whether it is listed."""
StoreFor = Callable[[str, str], KeyValueStore]
"""The store of an agent for a family: `store_for(agent, namespace)`."""

FAMILIES = {
    "file": "clawft.builtin.file",
    "shell": "clawft.builtin.shell",
    "memory": "clawft.builtin.memory",
    "web": "clawft.builtin.web",
    "git": "clawft.builtin.git",
    "cargo": "clawft.builtin.cargo.tools",
    "build": "clawft.builtin.build.tools",
    "oauth2": "clawft.builtin.oauth2",
    "rest": "clawft.builtin.rest",
    "ide": "clawft.builtin.ide.provider",
    "weft": "clawft.builtin.workspace",
}
RUN_PROGRAMS = frozenset({"shell", "git", "cargo", "build", "ide"})
"""The families that start programs, which are never looked up in the workspace where weft itself needs them."""


def families(
    workspace: Path,
    store_for: StoreFor,
    *,
    settings: Mapping[str, Any] | None = None,
    only: Collection[str] | None = None,
) -> list[Provider]:
    """A provider for each family, or for those named in `only`; `settings` by namespace, where a family has any."""
    chosen = settings or {}
    return [
        _provider(namespace, workspace, _stores(store_for, namespace), chosen.get(namespace))
        for namespace in FAMILIES
        if only is None or namespace in only
    ]


def _provider(namespace: str, workspace: Path, stores: Callable[[str], KeyValueStore], settings: Any) -> Provider:
    module = import_module(FAMILIES[namespace])
    if namespace in RUN_PROGRAMS:
        from clawft.sandbox.probe import work_in  # the others do without it

        work_in(workspace)
    if namespace == "weft":
        return module.WorkspaceProvider(workspace, stores=stores)
    if namespace == "ide":
        return module.IdeProvider(workspace, stores=stores, settings=settings)
    provider = FunctionProvider(namespace, workspace=workspace, stores=stores, manifest=module.MANIFEST)
    for function, listed in _tools(module, settings):
        provider.add(function, listed=listed)
    return provider


def _tools(module: Any, settings: Any) -> Iterable[OfferedFunction]:
    if hasattr(module, "tools_with"):
        return module.tools_with(settings)
    return [(function, True) for function in module.TOOLS]


def _stores(store_for: StoreFor, namespace: str) -> Callable[[str], KeyValueStore]:
    return lambda agent: store_for(agent, namespace)
