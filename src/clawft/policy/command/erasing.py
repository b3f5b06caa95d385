"""Finds the folders that a command would erase with everything inside: by deleting, moving away, or syncing from an
empty folder. Pure.

To add a program: its name in a set, or a case of `erased`.
"""

from itertools import pairwise

from clawft.policy.command.embedded_scripts import option_values
from clawft.policy.command.parsed_command import Command
from clawft.policy.command.place import place
from clawft.policy.command.program import EXEC, is_opaque, searched

_ERASERS = frozenset({"rm", "srm", "grm", "remove-item"})
_ERASES_ALWAYS = frozenset({"rimraf", "shred", "wipe", "trash"})
_ERASES_FILES = _ERASERS | _ERASES_ALWAYS | {"unlink"}


def erased(command: Command) -> list[str]:
    """The paths that it would erase, as words relative to the folder it runs in."""
    name = command.name
    if name in _ERASES_ALWAYS:
        return command.operands()
    if (name in _ERASERS or is_opaque(command)) and command.has_flag("rR", "--recursive"):
        return command.operands()
    if name in _ERASES_FILES:
        return _fed_by_search(command)
    match name:
        case "find" | "gfind" if _erases_found(command):
            return searched(command)
        case "mv" | "gmv":
            return command.operands()[:-1]
        case "rsync" if any(option.startswith("--del") for option in command.options()):
            return command.operands()[-1:]
        case "git":
            return _cleaned(command)
        case _:
            return []


def _fed_by_search(command: Command) -> list[str]:
    """The operands that come from a `find` through `xargs`."""
    found = {where for stage in command.fed_by if stage.name in ("find", "gfind") for where in searched(stage)}
    return [word for word in command.operands() if word in found]


def _erases_found(command: Command) -> bool:
    """Whether a `find` deletes what it finds: file by file that is everything, even if folders stay."""
    runs = (program for before, program in pairwise(command.words) if before in EXEC)
    return "-delete" in command.arguments or any(name.rpartition("/")[2] in _ERASES_FILES for name in runs)


def _cleaned(command: Command) -> list[str]:
    """The folders whose uncommitted files `git clean` would delete: its operands, or where it runs."""
    operands = command.operands()
    at = operands.index("clean") if "clean" in operands else -1
    if at < 0 or not (command.has_flag("f", "--force") and command.has_flag("d")) or command.has_flag("n", "--dry-run"):
        return []
    folder = next(option_values(command.words, "-C"), "")
    return [place(word, folder) if folder else word for word in operands[at + 1 :] or ["."]]
