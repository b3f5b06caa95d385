"""`RunOutput`: the result of a run of any builder."""

from typing import Any

import msgspec
from msgspec import Struct

from clawft.builtin.build.report import Diagnostic, Tests


class RunOutput(Struct, frozen=True, kw_only=True):
    """How a run ended. A failed build is no error of the tool: `success` is false."""

    success: bool
    exit_code: int | None
    """None if it was ended by a signal."""
    stdout: str
    """The end of it, without what was parsed."""
    stderr: str
    """The end of it."""
    diagnostics: tuple[Diagnostic, ...] = ()
    """Each finding once, errors first."""
    tests: Tests | None = None
    timed_out: bool = False
    note: str = ""
    log: str = ""
    """The file with everything that had no room here, for file__read."""


def noted(told: RunOutput, words: str) -> RunOutput:
    return msgspec.structs.replace(told, note="; ".join(filter(None, (told.note, words))))


def fields_of(told: RunOutput) -> dict[str, Any]:
    """The fields, to build an output with further ones."""
    return {name: getattr(told, name) for name in told.__struct_fields__}
