"""The URIs of resources that a result or a definition names, spelled anew where they have to be. Pure.

A URI is what stands where the protocol has one: in links and embedded resources, in the contents of a read, and where
a page is named. Texts and structures are between a server and its agent. What has nothing new in it is given back as
it is, and of all else only the URIs change.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from msgspec import Raw

Spell = Callable[[str], str]
Change = Callable[[Raw], Raw]
"""Gives the very same back if there is nothing to change."""

_URI, _PAGE = b'"uri"', b'esourceUri"'
_LINK, _EMBEDDED = "resource_link", "resource"

_object = msgspec.json.Decoder(dict[str, Raw])
_items = msgspec.json.Decoder(list[Raw])
_text = msgspec.json.Decoder(str)
_encode = msgspec.json.encode


def in_result(result: bytes, spell: Spell) -> bytes:
    """The result of a tool."""
    blocks = _at("content", _each(_block(spell)))
    return _changed(result, lambda whole: _at("_meta", _page(spell))(blocks(whole)))


def in_prompt(result: bytes, spell: Spell) -> bytes:
    return _changed(result, _at("messages", _each(_at("content", _each(_block(spell))))))


def in_contents(result: bytes, spell: Spell) -> bytes:
    """The result with the URIs of the contents respelled."""
    return _changed(result, _at("contents", _each(_at("uri", _string(spell)))))


def in_definition(wire: bytes, spell: Spell) -> bytes:
    """A tool, which may be shown with a page."""
    return _changed(wire, _at("_meta", _page(spell))) if _has(wire, _PAGE) else wire


def _changed(message: bytes, change: Change) -> bytes:
    if not _has(message, _URI) and not _has(message, _PAGE):
        return message
    changed = Raw(message)
    after = change(changed)
    return message if after is changed else bytes(after)


def _has(message: bytes, key: bytes) -> bool:
    """From the end, because Python is several times faster at that for something large."""
    return message.rfind(key) >= 0


# ── where they stand ─────────────────────────────────────────────────────────────────────────────────────────────────


def _block(spell: Spell) -> Change:
    link = _at("uri", _string(spell))
    embedded = _at("resource", link)

    def change(block: Raw) -> Raw:
        kind = _read(_members(block).get("type", Raw()))
        return link(block) if kind == _LINK else embedded(block) if kind == _EMBEDDED else block

    return change


def _page(spell: Spell) -> Change:
    """In `_meta`, as the extension `io.modelcontextprotocol/ui` has it; older servers know the flat key alone."""
    nested, flat = _at("ui", _at("resourceUri", _string(spell))), _at("ui/resourceUri", _string(spell))
    return lambda meta: flat(nested(meta))


# ── steps ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _at(key: str, change: Change) -> Change:
    """In this member, if it is an object that has it."""

    def within(whole: Raw) -> Raw:
        members = _members(whole)
        before = members.get(key)
        if before is None:
            return whole
        after = change(before)
        return whole if after is before else Raw(_encode({**members, key: after}))

    return within


def _each(change: Change) -> Change:
    """In each item of a list; one that stands there alone is changed itself."""

    def within(whole: Raw) -> Raw:
        try:
            before = _items.decode(whole)
        except msgspec.DecodeError:
            return change(whole)
        after = [change(item) for item in before]
        same = all(one is other for one, other in zip(before, after, strict=True))
        return whole if same else Raw(_encode(after))

    return within


def _string(spell: Spell) -> Change:
    def change(value: Raw) -> Raw:
        uri = _read(value)
        spelled = spell(uri) if uri else uri
        return value if spelled == uri else Raw(_encode(spelled))

    return change


def _members(value: Raw) -> dict[str, Raw]:
    try:
        return _object.decode(value)
    except msgspec.DecodeError:
        return {}


def _read(value: Raw) -> str:
    """Empty for what is no text, and no URI then."""
    try:
        return _text.decode(value)
    except msgspec.DecodeError:
        return ""
