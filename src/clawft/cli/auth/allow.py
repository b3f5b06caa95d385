"""`weft auth allow`: the token of a service may go to further hosts."""

from __future__ import annotations

import msgspec

from clawft.cli.auth.hosts import read_hosts
from clawft.cli.auth.logins import find, vault
from clawft.cli.parser import Options
from clawft.errors import LoginFailed


def run(options: Options) -> int:
    hosts = read_hosts(options.host, f"weft auth allow {options.name}")
    where, logins = find(options.name)
    if where.folder != vault().folder:
        raise LoginFailed(f"{options.name} is a server: its token is sent only to it")
    for login in reversed(logins):
        all_hosts = tuple(dict.fromkeys((*login.hosts, *hosts)))
        where.write(options.name, msgspec.structs.replace(login, hosts=all_hosts))
    print(f"allowed: the token of {options.name} may go to {', '.join(hosts)}")
    return 0
