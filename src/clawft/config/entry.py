"""Reads one server entry: ours strictly, with the line of each mistake; those of other programs leniently. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

import msgspec

from clawft.config.load import SourceLine
from clawft.error_words import did_you_mean
from clawft.errors import InvalidConfig
from clawft.store.document import TomlDocument
from clawft.upstream.spec import SandboxTable, ServerDescription, TokenExchange, ToolRules
from clawft.upstream.spec_rules import SANDBOXES, WORDS
from clawft.wire.shapes import members

ALLOWING = ("allowed_tools", "allowedTools", "includeTools", "enabled_tools", "enabledTools", "tools")
DENYING = ("denied_tools", "deniedTools", "excludeTools", "disabled_tools", "disabledTools")
"""Keys of other programs that name tools which may not be used."""


class ServerEntry(ServerDescription, frozen=True, forbid_unknown_fields=True):
    """An entry as written, not yet judged. `trust` is empty if it is not set."""

    name: str = ""
    trust: str = ""

    def __repr__(self) -> str:
        return f"ServerEntry({self.name!r}, …)"  # variables, headers and arguments may hold secrets


KEYS: tuple[str, ...] = ServerEntry.__struct_fields__
"""Every key a server may have in our own files."""

_KNOWN_IN: Mapping[str, tuple[str, ...]] = {
    "": KEYS,
    "tools": ToolRules.__struct_fields__,
    "sandbox": SandboxTable.__struct_fields__,
    "exchange": TokenExchange.__struct_fields__,
}
_MEANT_FOR = {
    "headers": "are only for servers with a url, and this server is a program",
    "args": "are only for programs, and this server has a url",
    "env": "is only for programs, and this server has a url",
}
_INSTEAD_OF = {
    "headers": "pass variables to a program with env",
    "args": "remove them, or name the program with command",
    "env": "pass headers to a url with headers",
}

_UNKNOWN = r"unknown field `(?P<key>[^`]+)`(?: - at `\$\.?(?P<table>\w*)`)?"
_PLACE = r" - at `\$\.?(?P<key>\w*)(?P<inside>[^`]*)`"


# ── our own files ────────────────────────────────────────────────────────────────────────────────────────────────────


def read_own(table: object, document: TomlDocument, path: tuple[str, ...]) -> ServerEntry | InvalidConfig:
    """The entry, or the first mistake with its file, line and the nearest known key."""
    try:
        entry = msgspec.convert(table, ServerEntry)
    except msgspec.ValidationError as wrong:
        return _explain(str(wrong), table, document, path)
    return _unheard(entry, document, path) or entry


def _unheard(told: ServerEntry, document: TomlDocument, path: tuple[str, ...]) -> InvalidConfig | None:
    """The error for a key that only the other kind of server has."""
    if not (told.enabled and bool(told.url) != bool(told.command)):
        return None
    for key in not_for(told):
        origin = SourceLine(document.file, document.line_of((*path, key)))
        return InvalidConfig(f"{origin}: {key} {_MEANT_FOR[key]}", hint=_INSTEAD_OF[key])
    return None


def not_for(told: ServerEntry) -> list[str]:
    """Keys that have no meaning for this kind of server: a program, or one reached by an address."""
    is_program = bool(told.command) or told.url.startswith("stdio:")
    return [key for key in (("headers",) if is_program else ("args", "env")) if getattr(told, key)]


def in_words(wrong: Exception) -> str:
    """The error with the expected type in words, if that is what is wrong."""
    place = re.search(_PLACE, str(wrong))
    return f"{place['key']} must be {WORDS[place['key']]}" if place and place["key"] in WORDS else str(wrong)


def _explain(said: str, table: object, document: TomlDocument, path: tuple[str, ...]) -> InvalidConfig:
    unknown = re.search(_UNKNOWN, said)
    if unknown is not None:
        return unknown_key(unknown["key"], unknown["table"] or "", document, path)
    place = re.search(_PLACE, said)
    key, inside = (place["key"], place["inside"]) if place else ("", "")
    within = (key, *re.findall(r"\.(\w+)", inside)) if key else ()
    origin = SourceLine(document.file, document.line_of((*path, *within)))
    if not key:
        return InvalidConfig(f"{origin}: a server is a table", hint=f"known keys: {', '.join(KEYS)}")
    said = said.partition(" - at")[0]
    hint = _slip(key, members(table).get(key)) or (f"{key}{inside}: {said}" if inside else said)
    return InvalidConfig(f"{origin}: {key} must be {WORDS[key]}", hint=hint)


def _slip(key: str, told: object) -> str:
    """A hint for a common mistake, or nothing: a number in quotes, arguments in one text."""
    if key in ("env", "headers"):
        return _quoted_member(told)
    if not isinstance(told, str):
        return ""
    if key == "args":
        return f"write args = {listed(told.split())}"
    return f"write {key} = {told}" if told.isdecimal() else ""


def listed(words: Sequence[str]) -> str:
    """The words as a TOML list."""
    return f"[{', '.join(msgspec.json.encode(word).decode() for word in words)}]"


def _quoted_member(told: object) -> str:
    """A hint for a number among variables, such as `PORT = 8080`."""
    odd = ((name, value) for name, value in members(told).items() if isinstance(value, bool | int | float))
    return next((f'write {name} = "{_text(value)}"' for name, value in odd), "")


def unknown_key(key: str, table: str, document: TomlDocument, path: tuple[str, ...]) -> InvalidConfig:
    known = _KNOWN_IN[table]
    origin = SourceLine(document.file, document.line_of((*path, table, key) if table else (*path, key)))
    shown = f"{table}.{key}" if table else key
    return InvalidConfig(
        f"{origin}: unknown key {shown!r}{did_you_mean(key, known)}", hint=f"known keys: {', '.join(known)}"
    )


# ── files of other programs ──────────────────────────────────────────────────────────────────────────────────────────

PROXY = "claudeai-proxy"
EXTENSION = "extension"
"""Zed's name for the source of a server that belongs to one of its extensions."""
_VARIABLE = r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(:-[^}]*)?\}"


def read_foreign(entry: object, origin: SourceLine, name: str) -> ServerEntry | InvalidConfig:
    """The entry, read leniently: unknown keys are ignored, `null` means absent."""
    told = {**members(entry), **members(members(entry).get("transport"))}
    kind = told.get("type")
    if kind == PROXY:
        return InvalidConfig(
            f"{origin}: {name}: servers of type {PROXY} cannot be reached from here",
            hint='configure it with type "http" and its own address; it will ask for a login',
        )
    if told.get("source") == EXTENSION and not (told.get("command") or told.get("url")):
        return InvalidConfig(
            f"{origin}: {name}: this server is started by an extension of the editor, and the entry does not say how",
            hint=f"look its command up in its documentation: weft servers add {name} -- COMMAND",
        )
    try:
        return _lenient(told)
    except (msgspec.ValidationError, ValueError) as wrong:
        return InvalidConfig(f"{origin}: {name}: {in_words(wrong)}", hint="correct the entry, or remove it")


def _lenient(told: Mapping[str, Any]) -> ServerEntry:
    url, command, args = told.get("url") or told.get("httpUrl"), told.get("command"), told.get("args")
    if isinstance(command, dict):  # Zed's older form
        nested = members(cast("object", command))
        command, args = nested.get("path"), nested.get("args")
        told = {**told, "env": nested.get("env") or told.get("env")}
    sandbox = told.get("sandbox")
    plain: dict[str, Any] = {
        "url": "" if command and url else reference(url) if isinstance(url, str) else url,
        "command": command,
        "args": [_text(each) for each in cast("list[object]", args)] if isinstance(args, list) else None,
        "env": _texts(told.get("env")),
        "headers": _texts(told.get("headers")),
        "cwd": told.get("cwd"),
        "timeout_ms": _millis(told.get("timeout_ms") or told.get("timeout")),
        "max_message": told.get("max_message"),
        "trust": told["trust"] if isinstance(told.get("trust"), str) else None,
        "enabled": told.get("enabled") is not False and told.get("disabled") is not True,
        "required": told.get("required") is True,
        "isolation": told.get("isolation"),
        "sandbox": sandbox if sandbox in SANDBOXES or members(sandbox) else None,
        "tools": _rules(told) or None,
        "redact": told["redact"] if isinstance(told.get("redact"), bool) else None,
        "verbatim": told.get("verbatim") is True,
        "asks": told.get("asks"),
        "era": told.get("era"),
        "exchange": members(told.get("exchange")) or None,
    }
    return msgspec.convert({key: value for key, value in plain.items() if value is not None}, ServerEntry)


def _rules(told: Mapping[str, Any]) -> dict[str, Any]:
    """The rules for tools, by the keys of any program; a tool that one of them forbids stays forbidden."""
    rules = dict(members(told.get("tools")))
    allow = next((globs for key in ALLOWING if (globs := names_in(told.get(key))) is not None), None)
    deny = [glob for key in DENYING for glob in names_in(told.get(key)) or ()]
    if allow is not None:
        rules = {"allow": allow, **rules}
    return {**rules, "deny": [*(names_in(rules.get("deny")) or ()), *deny]} if deny else rules


def names_in(value: object) -> list[str] | None:
    """The texts in a list; None if this is no list."""
    if not isinstance(value, list):
        return None
    return [each for each in cast("list[object]", value) if isinstance(each, str)]


def _text(value: object) -> str:
    """A value as text, as variables of a child are texts."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _texts(value: object) -> dict[str, str] | None:
    given = {name: _text(each) for name, each in members(value).items() if each is not None}
    return {name: reference(text) for name, text in given.items()} or None


def reference(text: str) -> str:
    """The text with `${NAME}` and `${NAME:-default}` of other programs turned into our `secret://env/NAME`."""
    is_alone = re.fullmatch(_VARIABLE, text)
    if is_alone and not is_alone[2]:
        return f"secret://env/{is_alone[1]}"
    return re.sub(_VARIABLE, lambda found: f"${{secret://env/{found[1]}{found[2] or ''}}}", text)


def _millis(value: object) -> int | None:
    return int(value) if isinstance(value, int | float) and 1 <= value < math.inf else None
