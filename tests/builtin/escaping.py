"""A script that tries to leave its cell, and what it got: written into the workspace, where it may write."""

import os
import socket
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from msgspec import Struct

from clawft.sandbox.probe import probe

needs_bubblewrap = pytest.mark.skipif(
    probe().level != "bwrap", reason="no bubblewrap that works here: the cells of built-in families are NOT tested"
)

SCRIPT = """
import socket, sys
got = []
def tries(name, attempt):
    try:
        attempt()
        got.append(name)
    except OSError:
        pass
tries("secret", lambda: open("{home}/.aws/credentials").read())
tries("login", lambda: open("{home}/.profile", "a").close())
tries("", lambda: open("{outside}/mark", "w").close())
tries("network", lambda: socket.create_connection(("127.0.0.1", {port}), 5).close())
tries("workspace", lambda: open("{workspace}/mark", "w").close())
open("{workspace}/got", "w").write(" ".join(got))
"""

EVERYTHING = {"secret", "login", "outside", "network", "workspace"}


class Escape(Struct, frozen=True):
    """`command` runs the script; `got()` tells what it got, and forgets it."""

    workspace: Path
    command: tuple[str, str]

    def got(self) -> set[str]:
        file = self.workspace / "got"
        found = set(file.read_text().split())
        file.unlink()
        outside = self.workspace.parent / "mark"  # seen from here: inside it may write to a /tmp of its own
        if outside.exists():
            outside.unlink()
            found.add("outside")
        return found


@contextmanager
def escaping(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Escape]:
    """In a home with a secret in it, with a service of the machine's own that can be reached."""
    home = workspace.parent / "user"
    (home / ".aws").mkdir(parents=True)
    (home / ".aws/credentials").write_text("a secret")
    monkeypatch.setenv("HOME", str(home))
    with socket.create_server(("127.0.0.1", 0)) as service:
        script = workspace / "escape.py"
        places = {"home": home, "outside": workspace.parent, "workspace": workspace}
        script.write_text(SCRIPT.format(port=service.getsockname()[1], **places))
        yield Escape(workspace, (os.path.realpath(sys.executable), str(script)))
