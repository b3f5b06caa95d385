"""Warnings about servers that start all the same."""

from __future__ import annotations

import shutil
from pathlib import Path

from clawft.config.cleared_entry import left_open, unfilled
from clawft.config.entry import listed
from clawft.config.layers import FoundServer
from clawft.config.secrecy import told_in_clear
from clawft.config.servers import named_twice

NO_FOLDER = "create it or correct cwd; the server cannot start without it"


def warnings_of(found: FoundServer) -> list[tuple[str, str]]:
    """The warnings about a server that starts all the same, each with the correction."""
    twice = named_twice(found)
    where = f"{found.origin}: {found.spec.name}"
    clear = told_in_clear(found.spec, found.spec.name)
    values = {**found.spec.env, **found.spec.headers, "url": found.spec.url}
    return [
        *(
            [(f"{where}: it is to run in {found.spec.cwd}, which is not a folder", NO_FOLDER)]
            if lacks_folder(found)
            else []
        ),
        *([(twice.message, twice.hint)] if twice else []),
        *((f"{where}: {what} seems to contain a secret in plain text", instead) for what, instead in clear),
        *((f"{where}: {warning}", "pass it in a variable: env") for warning in unfilled(found.spec.args)),
        *((f"{where}: {warning}", "write secret://env/NAME, and export NAME=…") for warning in left_open(values)),
    ]


def missing_program(found: FoundServer) -> tuple[str, str] | None:
    """The warning about a missing program, with the correction. The program may be installed later."""
    spec = found.spec
    if not (spec.enabled and spec.command) or shutil.which(spec.command):
        return None
    program, *words = spec.command.split()
    is_line = bool(words) and shutil.which(program) is not None
    hint = f'write command = "{program}" and args = {listed([*words, *spec.args])}' if is_line else ""
    return f"{found.origin}: {spec.name}: {spec.command} is not there", hint or "install it, or correct it"


def lacks_folder(found: FoundServer) -> bool:
    """Where it is to run. Its folder may be made later, so it is no mistake of the file."""
    spec = found.spec
    return bool(spec.enabled and spec.command) and not Path(spec.cwd).is_dir()
