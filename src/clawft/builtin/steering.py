"""What other programs run, or we ourselves, is decided in some files of a workspace: no tool writes those itself."""

from clawft.builtin.confine import MAX_PATH_CHARS
from clawft.errors import PermissionDenied
from clawft.sandbox.deciding import decides, may_bring_deciding

HINT = "a person edits it by hand"


def refuse_steering(tool: str, path: str) -> None:
    if len(path) <= MAX_PATH_CHARS and decides(path):  # nobody opens a longer one
        raise PermissionDenied(tool, f"'{path}' decides what programs run", hint=HINT)


def refuse_steering_folder(tool: str, path: str) -> None:
    """For a folder that is filled with what somebody else has chosen, such as a clone."""
    if may_bring_deciding(path):
        raise PermissionDenied(
            tool, f"what lies in '{path}' decides what programs run", hint="choose a folder of another name"
        )
