"""`weft auth status`: whose logins there are, where, and until when."""

from __future__ import annotations

import time
from typing import Any

from clawft.auth.tokens import Login
from clawft.auth.vault import Vault
from clawft.cli.auth.logins import no_such, vault
from clawft.cli.parser import Options
from clawft.cli.screen import one_line, print_table, tell
from clawft.cli.screen.document import print_json
from clawft.errors import ClawftError
from clawft.store.concealed_secrets import conceal
from clawft.wire.secrets import mask_url

HEAD = ("NAME", "KIND", "STATE", "ACCOUNT", "EXPIRES", "SCOPES", "FOR")

Row = dict[str, Any]


def run(options: Options) -> int:
    found = [row for row in rows(time.time()) if options.name in ("", row["name"])]
    if options.name and not found:
        raise no_such(options.name)
    if options.json:
        print_json({"logins": found})
    elif not found:
        tell("no logins; `weft auth login NAME` creates one")
    else:
        print_table(HEAD, [[one_line(str(row[key.lower()])) for key in HEAD] for row in found])
    wrong = [row["error"] for row in found if row["error"]]
    for error in wrong:
        tell(f"weft: {one_line(error)}")
    return 1 if wrong else 0


def rows(now: float) -> list[Row]:
    """Every login there is; never a token. One that cannot be read hides no other."""
    own = vault()
    places = (("service", own), ("server", own.servers))
    return [row for kind, where in places for name in where.names() for row in _rows_of(kind, where, name, now)]


def _rows_of(kind: str, where: Vault, name: str, now: float) -> list[Row]:
    try:
        return [_row(kind, name, login, now) for login in where.read(name)]
    except ClawftError as failed:
        return [{**_UNREADABLE, "name": name, "kind": kind, "error": str(failed)}]


def _row(kind: str, name: str, login: Login, now: float) -> Row:
    """A row without secrets: a server's own words may repeat a token, and its address may hold one."""
    expires = login.tokens.expires_at
    return {
        "name": name,
        "kind": kind,
        "state": state_of(login, now),
        "account": conceal(login.account),
        "expires": "never" if expires is None else time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(expires)),
        "expires_at": expires,
        "renewable": login.renewable,
        "scopes": conceal(" ".join(login.tokens.scopes)),
        "for": conceal(", ".join(map(mask_url, login.hosts))),
        "issuer": conceal(login.server.issuer),
        "resource": conceal(mask_url(login.resource)),
        "error": "",
    }


_UNREADABLE: Row = {
    "state": "unreadable",
    "account": "",
    "expires": "",
    "expires_at": None,
    "renewable": False,
    "scopes": "",
    "for": "",
    "issuer": "",
    "resource": "",
}


def state_of(login: Login, now: float) -> str:
    if not login.tokens.is_expired(now):
        return "good"
    return "renews" if login.renewable and not login.refused else "expired"
