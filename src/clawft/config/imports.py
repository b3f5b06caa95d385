"""Servers that other programs on this machine know already, ready to become files of ours. Reads; writes nothing.

To add a program: a row in `PROGRAMS`, and a reader if it spells servers in its own way.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from clawft.catalog.names import RESERVED, refuse_server
from clawft.config import jsonc, load
from clawft.config.document import parse
from clawft.config.entry import Entry, read_foreign
from clawft.config.launches import command_of, judge
from clawft.config.layers import foreign_servers
from clawft.config.load import Origin
from clawft.config.secrecy import variable_for
from clawft.errors import ConfigError
from clawft.upstream.spec import UpstreamSpec
from clawft.wire.secrets import looks_secret

Entries = Iterator[tuple[str, Mapping[str, Any]]]


class Surroundings(Struct, frozen=True):
    """Where a person keeps things: tests have their own."""

    user: Path
    workspace: Path
    roaming: Path
    """%APPDATA% on Windows; elsewhere a folder that is not there."""

    @classmethod
    def here(cls, workspace: Path) -> Surroundings:
        user = Path.home()
        return cls(user, workspace, Path(os.environ.get("APPDATA") or user / "AppData" / "Roaming"))


class Program(Struct, frozen=True):
    name: str
    title: str
    files: Callable[[Surroundings], list[Path]]
    read: Callable[[Mapping[str, Any], Surroundings], Entries]


class Candidate(Struct, frozen=True):
    """One server found: `spec` is what we would write, unless `refused` says why not. `notes` are for the person."""

    source: str
    file: str
    name: str
    spec: UpstreamSpec | None = None
    refused: str = ""
    notes: tuple[str, ...] = ()
    secrets: Mapping[str, str] = {}
    """Reference → what was written in clear. Never shown, never written unless the person says so."""


def find(program: Program, around: Surroundings) -> Iterator[Candidate]:
    """Everything one program knows, file by file."""
    for file in program.files(around):
        try:
            told = _read(file)
        except ConfigError as wrong:
            yield Candidate(program.name, str(file), "", refused=str(wrong))
            continue
        for name, entry in program.read(told, around) if told else ():
            yield candidate(program.name, file, name, entry, around)


def _read(file: Path) -> Mapping[str, Any]:
    content = load.read_bytes(file)
    if content is None:
        return {}
    return parse(content, str(file)).tables if file.suffix == ".toml" else jsonc.parse(content, str(file))


# ── how each program spells it ───────────────────────────────────────────────────────────────────────────────────────


def _usual(told: Mapping[str, Any], around: Surroundings) -> Entries:
    for name, entry in foreign_servers(told)[1].items():
        yield name, jsonc.members(entry)


def _claude_code(told: Mapping[str, Any], around: Surroundings) -> Entries:
    """The person's own, then those kept for this project alone."""
    yield from _usual(told, around)
    project = jsonc.members(told.get("projects")).get(str(around.workspace))
    yield from _usual(jsonc.members(project), around)


def _codex(told: Mapping[str, Any], around: Surroundings) -> Entries:
    for name, table in jsonc.members(told.get("mcp_servers")).items():
        entry = jsonc.members(table)
        headers = {**jsonc.members(entry.get("http_headers")), **_variables(entry.get("env_http_headers"))}
        if entry.get("bearer_token_env_var"):
            headers["Authorization"] = f"Bearer ${{{entry['bearer_token_env_var']}}}"
        env = {**{each: f"${{{each}}}" for each in entry.get("env_vars") or ()}, **jsonc.members(entry.get("env"))}
        seconds = entry.get("tool_timeout_sec")
        timeout = int(seconds * 1000) if isinstance(seconds, int | float) else None
        yield name, {**entry, "headers": headers, "env": env, "timeout": timeout}


def _variables(headers: object) -> dict[str, str]:
    return {name: f"${{{variable}}}" for name, variable in jsonc.members(headers).items()}


def _zed(told: Mapping[str, Any], around: Surroundings) -> Entries:
    for name, entry in jsonc.members(told.get("context_servers")).items():
        yield name, jsonc.members(entry)


def _at(*parts: str) -> Callable[[Surroundings], list[Path]]:
    return lambda around: [around.user.joinpath(*parts)]


def _app_data(*parts: str) -> Callable[[Surroundings], list[Path]]:
    """The place for such files on Linux, macOS and Windows."""
    return lambda around: [
        around.user.joinpath(".config", *parts),
        around.user.joinpath("Library", "Application Support", *parts),
        around.roaming.joinpath(*parts),
    ]


def _of_workspace(around: Surroundings) -> list[Path]:
    names = (".mcp.json", ".vscode/mcp.json", ".cursor/mcp.json", ".gemini/settings.json")
    return [around.workspace / name for name in names]


def _of_zed(around: Surroundings) -> list[Path]:
    return [around.user / ".config" / "zed" / "settings.json", around.roaming / "Zed" / "settings.json"]


WORKSPACE = "workspace"
"""Asked for by name only: importing from a workspace lets it start programs."""

PROGRAMS: Mapping[str, Program] = {
    each.name: each
    for each in (
        Program("claude-code", "Claude Code", _at(".claude.json"), _claude_code),
        Program("claude-desktop", "Claude Desktop", _app_data("Claude", "claude_desktop_config.json"), _usual),
        Program("vscode", "VS Code", _app_data("Code", "User", "mcp.json"), _usual),
        Program("cursor", "Cursor", _at(".cursor", "mcp.json"), _usual),
        Program("codex", "Codex", _at(".codex", "config.toml"), _codex),
        Program("gemini", "Gemini CLI", _at(".gemini", "settings.json"), _usual),
        Program("zed", "Zed", _of_zed, _zed),
        Program(WORKSPACE, "this workspace", _of_workspace, _usual),
    )
}


# ── one entry into a server of ours ──────────────────────────────────────────────────────────────────────────────────

_INPUT = re.compile(r"\$\{input:([^}]+)\}")
_OPEN = re.compile(r"\$\{(?!secret://)")
"""A variable that is nobody's reference."""
_ODD = re.compile(r"[^A-Za-z0-9.-]+|_+")


def candidate(source: str, file: Path, name: str, entry: Mapping[str, Any], around: Surroundings) -> Candidate:
    """Named, resolved and free of secrets, or refused with the reason."""
    told = read_foreign(entry, Origin(str(file)), name)
    if isinstance(told, ConfigError):
        return Candidate(source, str(file), name, refused=f"{told.message.removeprefix(f'{file}: ')}; {told.hint}")
    ours = our_name(name)
    told, notes, secrets = _without_secrets(_with_workspace(told, around), ours)
    notes = [*([f"named {ours!r} here"] if ours != name else []), *notes]
    refused, told = _resolved(told)
    spec = judge(ours, told, Origin(str(file)), workspace=around.workspace)
    if refused or isinstance(spec, ConfigError):
        return Candidate(source, str(file), ours, refused=refused or str(spec), notes=tuple(notes))
    return Candidate(source, str(file), ours, _portable(spec, told), "", tuple(notes), secrets)


def our_name(name: str) -> str:
    """A name we accept, as near to theirs as possible."""
    plain = _ODD.sub(lambda found: "_" if set(found[0]) == {"_"} else "-", name).strip("-_.")[:60] or "server"
    return f"{plain}-mcp" if plain in RESERVED or refuse_server(plain) else plain


def _portable(spec: UpstreamSpec, told: Entry) -> UpstreamSpec:
    """A folder that was not named stays open: the server then runs in whatever workspace we serve."""
    return msgspec.structs.replace(spec, cwd=told.cwd)


def _with_workspace(told: Entry, around: Surroundings) -> Entry:
    def filled(text: str) -> str:
        return text.replace("${workspaceFolder}", str(around.workspace)).replace("${userHome}", str(around.user))

    return msgspec.structs.replace(
        told, command=filled(told.command), args=tuple(map(filled, told.args)), cwd=filled(told.cwd)
    )


def _resolved(told: Entry) -> tuple[str, Entry]:
    """The absolute path of its program. We do not import ourselves: that would be a circle."""
    if told.url and not told.url.startswith("stdio:"):
        return "", told
    command, args = command_of(told)
    if Path(command).name == "weft" or ("clawft" in args and "-m" in args):
        return "this is weft itself", told
    path = command if os.path.isabs(command) else shutil.which(command)
    if path is None:
        return f"{command} is not on the PATH; install it first", told
    return "", msgspec.structs.replace(told, command=path, args=args, url="")


def _without_secrets(told: Entry, server: str) -> tuple[Entry, list[str], dict[str, str]]:
    notes: list[str] = []
    clear: dict[str, str] = {}

    def safe(name: str, value: str) -> str:
        asked = _INPUT.search(value)
        if not asked and _OPEN.search(value) is None and not looks_secret(name, value):
            return value
        variable = variable_for("", asked[1]) if asked and asked[0] == value else variable_for(server, name)
        kept = f"secret://env/{variable}"
        if asked or _OPEN.search(value) is not None:
            notes.append(f"export {variable}={_shape(value)}")
        else:
            notes.append(f"export {variable}=… (its value is not copied; --keep-secrets keeps it in a private file)")
            clear[kept] = value
        return kept

    env = {name: safe(name, value) for name, value in told.env.items()}
    headers = {name: safe(name, value) for name, value in told.headers.items()}
    notes += [f"args hold {each!r}, which nobody fills in here" for each in told.args if "${" in each]
    return msgspec.structs.replace(told, env=env, headers=headers), notes, clear


def _shape(value: str) -> str:
    """What the variable must hold: `"Bearer $TOKEN"` for `Bearer ${env:TOKEN}`; what an editor asks for is left out."""
    bare = re.sub(r"\$\{(?:env:)?([A-Za-z_]\w*)\}", r"$\1", _INPUT.sub("…", value))
    return "…" if re.fullmatch(r"\$\w+|…", bare) else f'"{bare}"'
