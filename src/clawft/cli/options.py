"""The options common to every command that works with tools, and the settings they lead to."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from clawft.cli.main import begin_loop
from clawft.cli.parser import Options, Parser, folder
from clawft.config.places import DEFAULT_AGENT, agent_file, agents_with_settings, home_folder

if TYPE_CHECKING:  # help and wrong usage need neither
    import logging

    from clawft.app import App
    from clawft.config.layers import Sources
    from clawft.config.load import LoadedSettings
    from clawft.config.servers import Servers
    from clawft.config.settings import Settings

SURFACES = ("full", "search", "auto")
FORMS = ("plain", "mcp", "claude", "bare")

MAX_LOGGED_CHARS = 2_000
"""Of one warning: most of a longer one was written by somebody else."""

T = TypeVar("T")


def place_options(parser: Parser) -> None:
    parser.add_argument(
        "--agent", metavar="NAME", default=DEFAULT_AGENT, help="whose settings apply (default: default)"
    )
    parser.add_argument(
        "--workspace", metavar="DIR", type=folder, default=".", help="the folder to work in (default: .)"
    )


def common_options(parser: Parser) -> None:
    place_options(parser)
    parser.add_argument("--names", metavar="FORM", choices=FORMS, help=f"how tools are named: {', '.join(FORMS)}")
    parser.add_argument("--allow", metavar="GLOB", action="append", help="tools to offer; may be repeated")
    parser.add_argument("--deny", metavar="GLOB", action="append", help="tools to hide; may be repeated")
    parser.add_argument(
        "--surface", metavar="FORM", choices=SURFACES, help=f"how many tools are listed: {', '.join(SURFACES)}"
    )
    parser.add_argument("--no-builtin", action="store_true", help="leave the built-in tools out")
    parser.add_argument(
        "--mcp-config", metavar="FILE-OR-JSON", action="append", help="servers to use, as mcpServers JSON; repeatable"
    )
    parser.add_argument(
        "--strict-mcp-config", action="store_true", help="end with exit code 1 if a server does not start"
    )
    parser.add_argument("--mcp-debug", action="store_true", help="tell on stderr what each server does")


def overrides(options: Options) -> dict[str, Any]:
    """The keys of the configuration that this command line sets."""
    told = {
        "tools.names": options.names,
        "tools.surface": options.surface,
        "tools.allow": options.allow,
        "tools.deny": options.deny,
        "tools.builtin": False if options.no_builtin else None,
    }
    return {key: value for key, value in told.items() if value is not None} | getattr(options, "more", {})


def loaded(options: Options) -> LoadedSettings:
    from clawft.config.load import load  # brings the policies

    place = (home_folder(), Path(options.workspace), options.agent)
    _warn_of_unknown(options.agent, place[0])
    if not options.mcp_config:
        return load(*place, overrides(options))
    from clawft.config.mcp_config import allowed_in, delegation_in  # only for those who bring a file along

    given = options.mcp_config
    return load(*place, overrides(options) | delegation_in(given), allowed_in(given))


@cache  # once, however often settings are read
def _warn_of_unknown(agent: str, home: Path) -> None:
    """A mistyped name would lose what that agent is denied, and nobody would see it."""
    if agent == DEFAULT_AGENT or agent_file(home, agent).is_file():
        return
    known = agents_with_settings(home)
    if known:
        from clawft.cli.screen import tell  # only for those who mistyped
        from clawft.errors import did_you_mean

        tell(f"weft: agent {agent!r} has no settings, those for all agents apply{did_you_mean(agent, known)}")


def settings(options: Options) -> Settings:
    import msgspec  # loaded already: the settings are made of it

    given = tuple(options.mcp_config or ())
    return msgspec.structs.replace(loaded(options).settings, mcp_config=given, strict_servers=options.strict_mcp_config)


def sources(options: Options) -> Sources:
    """Where the servers of this command line are named."""
    from clawft.config.layers import Sources  # brings the client side's nouns

    told = settings(options)
    return Sources(told.home, told.workspace, told.agent, told.mcp_config, told.command_folders)


def discovered(options: Options) -> Servers:
    """The servers that the files of this command line name; none is started."""
    from clawft.config.servers import discover  # only where servers are looked for

    return discover(sources(options))


def _say_who_warns() -> None:
    """Warnings go to stderr like our errors do, and begin with our name like they do."""
    import logging  # the app brings it anyway

    if logging.lastResort is not None:
        logging.lastResort.setFormatter(_concealing())


def _concealing() -> logging.Formatter:
    """What we log names no secret, steers no terminal and is one line, whoever said it. A traceback is ours."""
    import logging  # loaded by now

    class Concealing(logging.Formatter):
        def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the name is the library's
            from clawft.cli.screen import one_line  # most programs have nothing to say
            from clawft.store.concealed_secrets import conceal

            return one_line(conceal(super().formatMessage(record))[:MAX_LOGGED_CHARS])

        def format(self, record: logging.LogRecord) -> str:
            from clawft.store.concealed_secrets import conceal  # as above
            from clawft.wire.visible import visible_text

            return visible_text(conceal(super().format(record)))

    return Concealing("weft: %(message)s")


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
    from clawft.app import App, run  # brings the whole house

    chosen = settings(options)
    _say_who_warns()

    async def build_and_work() -> T:
        app = App.build(chosen)
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
    """As `with_app`, and shown to a person before the servers are ended: some take seconds for that."""

    async def work_and_show(app: App) -> int:
        code = show(await work(app))
        sys.stdout.flush()
        return code

    return with_app(options, work_and_show, servers=servers, tool=tool, look=look)


async def _prepare(app: App, options: Options, tool: str, *, start: bool, look: bool) -> None:
    if options.mcp_debug:
        from clawft.cli.trace import Trace  # only for those who look

        app.heard = Trace(app.pool).listener
    if start:
        from clawft.cli.start_servers import start_servers  # who serves starts them himself

        await start_servers(app, tool, look=look)


def _is_built_in(app: App, tool: str) -> bool:
    """The tool, or all of its family: no server has a name of those. Among bare names a server's tool would win.

    Tools of `weft` may tell of servers, and are there with them only.
    """
    if not tool or app.settings.names.value == "bare":
        return False
    from clawft.catalog.names import RESERVED  # loaded with the app

    return tool.partition("__")[0] in RESERVED - {"weft"} or app.gateway.tools.find(tool) is not None
