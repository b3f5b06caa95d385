"""Running wefts: which of them serve this workspace, and servers that only they know.

Editors name such servers on the command line of the weft they start.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from clawft.config.places import home_folder, running_folder
from clawft.errors import LoginFailed
from clawft.upstream.spec import UpstreamSpec
from clawft.wire.secrets import MASK

if TYPE_CHECKING:  # often none runs
    from clawft.app.server_rows import ServerRow
    from clawft.app.status_socket import Wefts
    from clawft.config.settings import Settings


def wefts_here(chosen: Settings) -> Wefts | None:
    """The wefts with the same home, workspace and agent, and with the same servers if the command line names some.

    None if no weft ever served this home.
    """
    if not running_folder(chosen.home).is_dir():
        return None
    from clawft.app.status_socket import (  # only where some weft runs
        StatusQuestion,
        Wefts,
        mark_of,
        mark_of_place,
        running_wefts,
    )

    own, given = (str(chosen.workspace), chosen.agent), mark_of(chosen.mcp_config)
    found = asyncio.run(running_wefts(chosen.home, StatusQuestion(str(Path.cwd())), mark_of_place(*own)))
    same = (weft for weft in found.answering if (weft.workspace, weft.agent) == own and given in ("", weft.given))
    return Wefts(tuple(same), found.silent)


def served(name: str) -> list[ServerRow]:
    """The server of this name in each running weft of this home that answers."""
    home = home_folder()
    if not running_folder(home).is_dir():
        return []
    from clawft.app.status_socket import StatusQuestion, running_wefts  # only where some weft runs

    wefts = asyncio.run(running_wefts(home, StatusQuestion(str(Path.cwd())))).answering
    return [row for weft in wefts for row in weft.servers if row.name == name]


def served_address(name: str) -> UpstreamSpec | None:
    """As much of a server as a login needs; None if no weft reaches one of this name over the network."""
    urls = {row.url for row in served(name) if row.url}
    if not urls:
        return None
    url = urls.pop()
    if urls or MASK in url:
        why = "several wefts run, each with its own" if urls else "its address is a secret"
        raise LoginFailed(f"{name}: {why}", hint=f"weft auth login {name} --mcp-config …, as that weft was started")
    return UpstreamSpec(name, url=url)
