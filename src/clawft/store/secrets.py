"""References to secrets, `secret://…`, and what they stand for. Resolved when a child starts; never written back.

| reference | stands for |
|---|---|
| `secret://env/NAME` | a variable of our own environment |
| `secret://file/PATH` | the content of a file, without its last line end |
| `secret://command/PROGRAM ARG…` | what the program prints; started without a shell |
| `secret://keyring/SERVICE[/USER]` | an entry of the system's keyring (needs the `keyring` package) |
"""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

from clawft.errors import InvalidConfig

SCHEME = "secret://"
MAX_SECRET = 64 * 1024
COMMAND_SECONDS = 10.0


def is_reference(value: str) -> bool:
    return value.startswith(SCHEME)


def resolve_all(values: Mapping[str, str]) -> dict[str, str]:
    """The same mapping with references replaced by what they stand for. Raises InvalidConfig, naming the reference."""
    return {name: resolve(value) for name, value in values.items()}


def resolve(value: str) -> str:
    """The secret, if it is a reference; anything else as it is."""
    if not is_reference(value):
        return value
    kind, _, rest = value.removeprefix(SCHEME).partition("/")
    source = _SOURCES.get(kind)
    if source is None or not rest:
        raise InvalidConfig(f"{value}: unknown kind of secret", hint=f"one of {', '.join(_SOURCES)}")
    try:
        secret = source(rest)
    except (OSError, ValueError, subprocess.SubprocessError, ImportError) as failed:
        raise InvalidConfig(f"{value} cannot be read: {type(failed).__name__}", hint=_HINTS[kind]) from None
    if secret is None or len(secret) > MAX_SECRET:
        raise InvalidConfig(f"{value} is not there", hint=_HINTS[kind])
    return secret


def _from_environment(name: str) -> str | None:
    return os.environ.get(name)


def _from_file(path: str) -> str:
    with Path("/" + path if not path.startswith(("~", "/")) else path).expanduser().open() as file:
        return file.read(MAX_SECRET + 1).rstrip("\r\n")


def _from_command(line: str) -> str:
    ended = subprocess.run(
        shlex.split(line),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # whatever it says may hold the secret
        timeout=COMMAND_SECONDS,
        check=True,
    )
    return ended.stdout.decode().rstrip("\r\n")


def _from_keyring(place: str) -> str | None:
    import keyring  # pyright: ignore[reportMissingImports]  # optional: only for those who keep secrets there

    service, _, user = place.partition("/")
    found: object = keyring.get_password(service, user or service)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]  # untyped package
    return found if isinstance(found, str) else None


_SOURCES: Mapping[str, Callable[[str], str | None]] = {
    "env": _from_environment,
    "file": _from_file,
    "command": _from_command,
    "keyring": _from_keyring,
}
_HINTS = {
    "env": "set the variable before starting weft",
    "file": "check the path and its permissions",
    "command": "run the command by hand to see what it says",
    "keyring": "install the keyring package, and store the entry with `keyring set SERVICE USER`",
}
