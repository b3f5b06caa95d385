"""A configured server by its name: as it stands in a file, or as it would be started."""

from __future__ import annotations

import msgspec

from clawft.cli.parser import Options, WrongUsage
from clawft.cli.servers.names import no_server
from clawft.cli.setup.served import served
from clawft.cli.setup.sources import discovered
from clawft.config.layers import FoundServer
from clawft.config.servers import waits
from clawft.errors import NotConnected
from clawft.upstream.spec import UpstreamSpec


def found_of(options: Options) -> FoundServer:
    servers = discovered(options)
    found = servers.found.get(options.name) or servers.waiting.get(options.name)
    if found is not None:
        return found
    if options.name in servers.refused:
        raise servers.refused[options.name].error
    if rows := served(options.name):
        where = f"a running weft has {options.name} from {rows[0].origin}"
        raise WrongUsage(f"no file here names {options.name}; {where}", hint="change it there")
    raise no_server(options.name, [*servers.found, *servers.waiting])


def spec_to_start(options: Options) -> UpstreamSpec:
    """The server by its name, as whoever serves starts it. Raises what is wrong with it, or ServerNotFound."""
    found = found_to_start(options)
    return msgspec.structs.replace(found.spec, enabled=True, scope=found.scope.value)


def found_to_start(options: Options) -> FoundServer:
    servers = discovered(options)
    if options.name in servers.refused:
        error = servers.refused[options.name].error
        raise NotConnected(error.message, hint=error.hint)
    found, waiting = servers.found.get(options.name), servers.waiting.get(options.name)
    if found is not None and (found.spec.command or found.spec.url):
        return found
    if waiting is not None:
        why = waits(options.name, waiting)
        raise NotConnected(why.message, hint=why.hint)
    raise no_server(options.name, [*servers.found, *servers.refused, *servers.waiting])
