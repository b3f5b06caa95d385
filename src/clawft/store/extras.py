"""How to install an optional extra into the Python that runs here."""

from __future__ import annotations

import sys

from clawft.error_words import quoted


def how_to_install(extra: str) -> str:
    """A command that works whatever `pip` is on the PATH, and in whatever folder."""
    return f"{quoted(sys.executable)} -m pip install 'clawft[{extra}]'"
