"""Prepares a command: settings, servers and an app, as its options say.

| what | where |
|---|---|
| settings, and the app for as long as a command works | here |
| where servers are named, and which those are | `sources` |
| servers that only a running weft knows | `served` |
| servers for a command that ends | `start_servers` |
| what is logged | `log` |
| `--mcp-debug` | `trace` |
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Awaitable, Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from clawft.catalog.names import RESERVED
from clawft.cli.main import begin_loop
from clawft.cli.parser import Options
from clawft.config.load import LoadedSettings, load
from clawft.config.places import (
    DEFAULT_AGENT,
    NARROWER,
    agent_file,
    agents_with_settings,
    home_folder,
    told_if_wide,
)
from clawft.config.settings import Settings
from clawft.error_words import did_you_mean

if TYPE_CHECKING:  # many commands do without it
    from clawft.app import App

T = TypeVar("T")

OF_SERVERS = frozenset({"weft", "delegate"})
"""Families of ours whose tools use what servers have."""


def overrides(options: Options) -> dict[str, Any]:
    """The keys of the configuration that this command line sets."""
    given = {
        "tools.names": options.names,
        "tools.surface": options.surface,
        "tools.allow": options.allow,
        "tools.deny": options.deny,
        "tools.builtin": False if options.no_builtin else None,
    }
    return {key: value for key, value in given.items() if value is not None} | getattr(options, "more", {})


def loaded(options: Options) -> LoadedSettings:
    place = (home_folder(), Path(options.workspace), options.agent)
    _warn_of_unknown(options.agent, place[0])
    if not options.mcp_config:
        return load(*place, overrides(options))
    from clawft.config.mcp_config import allowed_in, delegation_in  # only for those who bring a file along

    given = options.mcp_config
    return load(*place, overrides(options) | delegation_in(given), allowed_in(given))


@cache  # once, however often settings are read
def _warn_of_unknown(agent: str, home: Path) -> None:
    """Warn of an agent without settings: with a mistyped name, what the agent is denied would not apply."""
    if agent == DEFAULT_AGENT or agent_file(home, agent).is_file():
        return
    known = agents_with_settings(home)
    if known:
        from clawft.cli.screen import tell  # only for those who mistyped

        tell(f"weft: agent {agent!r} has no settings, those for all agents apply{did_you_mean(agent, known)}")


def settings(options: Options) -> Settings:
    given = tuple(options.mcp_config or ())
    return msgspec.structs.replace(loaded(options).settings, mcp_config=given, strict_servers=options.strict_mcp_config)


def warn_if_wide(workspace: Path) -> None:
    """Warn before a very wide workspace is served: some programs start servers in `/`, which nobody has chosen."""
    if wide := told_if_wide(workspace):
        from clawft.cli.screen import tell  # most workspaces are none

        tell(f"weft: {wide}; {NARROWER}")


def _say_who_warns() -> None:
    """Warnings go to stderr like our errors do, and begin with our name like they do."""
    if logging.lastResort is not None:
        logging.lastResort.setFormatter(_LateFormatter())


class _LateFormatter(logging.Formatter):
    """Loads the real formatter only when there is something to log."""

    def format(self, record: logging.LogRecord) -> str:
        from clawft.cli.setup.log import CONCEALING  # most programs have nothing to say

        return CONCEALING.format(record)


def with_app(
    options: Options,
    work: Callable[[App], Awaitable[T]],
    *,
    servers: bool = True,
    tool: str = "",
    look: bool = False,
) -> T:
    """Build the app for these options, do the work, and close it, whatever happens.

    `servers`: start them and wait until each was tried. Work on one `tool` waits for its server only; a `look` at what
    all of them have waits a moment.
    """
    from clawft.app import App, run  # brings the whole application

    chosen = settings(options)
    _say_who_warns()

    async def build_and_work() -> T:
        app = App(chosen)
        try:
            if app.files.name_any:
                await _prepare(app, options, tool, start=servers and not _is_built_in(app, tool), look=look)
            return await work(app)
        finally:
            await app.close()

    return begin_loop(run, build_and_work())


def show_with_app(
    options: Options,
    work: Callable[[App], Awaitable[T]],
    show: Callable[[T], int],
    *,
    servers: bool = True,
    tool: str = "",
    look: bool = False,
) -> int:
    """As `with_app`, but show the outcome before the servers are stopped, which may take seconds."""

    async def work_and_show(app: App) -> int:
        code = show(await work(app))
        sys.stdout.flush()
        return code

    return with_app(options, work_and_show, servers=servers, tool=tool, look=look)


async def _prepare(app: App, options: Options, tool: str, *, start: bool, look: bool) -> None:
    if options.mcp_debug:
        from clawft.cli.setup.trace import Trace  # only for those who look

        app.heard = Trace(app.pool).listener
    if start:
        from clawft.cli.setup.start_servers import start_servers  # who serves starts them himself

        await start_servers(app, tool, look=look)


def _is_built_in(app: App, tool: str) -> bool:
    """Whether a tool is one of ours, so that no server has to be started. With bare names a server's tool would win.

    Those that use what servers have do not count, and some exist only with servers.
    """
    if not tool or app.settings.names.value == "bare":
        return False
    entry = app.gateway.tools.find(tool)
    family = tool.partition("__")[0] if entry is None else entry.origin.namespace
    return family not in OF_SERVERS and (entry is not None or family in RESERVED)
