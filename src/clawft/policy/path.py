"""The part of judging a path that needs no file system."""

from pathlib import PurePath

from clawft.model import Allow, Deny, Verdict

MAX_PATH_BYTES = 4096
MAX_NAME_BYTES = 255


def decide(path: str) -> Verdict:
    """May this text be used as a path at all? Where it leads is decided after it has been resolved, by `inside`."""
    if not path:
        return Deny("path-empty", "the path is empty", "name a file or folder of the workspace")
    if "\0" in path:
        return Deny("path-null-byte", "the path contains a null byte", "remove the null byte")
    if _bytes(path) > MAX_PATH_BYTES or any(_bytes(name) > MAX_NAME_BYTES for name in _names(path)):
        limits = f"at most {MAX_PATH_BYTES} bytes, {MAX_NAME_BYTES} per name"
        return Deny("path-too-long", "the path is too long", f"use a shorter path: {limits}")
    return Allow("path")


def inside(resolved: str | PurePath, root: str | PurePath) -> bool:
    """Does a resolved path lie in the resolved `root`, or is it the root? Text that is not resolved never does."""
    path, top = PurePath(resolved), PurePath(root)
    if not path.is_absolute() or not top.is_absolute() or ".." in path.parts or ".." in top.parts:
        return False
    return path == top or top in path.parents


def _names(path: str) -> list[str]:
    return path.replace("\\", "/").split("/")


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
