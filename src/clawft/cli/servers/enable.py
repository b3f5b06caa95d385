"""`weft servers enable`: a server is switched on."""

from __future__ import annotations

from clawft.cli.parser import Options
from clawft.cli.servers.switch import switch


def run(options: Options) -> int:
    return switch(options, enabled=True)
