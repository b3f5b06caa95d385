"""`weft servers disable`: a server is switched off."""

from __future__ import annotations

from clawft.cli.parser import Options
from clawft.cli.servers.switch import switch


def run(options: Options) -> int:
    return switch(options, enabled=False)
