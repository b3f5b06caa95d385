"""Decides whether a server may be started as it is written, in any layer: gives a spec, or a refusal."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from clawft.catalog.names import refuse_server
from clawft.config.entry import ServerEntry
from clawft.config.load import SourceLine
from clawft.config.places import expanded
from clawft.config.secrecy import has_password
from clawft.errors import InvalidConfig
from clawft.policy.globs import MAX_HOSTILE_GLOB
from clawft.sandbox.bounds import AUTORUN_FILES, is_within
from clawft.store.document import KeyPath
from clawft.store.secrets import SCHEME, wrong_with_references
from clawft.upstream.spec import SandboxTable, Trust, UpstreamSpec
from clawft.upstream.spec_rules import SCHEMES, wrong_command, wrong_proxy, wrong_sandbox, wrong_url
from clawft.wire.framing import DEFAULT_LIMIT

STDIO = "stdio://"
TRUSTS = ("", "trusted", "untrusted")
WORKSPACE_SECRETS = ("secret://command/", "secret://file/")
"""References a workspace file may not use: approvals pin names of variables, and not what these refer to."""

MAX_GLOBS = 1_000
"""Globs of tools in a workspace file: all become one pattern, which takes time."""


MAX_WORDS = 1_000
"""Arguments of a server, and its variables and headers together: all are searched for secrets."""
MAX_WORD_BYTES = 131_071
"""The longest argument or variable that Linux passes to a program."""


class Mistake(Struct, frozen=True):
    """A mistake in an entry, and the key it is under."""

    key: KeyPath
    said: str
    hint: str = "correct the entry, or remove it"


def judge(
    name: str,
    told: ServerEntry,
    origin: SourceLine,
    *,
    workspace: Path,
    by_hand: bool = False,
    by_workspace: bool = False,
    folders: Sequence[str] = (),
    at: Callable[[KeyPath], SourceLine] | None = None,
) -> UpstreamSpec | InvalidConfig:
    """The spec, or why it is refused. `by_hand`: the user typed it. `at`: the line of a key, if that is known.

    A disabled entry needs nothing but its name.
    """
    wrong = _wrong_name(name) or (_wrong_with(told, by_workspace) if told.enabled else None)
    if wrong is not None:
        return InvalidConfig(f"{at(wrong.key) if at else origin}: {name}: {wrong.said}", hint=wrong.hint)
    trust = trust_of(told.trust, by_hand=by_hand, by_workspace=by_workspace)
    spec = _spec(name, told, workspace, trust)
    program = at(("command",) if told.command else ("url",)) if at else origin
    return _with_program(spec, program, folders) if spec.enabled and spec.command else spec


def trust_of(asked: str, *, by_hand: bool, by_workspace: bool) -> Trust:
    """The command line is the user's own hand; a workspace file can never raise its own trust."""
    if by_workspace:
        return "untrusted"
    return "trusted" if asked.lower() == "trusted" or (by_hand and not asked) else "untrusted"


def _spec(name: str, told: ServerEntry, workspace: Path, trust: Trust) -> UpstreamSpec:
    command, args = command_of(told) if told.enabled or told.command else ("", ())
    judged: dict[str, Any] = {
        "name": name,
        "command": command,
        "args": args,
        "url": "" if command or told.url.startswith(STDIO) else told.url,
        "cwd": str(workspace / expanded(told.cwd)),
        "trust": trust,
    }
    return UpstreamSpec(**{**msgspec.structs.asdict(told), **judged})


# ── what is written ──────────────────────────────────────────────────────────────────────────────────────────────────


def _wrong_name(name: str) -> Mistake | None:
    wrong = refuse_server(name)
    return Mistake(("name",), wrong) if wrong else None


def _wrong_with(told: ServerEntry, by_workspace: bool) -> Mistake | None:
    if bool(told.url) == bool(told.command):
        return Mistake((), "it needs either a url or a command" + (", not both" if told.url else ""))
    if mistake := _too_long(told):
        return mistake
    if told.trust.lower() not in TRUSTS:
        return Mistake(("trust",), f"trust is trusted or untrusted, not {told.trust!r}")
    if wrong := wrong_sandbox(told):
        return Mistake(("sandbox",), wrong)
    if by_workspace and (mistake := _opened_by_workspace(told)):
        return mistake
    if told.proxy and (wrong := _wrong_proxy(told, by_workspace)):
        return Mistake(("proxy",), wrong)
    if told.exchange is not None and (wrong := _wrong_exchange(told, told.exchange.client_secret, by_workspace)):
        return Mistake(("exchange",), wrong)
    if mistake := _wrong_reference(told):
        return mistake
    if told.url and not told.url.startswith(STDIO):
        wrong = wrong_url(told.url, f"{STDIO}, {SCHEMES}")
        return Mistake(("url",), wrong) if wrong else None
    wrong = _wrong_command(told)
    return Mistake(("command",) if told.command else ("url",), wrong) if wrong else None


def _too_long(told: ServerEntry) -> Mistake | None:
    named = {**told.env, **told.headers}
    if len(told.args) > MAX_WORDS or len(named) > MAX_WORDS:
        key = "args" if len(told.args) > MAX_WORDS else "env"
        return Mistake((key,), f"up to {MAX_WORDS} arguments, and as many variables and headers, are taken")
    words = (told.command, *told.args, told.url, *named, *named.values())
    if any(len(word) > MAX_WORD_BYTES or len(word.encode()) > MAX_WORD_BYTES for word in words):
        return Mistake((), f"one of its texts is longer than {MAX_WORD_BYTES} bytes, and cannot be given to a program")
    return None


def _opened_by_workspace(told: ServerEntry) -> Mistake | None:
    """The mistake if a workspace file says what only a file of the user may."""
    if opened := _opens(told.sandbox):
        return Mistake(("sandbox",), f"a workspace file may not {opened}; set it in a file of your own")
    if told.verbatim:
        problem = "a workspace file may not set verbatim; set it in a file of your own"
        return Mistake(("verbatim",), problem)
    if told.max_message > DEFAULT_LIMIT:
        problem = f"a workspace file may not raise max_message above {DEFAULT_LIMIT}; set it in a file of your own"
        return Mistake(("max_message",), problem)
    if told.redact is False:
        problem = "a workspace file may not disable redact; set it in a file of your own"
        return Mistake(("redact",), problem)
    for key, text in _texts_of(told):
        if any(kind in text for kind in WORKSPACE_SECRETS):
            problem = "a workspace file may not read files or run commands for a secret; use secret://keyring or env"
            return Mistake(key, problem)
    globs = (*told.tools.allow, *told.tools.deny)
    if len(globs) > MAX_GLOBS or any(len(glob) > MAX_HOSTILE_GLOB for glob in globs):
        problem = f"tools of a workspace file has up to {MAX_GLOBS} globs of up to {MAX_HOSTILE_GLOB} letters"
        return Mistake(("tools",), problem)
    return None


def _wrong_reference(told: ServerEntry) -> Mistake | None:
    """The mistake if a reference cannot be resolved, so that the server could not start."""
    secret = told.exchange.client_secret if told.exchange else ""
    for key, text in (*_texts_of(told), (("proxy",), told.proxy), (("exchange", "client_secret"), secret)):
        if wrong := wrong_with_references(text):
            return Mistake(key, f"{'.'.join(key)}: {wrong.message}", wrong.hint)
    return None


def _texts_of(told: ServerEntry) -> Iterator[tuple[KeyPath, str]]:
    """The texts that may hold references, with their keys."""
    yield from ((("env", name), text) for name, text in told.env.items())
    yield from ((("headers", name), text) for name, text in told.headers.items())
    yield ("url",), told.url


def _wrong_exchange(told: ServerEntry, secret: str, by_workspace: bool) -> str:
    """Why the exchange of people's tokens is refused: only a user's own file may ask for it, and completely."""
    if by_workspace:
        return "a workspace file may not have people's tokens exchanged; set it in a file of your own"
    if not told.url or told.url.startswith(STDIO):
        return "exchange is for servers that are reached by http:// or https://"
    if not told.url.startswith("https://") and not _is_here(told.url):
        return "exchange needs https://; otherwise everyone on the network path could read people's tokens"
    if any(name.lower() == "authorization" for name in told.headers):
        return "it has an Authorization header and an exchange; only one of them can be sent"
    if secret and not secret.startswith(SCHEME):
        return (
            "exchange.client_secret must be a reference like secret://env/NAME, so that no secret is stored in a file"
        )
    if told.isolation != "shared" or told.required:
        return "with an exchange each person has a session of their own: leave out isolation and required"
    return ""


def _wrong_proxy(told: ServerEntry, by_workspace: bool) -> str:
    """Why a proxy is refused: it can read what is sent to http://, and decides where it goes."""
    if by_workspace:
        return "a workspace file may not name a proxy; set it in a file of your own"
    if wrong := wrong_proxy("" if told.url.startswith(STDIO) else told.url, told.proxy):
        return wrong
    if has_password(told.proxy):
        return "the login of the proxy must be a reference: http://${secret://env/PROXY_LOGIN}@host:port"
    return ""


def _opens(sandbox: str | SandboxTable) -> str:
    """The accesses that a workspace file grants and may not: its author may be the one to be held."""
    if isinstance(sandbox, str):
        return "disable its own sandbox" if sandbox == "off" else ""
    outside = [
        path for path in (*sandbox.read, *sandbox.write) if path.startswith(("/", "~")) or ".." in path.split("/")
    ]
    autorun = [path for path in sandbox.write if any(is_within(os.path.normpath(path), each) for each in AUTORUN_FILES)]
    opened = (*outside, *autorun)
    return f"open {opened[0]!r} to its own servers" if opened else ""


def _wrong_command(told: ServerEntry) -> str:
    try:
        command, _ = command_of(told)
    except ValueError as wrong:
        return f"the url cannot be split into words: {wrong}"
    if not told.command and len(told.url.splitlines()) > 1:
        return "unsafe command: the url has several lines"
    return wrong_command(command)


def command_of(told: ServerEntry) -> tuple[str, tuple[str, ...]]:
    """Program and arguments, from `command` or `stdio://command args`, split without a shell. Raises ValueError."""
    if told.command:
        return told.command, told.args
    if told.url.startswith(STDIO):
        import shlex  # few servers are written like that

        words = shlex.split(told.url.removeprefix(STDIO))
        return (words[0], (*words[1:], *told.args)) if words else ("", ())
    return "", ()


# ── which program it is ──────────────────────────────────────────────────────────────────────────────────────────────


def _with_program(spec: UpstreamSpec, origin: SourceLine, folders: Sequence[str]) -> UpstreamSpec | InvalidConfig:
    if spec.trust == "untrusted" and not os.path.isabs(spec.command):
        return _not_absolute(spec, origin)
    if not folders:
        return spec
    path = spec.command if os.path.isabs(spec.command) else program_of(spec.command, spec.cwd) or ""
    if not any(Path(path).is_relative_to(expanded(folder)) for folder in folders):
        return InvalidConfig(
            f"{origin}: {spec.name}: {path or spec.command} is in no folder that programs may be started from",
            hint=f"allowed by security.command_folders: {', '.join(folders)}",
        )
    return msgspec.structs.replace(spec, command=path)  # what was judged is what will run


def _is_here(url: str) -> bool:
    from clawft.auth.web import is_loopback  # brings a client for HTTP

    return is_loopback(url)


def program_of(command: str, folder: str) -> str | None:
    """The absolute path of the program: from the PATH, the home folder, or relative to its `folder`."""
    import shutil  # most name the absolute path, or are trusted

    found = shutil.which(os.path.join(folder, os.path.expanduser(command)) if os.sep in command else command)
    return os.path.abspath(found) if found else None


def _not_absolute(spec: UpstreamSpec, origin: SourceLine) -> InvalidConfig:
    meant = program_of(spec.command, spec.cwd)
    missing = f"not in {spec.cwd}" if os.sep in spec.command else "not on the PATH"
    hint = _spelled(meant, origin) if meant else f"{spec.command} is {missing} either; install it first"
    return InvalidConfig(
        f"{origin}: {spec.name}: an untrusted server needs the absolute path of its program, not {spec.command!r}"
        + (f"; {meant} was meant" if meant else ""),
        hint=hint,
    )


def _spelled(program: str, origin: SourceLine) -> str:
    """How to write the program; in a shared file the user cannot change it, but import the server."""
    if not origin.file.endswith(".json"):
        return f'write command = "{program}"'
    return f'write "command": "{program}", or run weft servers import --from workspace'
