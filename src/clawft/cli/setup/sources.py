"""Where the servers of a command line are named, and which those are; none is started."""

from __future__ import annotations

from clawft.cli.parser import Options
from clawft.cli.setup import settings
from clawft.config.layers import Sources
from clawft.config.servers import Servers, discover


def sources(options: Options) -> Sources:
    """Where the servers of this command line are named."""
    chosen = settings(options)
    return Sources(chosen.home, chosen.workspace, chosen.agent, chosen.mcp_config, chosen.command_folders)


def discovered(options: Options) -> Servers:
    """The servers that the files of this command line name; none is started."""
    return discover(sources(options))
