"""The logins there are, by name."""

from __future__ import annotations

from clawft.auth.tokens import Login
from clawft.auth.vault import Vault
from clawft.config.places import home_folder
from clawft.error_words import nearest
from clawft.errors import LoginFailed


def vault() -> Vault:
    return Vault(home_folder() / "tokens")


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
