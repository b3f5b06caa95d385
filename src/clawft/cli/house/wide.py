"""A workspace that holds the home folder: some programs start what they start in `/`, and nobody has chosen that."""

from __future__ import annotations

import os
from pathlib import Path

NARROWER = "--workspace DIR names the folder that they are to work in"


def told_if_wide(workspace: Path) -> str:
    """What that means; empty for a workspace like any other."""
    home = os.path.expanduser("~")
    if not os.path.isabs(home) or not Path(home).resolve().is_relative_to(workspace.resolve()):  # nobody may have one
        return ""
    return f"the workspace is {workspace.resolve()}: file tools read and write your home folder there, keys and all"


def warn_if_wide(workspace: Path) -> None:
    if wide := told_if_wide(workspace):
        from clawft.cli.screen import tell  # most workspaces are none

        tell(f"weft: {wide}; {NARROWER}")
