"""What is typed on a command line and no file of a server is to hold."""

from __future__ import annotations

import re

from clawft.cli.parser import WrongUsage
from clawft.config.secrecy import has_password, in_clear, query_in_clear, variable_for
from clawft.store.secrets import wrong_with_reference

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def refuse_clear_secrets(server: str, *values: dict[str, str]) -> None:
    """A secret on the command line is in the shell's history already; we do not put it into a file as well."""
    for name in in_clear(*values):
        variable = variable_for(server, name)
        option = f"--env {name}=" if _VARIABLE.fullmatch(name) and name in values[0] else f"--header '{name}: "
        close = "'" if option.endswith(" ") else ""
        raise WrongUsage(
            f"the value of {name} looks like a secret, and files of servers hold none",
            hint=f"export {variable}=… and write {option}secret://env/{variable}{close}",
        )


def refuse_clear_address(server: str, url: str) -> None:
    for name, _ in query_in_clear(url):
        variable = variable_for(server, name)
        raise WrongUsage(
            f"the value of {name} looks like a secret, and files of servers hold none",
            hint=f"export {variable}=… and write '…{name}=${{secret://env/{variable}}}…'",
        )
    if has_password(url):
        variable = variable_for(server, "authorization")
        raise WrongUsage(
            "the address holds a password, and files of servers hold none",
            hint=f"leave it out, and write --header 'Authorization: secret://env/{variable}'",
        )


def refuse_bad_references(*values: str) -> None:
    for wrong in filter(None, map(wrong_with_reference, values)):
        raise WrongUsage(f"servers add: {wrong.message}", hint=wrong.hint)
