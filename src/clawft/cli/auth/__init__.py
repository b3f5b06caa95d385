"""`weft auth`: log in to MCP servers and to other services, see the logins there are, renew and forget them.

What its verbs take stands here.

| what | where |
|---|---|
| log in | `login`; at the `server` of that name by `server_login`, else by `service_login`; `browser` shows where |
| the logins there are | `status` |
| renew, forget | `refresh`, `logout` |
| further hosts, and how logins are kept | `allow`, `store` |
| what those share | `logins` by name, `hosts` for a token |
"""

from __future__ import annotations

from clawft.cli.parser import Parser, Verb, common_options, json_option


def _login_options(parser: Parser) -> None:
    parser.add_argument("name", metavar="NAME", help="a configured server, a known service (google …), or a new name")
    parser.add_argument("--no-browser", action="store_true", help="print the address instead of opening it")
    parser.add_argument("--device", action="store_true", help="log in with a code entered on another device")
    parser.add_argument("--client-credentials", action="store_true", help="log in as a program, without a person")
    parser.add_argument("--client-id", metavar="ID", default="", help="the id of a client registered there")
    parser.add_argument(
        "--client-secret", metavar="REF", default="", help="a reference to its secret: secret://env/NAME …"
    )
    parser.add_argument("--scope", metavar="SCOPE", action="append", default=[], help="a scope to request; repeatable")
    parser.add_argument("--issuer", metavar="URL", default="", help="the issuer; the other addresses are discovered")
    parser.add_argument("--auth-url", metavar="URL", default="", help="the authorization endpoint, without --issuer")
    parser.add_argument("--token-url", metavar="URL", default="", help="the token endpoint, without --issuer")
    parser.add_argument(
        "--host", metavar="HOST", action="append", default=[], help="a host the token may be sent to; repeatable"
    )
    parser.add_argument("--resource", metavar="URL", default="", help="what the token is for (RFC 8707)")
    parser.add_argument("--account", metavar="NAME", default="", help="distinguishes several logins at one service")
    common_options(parser)


def _status_options(parser: Parser) -> None:
    parser.add_argument("name", metavar="NAME", nargs="?", default="", help="one server or service")
    json_option(parser)


def _name_options(parser: Parser) -> None:
    parser.add_argument("name", metavar="NAME", help="a server or service; `weft auth status` lists them")


def _allow_options(parser: Parser) -> None:
    _name_options(parser)
    parser.add_argument(
        "host",
        metavar="HOST",
        nargs="+",
        help="a host its token may be sent to, like api.example.com or '*.example.com'",
    )


def _store_options(parser: Parser) -> None:
    parser.add_argument(
        "form",
        metavar="FORM",
        nargs="?",
        choices=("file", "keyring"),
        help="file or keyring; without it, show which is used",
    )


VERBS = {
    "login": Verb(
        "Log in to a server or service, in the browser or with a code", _login_options, "clawft.cli.auth.login"
    ),
    "status": Verb("List logins and when they expire", _status_options, "clawft.cli.auth.status"),
    "refresh": Verb("Renew a login now", _name_options, "clawft.cli.auth.refresh"),
    "logout": Verb("Delete a login, here and at the service", _name_options, "clawft.cli.auth.logout"),
    "store": Verb(
        "Store logins as files, or encrypted with a key in the keyring", _store_options, "clawft.cli.auth.store"
    ),
    "allow": Verb("Allow the token of a service to be sent to further hosts", _allow_options, "clawft.cli.auth.allow"),
}
