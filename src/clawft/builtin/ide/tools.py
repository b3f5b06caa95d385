"""Lists the tools of the ide family in their order: the five that every editor supports come first."""

from collections.abc import Callable
from typing import Any

from clawft.builtin.ide.change import code_actions, edit, format_file, rename, save
from clawft.builtin.ide.family import Ide
from clawft.builtin.ide.hub import IdeHub
from clawft.builtin.ide.query_tools import definition, diagnostics, document_symbols, hover, references, symbols
from clawft.builtin.ide.window_tools import open_editors, open_file, selection, show_diff, windows
from clawft.builtin.partial_tool import PartialTool

PARTIAL_TOOLS: tuple[PartialTool, ...] = (
    open_file,
    edit,
    diagnostics,
    symbols,
    hover,
    definition,
    references,
    document_symbols,
    rename,
    code_actions,
    format_file,
    save,
    selection,
    open_editors,
    show_diff,
    windows,
)


def ide_tools(hub: IdeHub) -> tuple[Callable[..., Any], ...]:
    """The tools, bound to this hub."""
    return tuple(each.tool(lambda name, ctx: Ide(name, hub, ctx)) for each in PARTIAL_TOOLS)
