"""`weft servers reconnect`: every running weft connects a server anew."""

from __future__ import annotations

from clawft.cli.parser import Options
from clawft.cli.servers.found import found_of
from clawft.cli.setup.served import served
from clawft.config.places import ask_to_reconnect, home_folder


def run(options: Options) -> int:
    """A file whose time stamp every running weft of this home looks at. They may have servers that no file names."""
    name = options.name
    has_it = bool(served(name))
    if not has_it:
        found_of(options)
    ask_to_reconnect(home_folder(), name)
    within = f"every running weft reconnects {name} within a second"
    print(f"requested: {within if has_it else f'no running weft that responds has {name} now'}")
    return 0
