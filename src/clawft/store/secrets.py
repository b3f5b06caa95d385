"""References to secrets, `secret://…`, and what they stand for. Resolved when a child starts; never written back.

| reference | stands for |
|---|---|
| `secret://env/NAME` | a variable of our own environment |
| `secret://file/PATH` | the content of a file, without its last line end |
| `secret://command/PROGRAM ARG…` | what the program prints; started without a shell |
| `secret://keyring/SERVICE[/USER]` | an entry of the system's keyring (needs the extra `keyring`) |

A reference is a whole value, or stands inside one between `${` and `}`: `Bearer ${secret://env/TOKEN}`. There a
variable may have a default: `${secret://env/REGION:-eu}`.

What was resolved is remembered as long as we run, so that it can be taken out of whatever we say: see
`concealed_secrets`.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import cast

from clawft.error_words import quoted
from clawft.errors import InvalidConfig
from clawft.store.concealed_secrets import keep_concealed
from clawft.store.private_files import open_at_once
from clawft.wire.secrets import looks_secret

SCHEME = "secret://"
MAX_SECRET = 64 * 1024

_ENV = f"{SCHEME}env/"
_INSIDE = r"\$\{(secret://[^}]*)\}"


def is_reference(value: str) -> bool:
    """Whether there is something to resolve in it."""
    return value.startswith(SCHEME) or "${" + SCHEME in value


def references_in(value: str) -> list[str]:
    """The references inside it, each without its default."""
    return [found.partition(":-")[0] for found in re.findall(_INSIDE, value)]


def begins_with_reference(value: str) -> bool:
    return value.startswith((SCHEME, "${" + SCHEME))


def with_defaults(value: str) -> str:
    """Variables inside it that have a default, replaced by that."""
    return re.sub(_INSIDE, lambda found: found[1].partition(":-")[2] or found[0], value)


def resolve_all(values: Mapping[str, str]) -> dict[str, str]:
    """The mapping with references replaced by what they stand for. Raises InvalidConfig, naming the reference."""
    for name, value in values.items():
        if looks_secret(name, value):
            keep_concealed(value, *value.split()[1:])
    return {name: resolve(value) for name, value in values.items()}


def resolve(value: str) -> str:
    """The secret, if it is a reference, or with those inside it; anything else as it is. Raises InvalidConfig."""
    if not is_reference(value):
        return value
    if value.startswith(SCHEME):
        return _remembered(_resolve(value))
    return re.sub(_INSIDE, lambda found: _resolve_inside(found[1]), value)


def _resolve_inside(reference: str) -> str:
    """Between braces a variable may have a default, which is no secret: it stands in the file."""
    named, has_default, default = reference.partition(":-")
    if has_default and named.startswith(_ENV):
        given = os.environ.get(named.removeprefix(_ENV))
        return _remembered(given) if given else default
    return _remembered(_resolve(reference))


def _resolve(value: str) -> str:
    if wrong := wrong_with_reference(value):
        raise wrong
    kind, _, rest = value.removeprefix(SCHEME).partition("/")
    hint = _hint(kind, rest)
    try:
        secret = _SOURCES[kind](rest)
    except ImportError:
        from clawft.store.extras import how_to_install  # only to complain

        raise InvalidConfig(f"{value} needs the extra `keyring`", hint=how_to_install("keyring")) from None
    except (OSError, ValueError) as failed:
        raise InvalidConfig(f"{value} cannot be read: {_reason(failed)}", hint=hint) from None
    if secret is None:
        raise InvalidConfig(f"{value} is not there", hint=hint)
    if unfit := "it is empty" if not secret and kind != "env" else _wrong_with(secret):
        raise InvalidConfig(f"{value} is not a usable secret: {unfit}", hint=hint)
    return secret


def wrong_with_reference(value: str) -> InvalidConfig | None:
    """Why it can stand for nothing, wherever it is resolved; None for what is no reference, or a good one."""
    if not value.startswith(SCHEME):
        return None
    kind, _, rest = value.removeprefix(SCHEME).partition("/")
    if kind not in _SOURCES:
        return InvalidConfig(f"{value}: unknown kind of secret", hint=f"one of {', '.join(_SOURCES)}")
    return None if rest else InvalidConfig(f"{value} names no secret", hint=f"{SCHEME}{kind}/{_FORMS[kind]}")


def wrong_with_references(value: str) -> InvalidConfig | None:
    """The mistake in the first bad reference of a value, which is one or holds some; None if all are good."""
    named = [value] if value.startswith(SCHEME) else references_in(value)
    return next(filter(None, map(wrong_with_reference, named)), None)


def _hint(kind: str, rest: str) -> str:
    match kind:
        case "env":
            return f"export {rest}=… before weft is started"
        case "file":
            return f"check the path and its permissions: ls -l {quoted(_path_of(rest))}"
        case "command":
            return f"run it by hand to see what it says: {rest}"
        case _:
            return f"keyring set {' '.join(map(quoted, _entry_of(rest)))}"


def _reason(failed: Exception) -> str:
    """Without anything that may have been read."""
    if isinstance(failed, Unfit):
        return str(failed)
    return failed.strerror if isinstance(failed, OSError) and failed.strerror else type(failed).__name__


def _wrong_with(secret: str) -> str:
    if len(secret) > MAX_SECRET:
        return f"it has more than {MAX_SECRET} characters"
    odd = next((letter for letter in secret if letter < " " and letter not in "\t\r\n"), "")
    return f"it holds the control character U+{ord(odd):04X}" if odd else ""


def unset_variables(*values: str) -> list[str]:
    """Variables these refer to, without a default, that are not set now."""
    wholes = [value for value in values if value.startswith(SCHEME)]
    inside = [found for value in values if value not in wholes for found in re.findall(_INSIDE, value)]
    named = [each.removeprefix(_ENV) for each in (*wholes, *inside) if each.startswith(_ENV)]
    return [name for name in named if ":-" not in name and name not in os.environ]


def _remembered(secret: str) -> str:
    keep_concealed(secret)
    return secret


def _from_environment(name: str) -> str | None:
    return os.environ.get(name)


class Unfit(ValueError):
    """Why something cannot hold a secret, in words that do not hold it either."""


def _from_file(path: str) -> str:
    file = _path_of(path)
    with open_at_once(file) as opened:
        found = os.fstat(opened.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise Unfit("it is not a regular file")
        if os.name == "posix" and found.st_mode & stat.S_IWOTH:
            raise Unfit(f"everybody may change it (chmod 600 {quoted(file)})")
        return _text(opened.read(MAX_SECRET + 1))


def _path_of(path: str) -> Path:
    return Path(os.path.expanduser(path if path.startswith(("~", "/")) else f"/{path}"))


def _from_command(line: str) -> str:
    from clawft.store.secret_command import CommandFailed, said_by  # few secrets come from programs

    try:
        return _text(said_by(line, MAX_SECRET + 1))
    except CommandFailed as failed:
        raise Unfit(str(failed)) from None


def _text(said: bytes) -> str:
    try:
        return said[: MAX_SECRET + 1].decode().rstrip("\r\n")
    except UnicodeDecodeError:
        raise Unfit("it is not UTF-8 text") from None


def _from_keyring(place: str) -> str | None:
    import keyring  # optional: only for those who keep secrets there
    from keyring.errors import NoKeyringError

    try:
        found = cast("object", keyring.get_password(*_entry_of(place)))
    except NoKeyringError:
        raise Unfit("this machine has no keyring, or it is not running; use a file or a variable") from None
    except Exception as failed:  # noqa: BLE001 - backends raise what they like, and it may hold a secret
        raise Unfit(type(failed).__name__) from None
    if not (found is None or isinstance(found, str)):
        raise Unfit("the keyring gives something else than a text")
    return found


def _entry_of(place: str) -> tuple[str, str]:
    """The service and the user."""
    service, _, user = place.partition("/")
    return service, user or service


_SOURCES: Mapping[str, Callable[[str], str | None]] = {
    "env": _from_environment,
    "file": _from_file,
    "command": _from_command,
    "keyring": _from_keyring,
}
_FORMS = {"env": "NAME", "file": "PATH", "command": "PROGRAM ARG…", "keyring": "SERVICE/USER"}
