"""Obfuscated text, which a model reads but a person or a search does not, brought back to plain words. Pure.

| obfuscation | example |
|---|---|
| letters of another script, or wide ones | `Ignore` with a Cyrillic o |
| letters spread out | `I g n o r e` |
| an encoding | Base64, or hexadecimal digits |
"""

from __future__ import annotations

import base64
import binascii
import re
import unicodedata
from collections.abc import Iterator

MAX_DECODED = 8
"""How many encoded pieces of one text are decoded."""

_LOOK_ALIKES = str.maketrans(
    "аеорсухіјѕԁԛԝһкмтвнАВЕКМНОРСТХУІЈЅοαειικνρτυχγΑΒΕΖΗΙΚΜΝΟΡΤΥΧϲ",
    "aeopcyxijsdqwhkmtbhABEKMHOPCTXYIJSoaeiikvptuxyABEZHIKMNOPTYXc",
)
_MIXED = re.compile(r"\w{0,20}(?:[A-Za-z][\u0370-\u03ff\u0400-\u052f]|[\u0370-\u03ff\u0400-\u052f][A-Za-z])\w{0,20}")
_SPREAD = re.compile(r"(?<!\S)\w(?: {1,4}\w){7,2000}(?!\S)")
_BASE64 = re.compile(r"(?<![A-Za-z0-9+/=_-])[A-Za-z0-9+/_-]{24,4000}={0,2}(?![A-Za-z0-9+/=])")
_HEX = re.compile(r"(?<![0-9A-Za-z])(?:[0-9a-fA-F]{2}){20,2000}(?![0-9A-Za-z])")
_WORDS = re.compile(r"[ -~\s]+")
_FEWEST_BLANKS = 3


def mixed_script_word(text: str) -> str:
    """A word with letters of two scripts, which nobody writes by accident; empty if there is none."""
    found = _MIXED.search(text) if not text.isascii() else None
    return found.group() if found else ""


def without_disguise(text: str) -> str:
    """The text in plain letters: look-alikes replaced, spread-out words joined."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
        text = _MIXED.sub(lambda found: found.group().translate(_LOOK_ALIKES), text)
    return _SPREAD.sub(_together, text)


def _together(found: re.Match[str]) -> str:
    return " ".join(word.replace(" ", "") for word in re.split(r"\s{2,}", found.group()))


def decoded_sentences(text: str) -> Iterator[str]:
    """Sentences that are in the text as Base64 or hexadecimal digits."""
    pieces = [_from_base64(found.group()) for found, _ in zip(_BASE64.finditer(text), range(MAX_DECODED), strict=False)]
    pieces += [_from_hex(found.group()) for found, _ in zip(_HEX.finditer(text), range(MAX_DECODED), strict=False)]
    yield from (piece for piece in pieces if piece.count(" ") >= _FEWEST_BLANKS)


def _from_base64(piece: str) -> str:
    usual = piece.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return _readable(base64.b64decode(usual + "=" * (-len(usual) % 4)))
    except binascii.Error:
        return ""


def _from_hex(piece: str) -> str:
    return _readable(bytes.fromhex(piece))


def _readable(said: bytes) -> str:
    text = said.decode("ascii", "replace")
    return text if _WORDS.fullmatch(text) else ""
