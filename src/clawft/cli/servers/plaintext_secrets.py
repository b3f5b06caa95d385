"""Refuses secrets in plain text on a command line, which would end up in the file of a server."""

from __future__ import annotations

import re

from clawft.cli.parser import WrongUsage
from clawft.config.secrecy import has_password, in_clear, query_in_clear, variable_for
from clawft.store.secrets import wrong_with_reference

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def refuse_plaintext_secrets(server: str, *values: dict[str, str]) -> None:
    """Refuse secrets among these values: they are in the history of the shell already, and no file is to hold them."""
    for name in in_clear(*values):
        variable = variable_for(server, name)
        option = f"--env {name}=" if _VARIABLE.fullmatch(name) and name in values[0] else f"--header '{name}: "
        close = "'" if option.endswith(" ") else ""
        raise WrongUsage(
            f"the value of {name} looks like a secret, and server files must not contain any",
            hint=f"export {variable}=… and write {option}secret://env/{variable}{close}",
        )


def refuse_plaintext_address(server: str, url: str) -> None:
    for name, _ in query_in_clear(url):
        variable = variable_for(server, name)
        raise WrongUsage(
            f"the value of {name} looks like a secret, and server files must not contain any",
            hint=f"export {variable}=… and write '…{name}=${{secret://env/{variable}}}…'",
        )
    if has_password(url):
        variable = variable_for(server, "authorization")
        raise WrongUsage(
            "the address contains a password, and server files must not contain any",
            hint=f"leave it out, and write --header 'Authorization: secret://env/{variable}'",
        )


def refuse_bad_references(*values: str) -> None:
    for wrong in filter(None, map(wrong_with_reference, values)):
        raise WrongUsage(f"servers add: {wrong.message}", hint=wrong.hint)
