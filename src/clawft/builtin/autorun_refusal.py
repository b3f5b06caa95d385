"""Refuses to write the files of a workspace that decide which programs run: git hooks, task files, our own settings."""

from clawft.builtin.confine import MAX_PATH_CHARS
from clawft.errors import PermissionDenied
from clawft.sandbox.autorun_files import is_autorun, may_bring_autorun

HINT = "a person edits it by hand"


def refuse_autorun(tool: str, path: str) -> None:
    if len(path) <= MAX_PATH_CHARS and is_autorun(path):  # no real path is longer
        raise PermissionDenied(tool, f"'{path}' decides what programs run", hint=HINT)


def refuse_autorun_folder(tool: str, path: str) -> None:
    """Refuse a folder whose contents somebody else chooses, such as a clone, if such files could come to lie in it."""
    if may_bring_autorun(path):
        raise PermissionDenied(
            tool, f"what lies in '{path}' decides what programs run", hint="choose a folder of another name"
        )
