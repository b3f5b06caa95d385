"""Loads the settings from files and options. Later wins: the user's file, the agent's file, the command line.

Every value remembers where it came from. Files of the workspace are not read: whoever can write into a workspace must
not be able to change what is allowed in it.
"""

import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

import msgspec
from msgspec import Struct

from clawft.catalog.surface import Surface
from clawft.config.key import ConfigKey
from clawft.config.keys import BY_NAME, KEYS, OPEN_TABLES, WHOLE
from clawft.config.places import agent_file, spelled_in_text, user_file
from clawft.config.settings import Settings
from clawft.error_words import did_you_mean, quoted
from clawft.errors import ConfigError, ConfigUnreadable, InvalidConfig
from clawft.policy.command import CommandPolicy
from clawft.policy.delegation import DelegationConfig
from clawft.policy.url import UrlPolicy
from clawft.store.document import TomlDocument, leaves, parse
from clawft.store.private_files import open_at_once

COMMAND_LINE = "command line"
MAX_FILE_BYTES = 1024 * 1024
ROOT = 0
"""The owner of files for every user, as root can change them anyway."""


class SourceLine(Struct, frozen=True):
    """Where a value came from; `line` is 0 for the command line."""

    file: str
    line: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file


class LoadedSettings(Struct, frozen=True):
    """`origins` has no entry for a default, and several for a key whose values add up."""

    settings: Settings
    values: Mapping[str, Any]
    origins: Mapping[str, tuple[SourceLine, ...]]


class GivenValue(Struct, frozen=True):
    """One validated value that was set."""

    key: ConfigKey
    value: Any
    origin: SourceLine


def load(
    home: Path,
    workspace: Path,
    agent: str,
    overrides: Mapping[str, Any] | None = None,
    unless_told: Mapping[str, Any] | None = None,
) -> LoadedSettings:
    """The settings. Raises the first error in them.

    `overrides` are keys of the command line; `unless_told` holds defaults that any file overrides.
    """
    given = [_override(name, value) for name, value in (unless_told or {}).items()]
    for document in read_all(home, agent):
        given += judge(document)
    given += [_override(name, value) for name, value in (overrides or {}).items()]
    values, origins = merge(given)
    folder = _workspace(workspace)
    return LoadedSettings(_settings(home, folder, agent, values), values, origins)


def problems(home: Path, agent: str) -> list[ConfigError]:
    """All errors in the files, for `weft config check`."""
    found: list[ConfigError] = []
    for path in files(home, agent):
        try:
            document = _read_own(path)
        except ConfigError as wrong:
            found.append(wrong)
        else:
            found += [one for one in _judged(document) if isinstance(one, ConfigError)] if document else []
    return found


# ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def files(home: Path, agent: str) -> tuple[Path, ...]:
    """The files that are read, if they exist; later ones win."""
    return user_file(home), agent_file(home, agent)


def read_all(home: Path, agent: str) -> list[TomlDocument]:
    return [document for document in map(_read_own, files(home, agent)) if document is not None]


def _read_own(path: Path) -> TomlDocument | None:
    """A file that decides what is allowed. Raises InvalidConfig if others may write it."""
    document = read(path)
    if document is not None and (open_to_others := exposed(path, "so weft does not start with it")):
        raise open_to_others
    return document


def read(path: Path) -> TomlDocument | None:
    """The document; None if there is no such file. Raises ConfigUnreadable or ConfigUnparsable."""
    content = read_bytes(path)
    return None if content is None else parse(content, str(path))


def read_bytes(path: Path) -> bytes | None:
    """The content; None if there is no such file. Raises ConfigUnreadable."""
    try:
        with open_at_once(path) as file:
            if stat.S_ISFIFO(os.fstat(file.fileno()).st_mode):
                raise ConfigUnreadable(f"{path} is a pipe", hint="put a file in its place, or remove it")
            content = file.read(MAX_FILE_BYTES + 1)
    except FileNotFoundError:
        if path.is_symlink():  # the link may lead to what the user allows and denies
            problem = f"{path} is a link to a file that does not exist"
            raise ConfigUnreadable(problem, hint="correct the link, or remove it") from None
        return None
    except OSError as failure:
        raise ConfigUnreadable(
            f"{path} cannot be read: {failure.strerror or failure}", hint="correct the permissions, or remove the file"
        ) from None
    if len(content) > MAX_FILE_BYTES:
        raise ConfigUnreadable(f"{path} is larger than {MAX_FILE_BYTES} bytes", hint="is this the right file?")
    return content


def exposed(file: Path, so: str = "so it is ignored") -> InvalidConfig | None:
    """The error for a file that others could write: it would decide what is started and allowed.

    None if it is safe, or cannot be looked at: reading it gives the error.
    """
    try:
        found = file.stat()
    except OSError:
        return None
    if os.name != "posix":
        return None
    if found.st_mode & stat.S_IWOTH:
        return InvalidConfig(f"{file} can be changed by every user, {so}", hint=f"chmod go-w {quoted(file)}")
    if found.st_uid not in (os.getuid(), ROOT):
        return InvalidConfig(f"{file} belongs to another user, {so}", hint="make a copy of your own")
    return None


def _workspace(folder: Path) -> Path:
    if not folder.is_dir():
        raise InvalidConfig(
            f"the workspace {folder} is not a folder", hint="name an existing folder with --workspace DIR"
        )
    return spelled_in_text(folder.resolve())


# ── judging, pure ────────────────────────────────────────────────────────────────────────────────────────────────────


def judge(document: TomlDocument) -> list[GivenValue]:
    """The values of one file. Raises InvalidConfig for the first wrong one."""
    given: list[GivenValue] = []
    for one in _judged(document):
        if isinstance(one, ConfigError):
            raise one
        given.append(one)
    return given


def _judged(document: TomlDocument) -> Iterator[GivenValue | InvalidConfig]:
    for path, value in leaves(document.tables, OPEN_TABLES, WHOLE):
        origin = SourceLine(document.file, document.line_of(path))
        name = ".".join(path)
        if name in BY_NAME:
            yield _value(BY_NAME[name], value, origin)
        elif not (value == {} and _is_table(name)):
            yield _unknown(name, origin)


def _value(key: ConfigKey, value: Any, origin: SourceLine) -> GivenValue | InvalidConfig:
    try:
        read_value = key.read(value)
    except msgspec.ValidationError as misfit:
        return _wrong(key, _misspelled(key, misfit) or f"must be {key.words}, not {_shown(value)}", origin)
    wrong = key.check(read_value)
    return _wrong(key, wrong, origin) if wrong else GivenValue(key, read_value, origin)


def _misspelled(key: ConfigKey, misfit: msgspec.ValidationError) -> str:
    """The error for a wrong key inside a list of tables."""
    unknown = re.match(r"Object contains unknown field `([^`]*)`", str(misfit))
    known = [field for each in get_args(key.type) for field in getattr(each, "__struct_fields__", ())]
    return f"has an unknown key {unknown[1]!r}{did_you_mean(unknown[1], known)}" if unknown else ""


def _override(name: str, value: Any) -> GivenValue:
    judged = _value(BY_NAME[name], value, SourceLine(COMMAND_LINE))
    if isinstance(judged, InvalidConfig):
        raise judged
    return judged


def _wrong(key: ConfigKey, what: str, origin: SourceLine) -> InvalidConfig:
    return InvalidConfig(f"{origin}: {key.name} {what}", hint=f"{key.name}: {key.doc} It is {key.words}.")


def _unknown(name: str, origin: SourceLine) -> InvalidConfig:
    if _is_table(name):
        return InvalidConfig(f"{origin}: {name} must be a table", hint=f"write [{name}] and its keys below it")
    near = did_you_mean(name, [*BY_NAME, *_tables()]) or did_you_mean(name.partition(".")[0], OPEN_TABLES)
    return InvalidConfig(f"{origin}: unknown key {name!r}{near}", hint=_there_is(name))


def _there_is(name: str) -> str:
    """The keys in the table where this key was looked for, or the tables at the top."""
    table = name.rpartition(".")[0]
    if not _is_table(table):
        return f"the tables are {', '.join(table for table in _tables() if '.' not in table)}"
    inside = [known.removeprefix(f"{table}.") for known in (*BY_NAME, *_tables()) if known.startswith(f"{table}.")]
    return f"[{table}] has {', '.join(key for key in inside if '.' not in key)}"


def _is_table(name: str) -> bool:
    return name in _tables()


def _tables() -> Sequence[str]:
    """Every table a key or an open table lives in: `security`, `security.command_policy`, …"""
    parts = [key.name.split(".") for key in KEYS]
    named = [".".join(part[:depth]) for part in parts for depth in range(1, len(part))]
    return [*dict.fromkeys(named), *sorted(OPEN_TABLES)]


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:59] + "…"


# ── merging, pure ────────────────────────────────────────────────────────────────────────────────────────────────────


def merge(given: Sequence[GivenValue]) -> tuple[dict[str, Any], dict[str, tuple[SourceLine, ...]]]:
    """The value of every key, and where it came from. Lists that are joined keep their order and lose duplicates."""
    values: dict[str, Any] = {key.name: key.default for key in KEYS}
    origins: dict[str, tuple[SourceLine, ...]] = {}
    for one in given:
        name = one.key.name
        earlier = origins.get(name, ()) if one.key.adds else ()
        values[name] = tuple(dict.fromkeys((*values[name], *one.value))) if one.key.adds else one.value
        origins[name] = (*earlier, one.origin)
    return values, origins


def _settings(home: Path, workspace: Path, agent: str, values: Mapping[str, Any]) -> Settings:
    plain: dict[str, Any] = {}
    nested: dict[str, dict[str, Any]] = {name: {} for name in _PARTS}
    for key in KEYS:
        table, _, field = key.field.rpartition(".")
        (nested[table] if table else plain)[field] = values[key.name]
    return Settings(
        home=home,
        workspace=workspace,
        agent=agent,
        **{name: make(**nested[name]) for name, make in _PARTS.items()},
        **plain,
    )


_PARTS: Mapping[str, Callable[..., Any]] = {
    "command_policy": CommandPolicy,
    "url_policy": UrlPolicy,
    "delegation": DelegationConfig,
    "surface": Surface,
}
"""Fields of the settings that are built from several keys."""
