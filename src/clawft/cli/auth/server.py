"""The configured server of the name that somebody typed."""

from __future__ import annotations

from clawft.cli.parser import Options, WrongUsage
from clawft.cli.setup.served import served_address
from clawft.cli.setup.sources import discovered
from clawft.error_words import quoted
from clawft.upstream.spec import UpstreamSpec


def server_of(told: Options) -> UpstreamSpec | None:
    """The configured server of this name, if there is one that is reached over the network.

    Raises WrongUsage for an address: logins have names.
    """
    if "://" in told.name:
        hint = f"weft servers add NAME {quoted(told.name)}, then weft auth login NAME"
        raise WrongUsage(f"{told.name} is an address, and a login needs a name", hint=hint)
    found = configured_server(told) or served_address(told.name)
    return found if found is not None and found.url else None


def configured_server(told: Options) -> UpstreamSpec | None:
    found = discovered(told).found.get(told.name)
    return None if found is None else found.spec
