"""The tools we bring along: one namespace per family, one module per namespace.

A family is a module with `MANIFEST` and `TOOLS`, functions marked with `@tool` (those of the web depend on settings and
are made by `web_tools`). To add one, write the module and name it in `FAMILIES`. Modules are imported when the family
is asked for, so what is switched off costs nothing.
"""

from collections.abc import Callable, Collection, Iterator
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clawft.provider.base import Provider
from clawft.provider.function import FunctionProvider
from clawft.store.base import KeyValueStore

if TYPE_CHECKING:  # importing it imports the web family, which may be switched off
    from clawft.builtin.web import WebSettings

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
    "ide": "clawft.builtin.ide.provider",
    "weft": "clawft.builtin.workspace",
}


def families(
    workspace: Path,
    store_for: StoreFor,
    *,
    web: "WebSettings | None" = None,
    only: Collection[str] | None = None,
) -> list[Provider]:
    """A provider for each family, or for those named in `only`."""
    return [
        _provider(namespace, workspace, _stores(store_for, namespace), web)
        for namespace in FAMILIES
        if only is None or namespace in only
    ]


def _provider(
    namespace: str, workspace: Path, stores: Callable[[str], KeyValueStore], web: "WebSettings | None"
) -> Provider:
    module = import_module(FAMILIES[namespace])
    if namespace == "weft":
        return module.WorkspaceProvider(workspace, stores=stores)
    if namespace == "ide":
        return module.IdeProvider(workspace, stores=stores)
    provider = FunctionProvider(namespace, workspace=workspace, stores=stores, manifest=module.MANIFEST)
    for function, listed in _tools(module, web):
        provider.add(function, listed=listed)
    return provider


def _tools(module: Any, web: "WebSettings | None") -> Iterator[tuple[Callable[..., Any], bool]]:
    """The functions of a family and whether they are listed: a search without an engine is not."""
    if not hasattr(module, "web_tools"):
        yield from ((function, True) for function in module.TOOLS)
        return
    settings = web or module.WebSettings()
    fetch, search = module.web_tools(settings)
    yield fetch, True
    yield search, bool(settings.search_url)


def _stores(store_for: StoreFor, namespace: str) -> Callable[[str], KeyValueStore]:
    return lambda agent: store_for(agent, namespace)
