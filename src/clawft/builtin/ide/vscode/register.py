"""The messages by which a window registers, and their validation."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta, Struct

from clawft.builtin.ide.model import Window
from clawft.builtin.ide.vscode.rendezvous import PROTOCOL

MAX_FOLDERS = 64
MIN_SECRET = 32
LOOPBACK = frozenset({"127.0.0.1", "::1"})

Text = Annotated[str, Meta(max_length=4096)]
Folders = Annotated[list[Text], Meta(max_length=MAX_FOLDERS)]


class Registration(Struct, rename="camel"):
    """A window's registration. `callback` None: it fetches its operations instead of being called."""

    protocol: int
    secret: Annotated[str, Meta(min_length=MIN_SECRET, max_length=256)]
    instance_id: Annotated[str, Meta(min_length=8, max_length=128, pattern=r"^[A-Za-z0-9_-]+$")]
    callback: Text | None = None
    ide: Text = "VS Code"
    version: Text = ""
    folders: Folders = []
    trusted: bool = True
    focused: bool = False
    capabilities: Annotated[list[Text], Meta(max_length=64)] = []


class Beat(Struct, rename="camel"):
    """A sign of life. `window`: the window itself has answered the extension just now."""

    connection_id: Text
    focused: bool = False
    window: bool = True
    folders: Folders | None = None
    trusted: bool = True
    dirty: Annotated[list[Text], Meta(max_length=1000)] | None = None
    events: Annotated[list[Text], Meta(max_length=100)] = []


class PostedAnswer(Struct, rename="camel"):
    connection_id: Text
    id: int
    answer: msgspec.Raw


class ConnectionRef(Struct, rename="camel"):
    connection_id: Text


def objection(said: Registration) -> str:
    """Why this window is refused; empty if it is accepted."""
    if said.protocol != PROTOCOL:
        return f"protocol {said.protocol} is not spoken here, {PROTOCOL} is: update the extension or weft"
    if said.callback is not None and not is_loopback(said.callback):
        return "a callback must be http on 127.0.0.1 or [::1], with a port"
    return ""


def is_loopback(url: str) -> bool:
    """Whether the address is loopback, as a number: a name could be made to mean another machine."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return False
    plain = parts.scheme == "http" and parts.username is None and parts.password is None
    return plain and parts.hostname in LOOPBACK and bool(port) and not parts.query and not parts.fragment


def window_of(said: Registration) -> Window:
    return Window(
        f"vscode-{said.instance_id[:12]}",
        said.ide,
        said.folders,
        said.version,
        focused=said.focused,
        trusted=said.trusted,
        capabilities=said.capabilities,
    )
