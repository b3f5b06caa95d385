"""`weft servers add`: from words on a command line to the file of a server, with no secret in it."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clawft.cli.parser import Options, Parser, Verb, WrongUsage, place_options
from clawft.cli.screen import tell
from clawft.cli.server_files import write
from clawft.config.places import expanded, home_folder
from clawft.errors import ClawftError

if TYPE_CHECKING:  # help needs none of it
    from clawft.config.entry import ServerEntry
    from clawft.upstream.spec import UpstreamSpec

SHORTENED = 40
"""Letters of a name that are kept in the one we suggest instead."""

HERE = "."
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


# ── the command ──────────────────────────────────────────────────────────────────────────────────────────────────────


def _options(parser: Parser) -> None:
    parser.takes_command, parser.command_taken_for = True, "url"
    parser.usage = "weft servers add NAME URL [options]\n       weft servers add NAME [options] -- COMMAND [ARG …]"
    parser.add_argument("name", metavar="NAME", help="how its tools will be called: NAME__tool")
    parser.add_argument("url", metavar="URL", nargs="?", default="", help="http(s)://…; or -- and a command behind it")
    parser.add_argument(
        "--env", metavar="K=V", action="append", default=[], help="a variable for the child; repeatable"
    )
    parser.add_argument("--header", metavar="'K: V'", action="append", default=[], help="for a URL; repeatable")
    parser.add_argument("--cwd", metavar="DIR", default=HERE, help="where it runs (default: the workspace)")
    parser.add_argument("--timeout-ms", metavar="N", type=int, default=30_000, help="for one call (default: 30000)")
    parser.add_argument("--trust", action="store_true", help="trust its tools as if they were built in")
    parser.add_argument("--force", action="store_true", help="replace a server of that name; a .bak is kept")
    place_options(parser)


def _add(options: Options) -> int:
    from clawft.config.secrecy import options_in_clear  # only where something is written

    home = home_folder()
    spec = _spec(options)
    path = write(home, spec, force=options.force)
    print(f"written: {path}")
    for name in options_in_clear(spec.args):
        tell(f"the argument {name} looks like a secret, and other programs can read it; a variable (--env) is safer")
    for word in spec.args if options.cwd == HERE else ():
        if not os.path.isabs(word) and os.path.isfile(os.path.join(options.workspace, word)):
            tell(f"{word} is looked for in each workspace: its whole path would be found from everywhere")
    tell(f"next: weft servers test {spec.name}")
    if not options.trust:
        tell(
            f"its tools ask before their first use; weft approvals grant {spec.name} '*' approves them as they are now"
        )
    return 0


def _spec(options: Options) -> UpstreamSpec:
    """The server as it was typed, if it may be written down like that."""
    import msgspec  # loaded with the entry

    from clawft.config.entry_rules import judge  # brings the client side's nouns
    from clawft.config.load import SourceLine

    _check_usage(options)
    entry = _entry(options)
    _refuse_clear_secrets(options.name, entry.env, entry.headers)
    _refuse_clear_address(options.name, entry.url)
    _refuse_bad_references(*entry.env.values(), *entry.headers.values())
    judged = judge(options.name, entry, SourceLine("servers add"), workspace=Path(options.workspace).resolve())
    if isinstance(judged, ClawftError):
        raise WrongUsage(judged.message, hint=_other_words(options))
    return msgspec.structs.replace(judged, cwd=entry.cwd)  # one that was not named stays open


def _other_words(options: Options) -> str:
    """The same command line with a name, or an address, that can be accepted."""
    from clawft.catalog.names import refuse_server  # loaded by now

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
            f"servers add: {options.url!r} is no URL, and a command stands behind --",
            hint=_whole_url(options.url) or f"weft servers add {options.name} -- {options.url}",
        )
    if bool(options.url) == bool(options.command):
        raise WrongUsage(
            "servers add: either a URL, or -- and a command", hint="weft servers add NAME -- COMMAND, or NAME URL"
        )
    is_program = bool(options.command) or options.url.startswith("stdio://")
    if options.header and is_program:
        raise WrongUsage(
            "servers add: --header is sent to a URL, and this is a program", hint="it gets variables: --env"
        )
    if options.env and not is_program:
        raise WrongUsage("servers add: --env is for a program, and this is a URL", hint="it is sent headers: --header")


def _whole_url(text: str) -> str:
    """`http:/host` and `https:host` are slips of the hand."""
    slip = re.fullmatch(r"(?i)(https?):/?([^/].*)", text)
    return f"did you mean {slip[1]}://{slip[2]}?" if slip else ""


def _entry(options: Options) -> ServerEntry:
    """As a file would spell it."""
    import msgspec  # loaded with the entry

    from clawft.config.entry import ServerEntry, in_words  # brings the client side's nouns

    words = options.command or _words_in(options.url)
    told: dict[str, Any] = {
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
        return msgspec.convert(told, ServerEntry)
    except msgspec.ValidationError as wrong:
        raise WrongUsage(f"servers add: {in_words(wrong)}", hint="weft servers add --help") from None


def _words_in(url: str) -> list[str]:
    """Of `stdio://command args`; none where it cannot be split, and whoever judges it will say so."""
    from clawft.config.entry_rules import STDIO  # loaded by now

    try:
        return shlex.split(url.removeprefix(STDIO)) if url.startswith(STDIO) else []
    except ValueError:
        return []


def _absolute(command: str) -> str:
    """The program that would run now. Raises WrongUsage if there is none."""
    from clawft.model import Deny  # loaded with the entry
    from clawft.policy import launch

    if os.sep in command and isinstance(launch.decide(command), Deny):
        return command  # whoever judges it says why not
    if os.sep in command.partition(" ")[0] or os.path.exists(expanded(command)):
        return _at(expanded(command).absolute(), command)
    found = shutil.which(command)
    if found is None:
        raise WrongUsage(f"{command!r} is not on the PATH", hint=_instead_of(command))
    return found


def _at(path: Path, command: str) -> str:
    if path.is_file():
        return str(path)
    what = "is a folder, and no program" if path.is_dir() else "does not exist"
    raise WrongUsage(f"{path} {what}", hint=_instead_of(command))


def _instead_of(command: str) -> str:
    """A whole command line in quotes is a common slip."""
    program, _, rest = command.partition(" ")
    if rest and shutil.which(program):
        return f"a program and its arguments are words of their own: -- {command}"
    return "install it first, or give the whole path"


def _pairs(option: str, texts: Sequence[str], between: str) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for text in texts:
        name, found, value = text.partition(between)
        if not found or not name.strip():
            raise WrongUsage(f"{option} is NAME{between}VALUE, not {name!r}", hint="weft servers add --help")
        pairs[name.strip()] = value.strip() if between == ":" else value
    return pairs


# ── what no file is to hold ──────────────────────────────────────────────────────────────────────────────────────────


def _refuse_clear_secrets(server: str, *values: dict[str, str]) -> None:
    """A secret on the command line is in the shell's history already; we do not put it into a file as well."""
    from clawft.config.secrecy import in_clear, variable_for  # only where something is written

    for name in in_clear(*values):
        variable = variable_for(server, name)
        option = f"--env {name}=" if _VARIABLE.fullmatch(name) and name in values[0] else f"--header '{name}: "
        close = "'" if option.endswith(" ") else ""
        raise WrongUsage(
            f"the value of {name} looks like a secret, and files of servers hold none",
            hint=f"export {variable}=… and write {option}secret://env/{variable}{close}",
        )


def _refuse_clear_address(server: str, url: str) -> None:
    from clawft.config.secrecy import has_password, query_in_clear, variable_for  # only where something is written

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


def _refuse_bad_references(*values: str) -> None:
    from clawft.store.secrets import wrong_with_reference  # loaded with the entry

    for wrong in filter(None, map(wrong_with_reference, values)):
        raise WrongUsage(f"servers add: {wrong.message}", hint=wrong.hint)


VERB = Verb("Add a server: a command behind --, or a URL", _options, _add)
