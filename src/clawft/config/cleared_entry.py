"""Clears secrets from a server entry of another program, with notes for the person who imports it. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from clawft.config.entry import ServerEntry
from clawft.config.secrecy import holds_secret, options_in_clear, query_in_clear, variable_for

_INPUT = re.compile(r"\$\{input:([^}]+)\}")
_SCHEME = re.compile(r"(?i)(?:Bearer|Basic|Token)\s+(?=\S)")
_OPEN = re.compile(r"\$\{(?!secret://)")
"""A variable that is not one of our references."""

_LOGIN = "its login is not imported; run weft auth login {name} --client-id ID makes one"
_NOT_OURS: Mapping[str, str] = {
    "envFile": 'envFile is not supported; write the variables it needs as env = {{ NAME = "secret://env/NAME" }}',
    "headersHelper": 'headersHelper is not supported; a header can be "secret://command/PROGRAM ARG…"',
    "auth": _LOGIN,
    "oauth": _LOGIN,
    "authProviderType": _LOGIN,
}
"""Keys we do not support but the server needs, and what to write instead."""


class ClearedEntry(Struct, frozen=True):
    """`notes` are for the person; `secrets`: reference → the value that was written in clear."""

    entry: ServerEntry
    notes: tuple[str, ...]
    secrets: Mapping[str, str]


def cleared(told: ServerEntry, server: str) -> ClearedEntry:
    """The entry with references in place of secrets, and of variables that an editor would fill in."""
    clearing = _Clearing(server)
    env, headers = clearing.values(told.env), clearing.values(told.headers)
    entry = msgspec.structs.replace(told, env=env, headers=headers, url=clearing.url(told.url))
    return ClearedEntry(entry, (*clearing.notes, *_of_arguments(told)), clearing.secrets)


class _Clearing:
    """Collects what is found in one entry."""

    def __init__(self, server: str) -> None:
        self._server = server
        self.notes: list[str] = []
        self.secrets: dict[str, str] = {}

    def values(self, told: Mapping[str, str]) -> dict[str, str]:
        return {name: self._value(name, value) for name, value in told.items()}

    def url(self, url: str) -> str:
        for name, value in query_in_clear(url):
            reference = self._kept(variable_for(self._server, name), value)
            url = url.replace(f"{name}={value}", f"{name}=${{{reference}}}", 1)
        return url

    def _value(self, name: str, value: str) -> str:
        asked = _INPUT.search(value)
        filled_in = asked is not None or _OPEN.search(value) is not None
        if not filled_in and not holds_secret(name, value):
            return value
        variable = variable_for("", asked[1]) if asked and asked[0] == value else variable_for(self._server, name)
        if not filled_in:
            return self._kept_behind_scheme(variable, value)
        self.notes.append(f"export {variable}={_shape(value)}")
        return f"secret://env/{variable}"

    def _kept_behind_scheme(self, variable: str, value: str) -> str:
        """A reference behind a scheme such as `Bearer`, so that the variable holds only the token."""
        scheme = _SCHEME.match(value)
        if scheme is None:
            return self._kept(variable, value)
        return f"{scheme[0]}${{{self._kept(variable, value[scheme.end() :])}}}"

    def _kept(self, variable: str, value: str) -> str:
        """A reference in place of a secret, which is noted."""
        self.notes.append(f"export {variable}=… (its value is not copied; --keep-secrets stores it in a private file)")
        reference = f"secret://env/{variable}"
        self.secrets[reference] = value
        return reference


def _of_arguments(told: ServerEntry) -> Iterator[str]:
    """Notes on secrets in arguments, which no reference can replace: all programs of a machine can read them."""
    yield from unfilled(told.args)
    for name in options_in_clear(told.args):
        yield f"its argument {name} seems to contain a secret and was copied; pass it in a variable (env) instead"


def unfilled(args: Sequence[str]) -> Iterator[str]:
    """Notes on arguments with variables that the other program would replace, but we do not."""
    return (f"args hold {each!r}, which is not filled in here" for each in args if "${" in each)


def left_open(values: Mapping[str, str]) -> Iterator[str]:
    """Notes on values with variables of an editor, such as `${input:…}`, which are no references of ours."""
    found = ((name, re.search(_OPEN.pattern + r"[^}]*\}", value)) for name, value in values.items())
    return (f"{name} holds {each[0]!r}, which is not filled in here" for name, each in found if each)


def not_taken_over(entry: Mapping[str, Any], name: str) -> Iterator[str]:
    """Notes on keys that we cannot apply, each once."""
    reasons = (words.format(name=name) for key, words in _NOT_OURS.items() if entry.get(key))
    return iter(dict.fromkeys(reasons))


def _shape(value: str) -> str:
    """The form of the variable's value: `"Bearer $TOKEN"` for `Bearer ${env:TOKEN}`; inputs of an editor become `…`."""
    bare = re.sub(r"\$\{(?:env:)?([A-Za-z_]\w*)\}", r"$\1", _INPUT.sub("…", value))
    return "…" if re.fullmatch(r"\$\w+|…", bare) else f'"{bare}"'
