"""`weft servers add`: from words on a command line to the file of a server, with no secret in it."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from clawft.catalog.names import refuse_server
from clawft.cli.parser import Options, WrongUsage
from clawft.cli.screen import tell
from clawft.cli.servers import HERE
from clawft.cli.servers.files import write
from clawft.cli.servers.plaintext_secrets import (
    refuse_bad_references,
    refuse_plaintext_address,
    refuse_plaintext_secrets,
)
from clawft.config.entry import ServerEntry, in_words
from clawft.config.entry_rules import STDIO, judge
from clawft.config.load import SourceLine
from clawft.config.places import expanded, home_folder
from clawft.config.secrecy import options_in_clear
from clawft.error_words import quoted
from clawft.errors import ClawftError
from clawft.model import Deny
from clawft.policy import launch
from clawft.upstream.spec import UpstreamSpec

_ADDRESS = re.compile(r"(?:localhost|[\w-]+(?:\.[\w-]+)+)(?::\d{1,5}(?:/.*)?|/.*)")
"""A host with a port, or with a path behind it."""
SHORTENED = 40
"""Letters of a name that are kept in the one we suggest instead."""


def run(options: Options) -> int:
    home = home_folder()
    spec = _spec(options)
    path = write(home, spec, force=options.force)
    print(f"written: {path}")
    for name in options_in_clear(spec.args):
        tell(f"the argument {name} looks like a secret, and other programs can read it; a variable (--env) is safer")
    for word in spec.args if options.cwd == HERE else ():
        if not os.path.isabs(word) and os.path.isfile(os.path.join(options.workspace, word)):
            tell(f"{word} is looked for in each workspace; its absolute path would work from everywhere")
    tell(f"next: weft servers test {spec.name}")
    if not options.trust:
        tell(
            f"its tools ask before their first use; weft approvals grant {spec.name} '*' approves them as they are now"
        )
    return 0


def _spec(options: Options) -> UpstreamSpec:
    """The server as it was typed, if it may be written down like that."""
    _check_usage(options)
    entry = _entry(options)
    refuse_plaintext_secrets(options.name, entry.env, entry.headers)
    refuse_plaintext_address(options.name, entry.url)
    refuse_bad_references(*entry.env.values(), *entry.headers.values())
    judged = judge(options.name, entry, SourceLine("servers add"), workspace=Path(options.workspace).resolve())
    if isinstance(judged, ClawftError):
        raise WrongUsage(judged.message, hint=_other_words(options))
    return msgspec.structs.replace(judged, cwd=entry.cwd)  # one that was not named stays open


def _other_words(options: Options) -> str:
    """The command line that was typed, with a name, or an address, that can be accepted."""
    if refuse_server(options.name) is None:
        return "weft servers add NAME https://…, or NAME -- COMMAND"
    letters = re.sub(r"__+|[^A-Za-z0-9_.-]+", "-", options.name).strip("-_.")[:SHORTENED]
    name = letters if letters and refuse_server(letters) is None else f"my-{letters or 'server'}"
    return f"another name: weft servers add {name} {options.url or '-- ' + shlex.join(options.command)}"


# ── what was typed ───────────────────────────────────────────────────────────────────────────────────────────────────


def _check_usage(options: Options) -> None:
    """A URL or a command, and not both."""
    if options.url and "://" not in options.url and not options.command:
        raise WrongUsage(
            f"servers add: {options.url!r} is not a URL, and the command must follow --",
            hint=_whole_url(options.url) or f"weft servers add {options.name} -- {options.url}",
        )
    if bool(options.url) == bool(options.command):
        raise WrongUsage(
            "servers add: either a URL, or -- and a command", hint="weft servers add NAME -- COMMAND, or NAME URL"
        )
    is_program = bool(options.command) or options.url.startswith("stdio://")
    if options.header and is_program:
        raise WrongUsage("servers add: --header is for a URL, and this is a program", hint="pass variables with --env")
    if options.env and not is_program:
        raise WrongUsage("servers add: --env is for a program, and this is a URL", hint="pass headers with --header")


def _whole_url(text: str) -> str:
    """`http:/host` and `https:host` are slips of the hand, and so is an address without a scheme."""
    slip = re.fullmatch(r"(?i)(https?):/?([^/].*)", text)
    if slip is None and _ADDRESS.fullmatch(text):
        return f"did you mean {'http' if text.startswith(('localhost', '127.')) else 'https'}://{text}?"
    return f"did you mean {slip[1]}://{slip[2]}?" if slip else ""


def _entry(options: Options) -> ServerEntry:
    """As a file would spell it."""
    words = options.command or _words_in(options.url)
    entry: dict[str, Any] = {
        "url": "" if words else options.url,
        "command": _absolute(words[0]) if words else "",
        "args": tuple(words[1:]),
        "env": _pairs("--env", options.env, "="),
        "headers": _pairs("--header", options.header, ":"),
        "cwd": options.cwd,
        "timeout_ms": options.timeout_ms,
        "trust": "trusted" if options.trust else "untrusted",
    }
    try:
        return msgspec.convert(entry, ServerEntry)
    except msgspec.ValidationError as wrong:
        raise WrongUsage(f"servers add: {in_words(wrong)}", hint="weft servers add --help") from None


def _words_in(url: str) -> list[str]:
    """Of `stdio://command args`; none where it cannot be split, and whoever judges it will say so."""
    try:
        return shlex.split(url.removeprefix(STDIO)) if url.startswith(STDIO) else []
    except ValueError:
        return []


def _absolute(command: str) -> str:
    """The program that would run now. Raises WrongUsage if there is none."""
    if os.sep in command and isinstance(launch.decide(command), Deny):
        return command  # whoever judges it says why not
    if os.sep in command.partition(" ")[0] or os.path.exists(expanded(command)):
        return _at(expanded(command).absolute(), command)
    found = shutil.which(command)
    if found is None:
        raise WrongUsage(f"{command!r} is not on the PATH", hint=_instead_of(command))
    return found


def _at(path: Path, command: str) -> str:
    if path.is_file() and os.access(path, os.X_OK):
        return str(path)
    if path.is_file():
        raise WrongUsage(f"{path} is not executable", hint=f"chmod +x {quoted(path)}, if it is a program")
    what = "is a folder, not a program" if path.is_dir() else "does not exist"
    raise WrongUsage(f"{path} {what}", hint=_instead_of(command))


def _instead_of(command: str) -> str:
    """A whole command line in quotes is a common slip."""
    program, _, rest = command.partition(" ")
    if rest and shutil.which(program):
        return f"write the program and its arguments as separate words: -- {command}"
    return "install it first, or give its absolute path"


def _pairs(option: str, texts: Sequence[str], between: str) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for text in texts:
        name, found, value = text.partition(between)
        if not found or not name.strip():
            raise WrongUsage(f"{option} is NAME{between}VALUE, not {name!r}", hint="weft servers add --help")
        pairs[name.strip()] = value.strip() if between == ":" else value
    return pairs
