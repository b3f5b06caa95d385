"""`weft auth`: log in to MCP servers and to other services, see the logins there are, renew and forget them."""

from __future__ import annotations

import asyncio
import os
import time
from typing import TYPE_CHECKING, Any

from clawft.cli import auth_login
from clawft.cli.main import begin_loop
from clawft.cli.parser import Options, Parser, Verb, json_option
from clawft.cli.screen import one_line, print_json, print_table, tell
from clawft.config.places import ask_to_reconnect, home_folder
from clawft.errors import ClawftError, ExecutionFailed, LoginFailed, nearest

if TYPE_CHECKING:  # help needs none of it
    from clawft.auth.tokens import Login
    from clawft.auth.vault import Vault

HEAD = ("NAME", "KIND", "STATE", "ACCOUNT", "EXPIRES", "SCOPES", "FOR")

Row = dict[str, Any]


def vault() -> Vault:
    from clawft.auth.vault import Vault  # only where logins are looked at

    return Vault(home_folder() / "tokens")


# ── status ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _status_options(parser: Parser) -> None:
    parser.add_argument("name", metavar="NAME", nargs="?", default="", help="one server or service")
    json_option(parser)


def _status(options: Options) -> int:
    found = [row for row in rows(time.time()) if options.name in ("", row["name"])]
    if options.name and not found:
        raise no_such(options.name)
    if options.json:
        print_json({"logins": found})
    elif not found:
        tell("no logins; `weft auth login NAME` makes one")
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
    """What a server said of itself may repeat a token, and the address of one may hold a secret."""
    from clawft.store.concealed_secrets import conceal  # only where logins are looked at
    from clawft.wire.secrets import mask_url

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
    return "renews" if login.renewable else "expired"


# ── refresh, logout, allow ───────────────────────────────────────────────────────────────────────────────────────────


def _name_options(parser: Parser) -> None:
    parser.add_argument("name", metavar="NAME", help="a server or service; `weft auth status` lists them")


def _refresh(options: Options) -> int:
    from clawft.auth.renew import Renewal  # only where something is renewed

    where, logins = find(options.name)

    async def renew() -> None:
        for login in logins:
            await Renewal(where).renew(options.name, login)

    begin_loop(asyncio.run, renew())
    print(f"renewed: {options.name}")
    return 0


def _logout(options: Options) -> int:
    try:
        where, logins = find(options.name)
    except ExecutionFailed:  # damaged, or sealed with a key that is lost: it can still be forgotten
        where, logins = holder(options.name), []
    begin_loop(asyncio.run, _forget(where, options.name, logins))
    ask_to_reconnect(home_folder(), options.name)
    print(f"logged out: {options.name}")
    return 0


async def _forget(where: Vault, name: str, logins: list[Login]) -> None:
    """First here, so that nobody uses it any more; then there, as far as the server knows how (RFC 7009)."""
    from clawft.store.home import held  # only where something is forgotten

    lock = await held(where.lock(name))
    try:
        await where.delete(name)
    finally:
        os.close(lock)
    try:
        for login in logins:
            await _revoke(login)
    finally:  # a client that has a secret needs it to be heard there
        _drop_secrets(where, logins)


async def _revoke(login: Login) -> None:
    from clawft.auth.revoke import revoke  # only where something is forgotten

    try:
        await revoke(login)
    except ClawftError as failed:  # out of reach, or a secret of the client's that is not there now
        tell(f"weft: the token is forgotten here, but not there: {one_line(failed.message)}")


def _drop_secrets(where: Vault, logins: list[Login]) -> None:
    from clawft.auth.login_storage import drop_secrets  # only where something is forgotten

    try:
        drop_secrets(vault(), where, logins)
    except (ClawftError, OSError) as failed:
        tell(f"weft: the token is forgotten, but the secret of its client is still there: {one_line(str(failed))}")


def _allow_options(parser: Parser) -> None:
    _name_options(parser)
    parser.add_argument(
        "host", metavar="HOST", nargs="+", help="where its token may be sent, like api.example.com or '*.example.com'"
    )


def _allow(options: Options) -> int:
    import msgspec  # loaded with the logins

    hosts = auth_login.read_hosts(options.host, f"weft auth allow {options.name}")
    where, logins = find(options.name)
    if where.folder != vault().folder:
        raise LoginFailed(f"{options.name} is a server: its token goes to it alone")
    for login in reversed(logins):
        all_hosts = tuple(dict.fromkeys((*login.hosts, *hosts)))
        where.write(options.name, msgspec.structs.replace(login, hosts=all_hosts))
    print(f"allowed: the token of {options.name} may go to {', '.join(hosts)}")
    return 0


# ── where they are kept ──────────────────────────────────────────────────────────────────────────────────────────────


def _store_options(parser: Parser) -> None:
    parser.add_argument(
        "form", metavar="FORM", nargs="?", choices=("file", "keyring"), help="file or keyring; left out: tell which"
    )


def _store(options: Options) -> int:
    from clawft.auth import login_storage, sealed  # only where it is changed

    own = vault()
    if options.form is None:
        print("keyring" if sealed.is_marked(own.folder) else "file")
        return 0
    change = login_storage.keep_in_keyring if options.form == "keyring" else login_storage.keep_in_files
    count = change(own)
    how = "sealed with a key of the keyring" if options.form == "keyring" else "private files"
    print(f"logins are {how} now: {count} of them rewritten")
    return 0


def find(name: str) -> tuple[Vault, list[Login]]:
    """A server's logins come first: its name is the one people type."""
    own = vault()
    for where in (own.servers, own):
        logins = where.read(name)
        if logins:
            return where, logins
    raise no_such(name)


def holder(name: str) -> Vault:
    """Whoever has a file of this name, whatever is in it."""
    own = vault()
    return own.servers if name in own.servers.names() else own


def no_such(name: str) -> LoginFailed:
    own = vault()
    near = nearest(name, [*own.names(), *own.servers.names()])
    hint = f"did you mean {near}?" if near else f"weft auth status, or weft auth login {name}"
    return LoginFailed(f"there is no login for {name}", hint=hint)


VERBS = {
    "login": Verb("Log in to a server or service, in the browser or by a code", auth_login.options, auth_login.login),
    "status": Verb("List logins: whose, where, until when", _status_options, _status),
    "refresh": Verb("Renew a login now", _name_options, _refresh),
    "logout": Verb("Forget a login, here and at the service", _name_options, _logout),
    "store": Verb("Keep logins as files, or sealed with a key of the keyring", _store_options, _store),
    "allow": Verb("Let the token of a service go to further hosts", _allow_options, _allow),
}
