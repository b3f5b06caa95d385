"""Writes servers as TOML and JSON that read back equal, and makes small changes to files people wrote. Pure.

A change touches one line and leaves comments and order alone. The file is parsed again afterwards: if the outcome is
not exactly what was meant, nothing is written and the person is told where to do it by hand.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, cast

import msgspec

from clawft.errors import ConfigError, InvalidConfig
from clawft.store.document import TomlDocument, parse
from clawft.upstream.spec import UpstreamSpec
from clawft.wire.shapes import members

_BARE = re.compile(r"[A-Za-z0-9_-]+")

KeyPath = tuple[str, ...]


# ── a spec, whole ────────────────────────────────────────────────────────────────────────────────────────────────────


def to_toml(spec: UpstreamSpec) -> str:
    """The file of one server: its trust, and what differs from the defaults."""
    return "".join(f"{key} = {toml_value(value)}\n" for key, value in _members_of(spec).items())


def to_json(spec: UpstreamSpec) -> str:
    """The server as other programs write it: `{"mcpServers": {name: {…}}}`."""
    written = _members_of(spec)
    name = written.pop("name")
    return msgspec.json.format(msgspec.json.encode({"mcpServers": {name: written}}), indent=2).decode()


def _members_of(spec: UpstreamSpec) -> dict[str, Any]:
    default = msgspec.to_builtins(UpstreamSpec(spec.name))
    written = msgspec.to_builtins(spec)
    kept = {key: _lean(value, default[key]) for key, value in written.items() if value != default[key]}
    return {"name": spec.name, **kept, "trust": spec.trust}


def _lean(value: Any, default: Any) -> Any:
    """The value; in a table, without members that equal the defaults."""
    known = members(default)
    lean = {key: each for key, each in members(value).items() if each != known.get(key)}
    return lean if known else value


def toml_value(value: object) -> str:
    if isinstance(value, dict):
        table = cast("dict[str, object]", value)
        inside = ", ".join(f"{toml_key(key)} = {toml_value(each)}" for key, each in table.items())
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml_value, cast('list[object]', value)))}]"
    return msgspec.json.encode(value).decode().replace("\x7f", "\\u007f")  # JSON texts are TOML but for this letter


def toml_key(key: str) -> str:
    return key if _BARE.fullmatch(key) else toml_value(key)


# ── one change in a file ─────────────────────────────────────────────────────────────────────────────────────────────


def with_value(text: str, file: str, path: KeyPath, key: str, value: object) -> str:
    """The file with one value set in the table at `path`. Raises InvalidConfig if that cannot be done safely."""
    document = parse(text.encode(), file)
    lines = _lines(text)
    at = document.lines.get((*path, key))
    line = f"{key} = {toml_value(value)}" + ("\r\n" if "\r\n" in text else "\n")
    if at is not None:
        lines[at - 1] = line
    elif path and path not in document.lines:
        raise _by_hand(document, path, line)
    else:
        lines.insert(document.lines[path] if path else 0, line)
    return _checked("".join(lines), document, path, {**_table(document.tables, path), key: value})


def with_table(text: str, file: str, path: KeyPath, table: Mapping[str, Any]) -> str:
    """The file with a new table at its end."""
    document = parse(text.encode(), file)
    body = "".join(f"{toml_key(key)} = {toml_value(value)}\n" for key, value in table.items())
    ended = text if not text or text.endswith("\n") else text + "\n"
    header = ".".join(map(toml_key, path))
    return _checked(f"{ended}\n[{header}]\n{body}".lstrip("\n"), document, path, table)


def without_table(text: str, file: str, path: KeyPath) -> str:
    """The file without a table that has its own header."""
    document = parse(text.encode(), file)
    if path not in document.lines:
        raise _by_hand(document, path, "(remove it)")
    first = document.lines[path]
    later = [line for each, line in document.lines.items() if line > first and each[: len(path)] != path]
    lines = _lines(text)
    rest = lines[min(later) - 1 :] if later else []
    return _checked("".join([*lines[: first - 1], *rest]), document, path, None)


def _lines(text: str) -> list[str]:
    """The lines with their ends, as TOML counts them."""
    return re.findall(r"[^\n]*\n|[^\n]+", text.removeprefix("\ufeff"))


def _checked(text: str, before: TomlDocument, path: KeyPath, meant: Mapping[str, Any] | None) -> str:
    try:
        after = parse(text.encode(), before.file).tables
    except ConfigError:
        raise _by_hand(before, path, "") from None
    if after != _replaced(before.tables, path, meant):
        raise _by_hand(before, path, "")
    return text


def _table(tables: Mapping[str, Any], path: KeyPath) -> Mapping[str, Any]:
    for part in path:
        tables = members(tables.get(part))
    return tables


def _replaced(tables: Mapping[str, Any], path: KeyPath, meant: Mapping[str, Any] | None) -> dict[str, Any]:
    """The tables with one value changed; a table left empty is removed."""
    if not path:
        return dict(meant or {})
    first, *rest = path
    inner = _replaced(members(tables.get(first)), tuple(rest), meant)
    others = {key: value for key, value in tables.items() if key != first}
    return {**others, first: inner} if inner else others


def _by_hand(document: TomlDocument, path: KeyPath, line: str) -> InvalidConfig:
    where = f"{document.file}:{document.line_of(path)}"
    return InvalidConfig(f"{where} cannot be changed safely by weft", hint=f"change it by hand: {line}".strip(": \n"))
