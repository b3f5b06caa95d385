"""Where other programs on this machine keep their servers, and how each spells one.

To add a program: a row in `PROGRAMS`, and a reader if it spells servers in its own way.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Container, Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from msgspec import Struct

from clawft.config import jsonc, load
from clawft.config.entry import names_in
from clawft.config.json_servers import foreign_servers
from clawft.store.document import parse
from clawft.wire.shapes import members

CLAUDE_FILE = ".claude.json"

Entries = Iterator[tuple[str, Mapping[str, Any]]]


class UserFolders(Struct, frozen=True):
    """The folders of a person; tests use their own."""

    user: Path
    workspace: Path
    roaming: Path
    """%APPDATA% on Windows; elsewhere a folder that does not exist."""

    @classmethod
    def here(cls, workspace: Path) -> UserFolders:
        user = Path.home()
        return cls(user, workspace, Path(os.environ.get("APPDATA") or user / "AppData" / "Roaming"))


Reader = Callable[[Mapping[str, Any], UserFolders], Entries]


class ServerFile(Struct, frozen=True):
    """A file that may name servers, and how it spells them."""

    path: Path
    read: Reader


Files = Callable[[UserFolders], list[ServerFile]]


class OtherProgram(Struct, frozen=True):
    name: str
    title: str
    files: Files


def read_told(file: Path) -> Mapping[str, Any]:
    """The content; empty if there is no such file. Raises ConfigError."""
    content = load.read_bytes(file)
    if content is None:
        return {}
    return parse(content, str(file)).tables if file.suffix == ".toml" else jsonc.parse(content, str(file))


# ── how each program spells it ───────────────────────────────────────────────────────────────────────────────────────


def _usual(told: Mapping[str, Any], around: UserFolders) -> Entries:
    for name, entry in foreign_servers(told)[1].items():
        yield name, members(entry)


def _claude_code(told: Mapping[str, Any], around: UserFolders) -> Entries:
    """The user's own servers, then those for this project."""
    project = _project(told, around)
    yield from _without(_names_off(project), _usual(told, around))
    yield from _without(_names_off(project), _usual(project, around))


def _of_claude_project(told: Mapping[str, Any], around: UserFolders) -> Entries:
    """The servers of `.mcp.json`; which are switched off is told elsewhere, as a whole team shares that file."""
    own = (around.workspace / ".claude" / name for name in ("settings.json", "settings.local.json"))
    settings = map(read_told, (around.user / ".claude" / "settings.json", *own))
    project = _project(read_told(around.user / CLAUDE_FILE), around)
    off = {name for each in (project, *settings) for name in _names_off(each)}
    yield from _without(off, _usual(told, around))


def _project(told: Mapping[str, Any], around: UserFolders) -> Mapping[str, Any]:
    return members(members(told.get("projects")).get(str(around.workspace)))


def _names_off(told: Mapping[str, Any]) -> set[str]:
    return {name for key in ("disabledMcpServers", "disabledMcpjsonServers") for name in names_in(told.get(key)) or ()}


def _without(off: Container[str], entries: Entries) -> Entries:
    """The entries, those of these names disabled."""
    for name, entry in entries:
        yield name, {**entry, "disabled": True} if name in off else entry


def _codex(told: Mapping[str, Any], around: UserFolders) -> Entries:
    for name, table in members(told.get("mcp_servers")).items():
        entry = members(table)
        headers = {**members(entry.get("http_headers")), **_variables(entry.get("env_http_headers"))}
        if isinstance(token := entry.get("bearer_token_env_var"), str):
            headers["Authorization"] = f"Bearer ${{{token}}}"
        env = {**{each: f"${{{each}}}" for each in _named(entry.get("env_vars"))}, **members(entry.get("env"))}
        seconds = entry.get("tool_timeout_sec")
        timeout = seconds * 1000 if isinstance(seconds, int | float) else None
        yield name, {**entry, "headers": headers, "env": env, "timeout": timeout}


def _named(value: object) -> list[str]:
    """The names in a list of texts, or of tables with a name."""
    each = cast("list[object]", value) if isinstance(value, list) else []
    return names_in([members(one).get("name", one) for one in each]) or []


def _variables(headers: object) -> dict[str, str]:
    named = members(headers).items()
    return {name: f"${{{variable}}}" for name, variable in named if isinstance(variable, str)}


def _gemini(told: Mapping[str, Any], around: UserFolders) -> Entries:
    """The servers; variables are also written `$NAME`, and lists beside them say which may run."""
    rules = members(told.get("mcp"))
    allowed, excluded = names_in(rules.get("allowed")), names_in(rules.get("excluded")) or []
    servers = dict(_usual(told, around))
    off = {name for name in servers if name in excluded or (allowed is not None and name not in allowed)}
    for name, entry in _without(off, iter(servers.items())):
        texts = {key: _braced(value) for key, value in entry.items() if key in ("url", "httpUrl")}
        tables = {key: _all_braced(value) for key, value in entry.items() if key in ("env", "headers")}
        yield name, {**entry, **texts, **tables}


def _all_braced(table: object) -> dict[str, object]:
    return {name: _braced(value) for name, value in members(table).items()}


def _braced(value: object) -> object:
    return re.sub(r"\$([A-Za-z_]\w*)", r"${\1}", value) if isinstance(value, str) else value


def _zed(told: Mapping[str, Any], around: UserFolders) -> Entries:
    for name, entry in members(told.get("context_servers")).items():
        yield name, members(entry)


def _at(read: Reader, *parts: str) -> Files:
    return lambda around: [ServerFile(around.user.joinpath(*parts), read)]


def _app_data(*parts: str) -> Files:
    """The file in the folders for such files on Linux, macOS and Windows."""
    return lambda around: [
        ServerFile(folder.joinpath(*parts), _usual)
        for folder in (
            around.user / ".config",
            around.user / "Library" / "Application Support",
            around.roaming,
        )
    ]


def _of_workspace(around: UserFolders) -> list[ServerFile]:
    files: tuple[tuple[str, Reader], ...] = (
        (".mcp.json", _of_claude_project),
        (".vscode/mcp.json", _usual),
        (".cursor/mcp.json", _usual),
        (".gemini/settings.json", _gemini),
    )
    return [ServerFile(around.workspace / name, read) for name, read in files]


def _of_zed(around: UserFolders) -> list[ServerFile]:
    files = (around.user / ".config" / "zed" / "settings.json", around.roaming / "Zed" / "settings.json")
    return [ServerFile(file, _zed) for file in files]


WORKSPACE = "workspace"
"""Imported by name only: importing from a workspace lets it start programs."""

PROGRAMS: Mapping[str, OtherProgram] = {
    each.name: each
    for each in (
        OtherProgram("claude-code", "Claude Code", _at(_claude_code, CLAUDE_FILE)),
        OtherProgram("claude-desktop", "Claude Desktop", _app_data("Claude", "claude_desktop_config.json")),
        OtherProgram("vscode", "VS Code", _app_data("Code", "User", "mcp.json")),
        OtherProgram("cursor", "Cursor", _at(_usual, ".cursor", "mcp.json")),
        OtherProgram("codex", "Codex", _at(_codex, ".codex", "config.toml")),
        OtherProgram("gemini", "Gemini CLI", _at(_gemini, ".gemini", "settings.json")),
        OtherProgram("zed", "Zed", _of_zed),
        OtherProgram(WORKSPACE, "this workspace", _of_workspace),
    )
}
