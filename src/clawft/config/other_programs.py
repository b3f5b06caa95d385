"""Where other programs on this machine keep the servers they know, and how each spells one.

To add a program: a row in `PROGRAMS`, and a reader if it spells servers in its own way.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from clawft.config import jsonc
from clawft.config.layers import foreign_servers

Entries = Iterator[tuple[str, Mapping[str, Any]]]


class UserFolders(Struct, frozen=True):
    """Where a person keeps things: tests have their own."""

    user: Path
    workspace: Path
    roaming: Path
    """%APPDATA% on Windows; elsewhere a folder that is not there."""

    @classmethod
    def here(cls, workspace: Path) -> UserFolders:
        user = Path.home()
        return cls(user, workspace, Path(os.environ.get("APPDATA") or user / "AppData" / "Roaming"))


class OtherProgram(Struct, frozen=True):
    name: str
    title: str
    files: Callable[[UserFolders], list[Path]]
    read: Callable[[Mapping[str, Any], UserFolders], Entries]


# ── how each program spells it ───────────────────────────────────────────────────────────────────────────────────────


def _usual(told: Mapping[str, Any], around: UserFolders) -> Entries:
    for name, entry in foreign_servers(told)[1].items():
        yield name, jsonc.members(entry)


def _claude_code(told: Mapping[str, Any], around: UserFolders) -> Entries:
    """The person's own, then those kept for this project alone."""
    yield from _usual(told, around)
    project = jsonc.members(told.get("projects")).get(str(around.workspace))
    yield from _usual(jsonc.members(project), around)


def _codex(told: Mapping[str, Any], around: UserFolders) -> Entries:
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


def _gemini(told: Mapping[str, Any], around: UserFolders) -> Entries:
    """Variables are written `$NAME`, too."""
    for name, entry in _usual(told, around):
        texts = {key: _braced(value) for key, value in entry.items() if key in ("url", "httpUrl")}
        tables = {key: _all_braced(value) for key, value in entry.items() if key in ("env", "headers")}
        yield name, {**entry, **texts, **tables}


def _all_braced(table: object) -> dict[str, object]:
    return {name: _braced(value) for name, value in jsonc.members(table).items()}


def _braced(value: object) -> object:
    return re.sub(r"\$([A-Za-z_]\w*)", r"${\1}", value) if isinstance(value, str) else value


def _zed(told: Mapping[str, Any], around: UserFolders) -> Entries:
    for name, entry in jsonc.members(told.get("context_servers")).items():
        yield name, jsonc.members(entry)


def _at(*parts: str) -> Callable[[UserFolders], list[Path]]:
    return lambda around: [around.user.joinpath(*parts)]


def _app_data(*parts: str) -> Callable[[UserFolders], list[Path]]:
    """The place for such files on Linux, macOS and Windows."""
    return lambda around: [
        around.user.joinpath(".config", *parts),
        around.user.joinpath("Library", "Application Support", *parts),
        around.roaming.joinpath(*parts),
    ]


def _of_workspace(around: UserFolders) -> list[Path]:
    names = (".mcp.json", ".vscode/mcp.json", ".cursor/mcp.json", ".gemini/settings.json")
    return [around.workspace / name for name in names]


def _of_zed(around: UserFolders) -> list[Path]:
    return [around.user / ".config" / "zed" / "settings.json", around.roaming / "Zed" / "settings.json"]


WORKSPACE = "workspace"
"""Asked for by name only: importing from a workspace lets it start programs."""

PROGRAMS: Mapping[str, OtherProgram] = {
    each.name: each
    for each in (
        OtherProgram("claude-code", "Claude Code", _at(".claude.json"), _claude_code),
        OtherProgram("claude-desktop", "Claude Desktop", _app_data("Claude", "claude_desktop_config.json"), _usual),
        OtherProgram("vscode", "VS Code", _app_data("Code", "User", "mcp.json"), _usual),
        OtherProgram("cursor", "Cursor", _at(".cursor", "mcp.json"), _usual),
        OtherProgram("codex", "Codex", _at(".codex", "config.toml"), _codex),
        OtherProgram("gemini", "Gemini CLI", _at(".gemini", "settings.json"), _gemini),
        OtherProgram("zed", "Zed", _of_zed, _zed),
        OtherProgram(WORKSPACE, "this workspace", _of_workspace, _usual),
    )
}
