"""The offers of servers as they were last time, on disk: tools are listed from here before a child is up."""

import hashlib
import logging
import time
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Raw, Struct

from clawft.store.private_files import private_dir, read_plain, write_private
from clawft.upstream.spec import UpstreamSpec

TTL_SECONDS = 300.0
MAX_FILE_BYTES = 16 * 1024 * 1024
"""The longest file that is read. We write no longer one: no server has so much room."""

log = logging.getLogger("clawft.upstream")


class RememberedOffer(Struct):
    """One server's answers. `fingerprint` ties them to the spec they came from."""

    fingerprint: str
    stored: float
    era: Literal["handshake", "stateless"]
    tools: list[Raw] = []
    resources: list[Raw] = []
    templates: list[Raw] = []
    prompts: list[Raw] = []
    instructions: str = ""
    tasks: bool = False
    """Whether calls can become tasks there."""


class _Head(Struct):
    """The part of an offer that has to be known all the time."""

    fingerprint: str
    stored: float
    era: Literal["handshake", "stateless"]


_remembered = msgspec.json.Decoder(RememberedOffer)


def fingerprint(spec: UpstreamSpec) -> str:
    """The identity of the server: where it is and how it is started, not how we treat it."""
    identity = (spec.command, spec.args, spec.url, sorted(spec.env), sorted(spec.headers), spec.cwd)
    return hashlib.sha256(msgspec.json.encode(identity)).hexdigest()[:32]


def folder(home: Path) -> Path:
    return home / "cache" / "servers"


class SchemaCache:
    """One file per server. Old answers are still good for listing; only fresh ones save asking again.

    Without a folder nothing is written: what one person was told is for nobody else.
    """

    def __init__(self, folder: Path | None, ttl: float = TTL_SECONDS) -> None:
        self._folder = folder
        self._ttl = ttl
        self._known: dict[str, _Head] = {}
        """The answers themselves are with whoever offers them, and on disk."""

    def get(self, spec: UpstreamSpec) -> RememberedOffer | None:
        """The last answers of this very server, however old."""
        found = self._load(spec.name)
        return found if found is not None and found.fingerprint == fingerprint(spec) else None

    def last(self, name: str) -> RememberedOffer | None:
        """The last answers of whatever server had this name."""
        return self._load(name)

    def era(self, spec: UpstreamSpec) -> str | None:
        """The era that this very server spoke when it answered last."""
        found = self._head(spec)
        return found.era if found is not None else None

    def is_fresh(self, spec: UpstreamSpec) -> bool:
        found = self._head(spec)
        return found is not None and 0 <= time.time() - found.stored < self._ttl

    def _head(self, spec: UpstreamSpec) -> _Head | None:
        if spec.name not in self._known:
            self._load(spec.name)
        found = self._known.get(spec.name)
        return found if found is not None and found.fingerprint == fingerprint(spec) else None

    def put(self, spec: UpstreamSpec, answers: RememberedOffer) -> None:
        self._known[spec.name] = _Head(answers.fingerprint, answers.stored, answers.era)
        if self._folder is None:
            return
        try:
            private_dir(self._folder)
            write_private(_path(self._folder, spec.name), msgspec.json.encode(answers), sync=False)
        except OSError as failed:  # a full disk costs the next start some time, and this one nothing
            log.warning("the lists of %s cannot be stored: %s", spec.name, failed)

    def invalidate(self, name: str) -> None:
        """The list has changed: ask again next time, keep the old one for listing meanwhile."""
        if name not in self._known:
            self._load(name)
        if name in self._known:
            self._known[name].stored = 0.0

    def invalidate_all(self) -> None:
        for name in list(self._known):
            self.invalidate(name)

    def _load(self, name: str) -> RememberedOffer | None:
        if self._folder is None:
            return None
        try:
            found = _remembered.decode(read_plain(_path(self._folder, name), MAX_FILE_BYTES))
        except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None
        self._known.setdefault(name, _Head(found.fingerprint, found.stored, found.era))
        return found


def _path(folder: Path, name: str) -> Path:
    return folder / f"{name}.json"
