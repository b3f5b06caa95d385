"""Checks that a function's result matches its return annotation, as callers check it against the output schema.

The check is cheap for right results: the type of a text or a number, one decoding of what is sent for the rest.
"""

import logging
import math
from typing import Any

import msgspec

from clawft.errors import ExecutionFailed
from clawft.provider.result import Fits
from clawft.provider.schema import from_json

_log = logging.getLogger("clawft.tool")


def misfit(name: str, promised: str, value: Any, why: str = "") -> ExecutionFailed:
    """The error for the caller. The log names it too, for the author of the tool."""
    returned = repr(value) if isinstance(value, float) else type(value).__name__
    wrong = f"{name}: it says that it returns {promised}, and returned {returned}{f': {why}' if why else ''}"
    _log.error("tool %s", wrong)
    return ExecutionFailed(wrong, hint="this is a bug in the tool; the arguments may be right")


def fitting(hint: Any, name: str) -> Fits:
    """The check for results of one function."""
    promised = hint.__name__ if isinstance(hint, type) else str(hint)
    if hint in (int, bool):

        def is_exactly(value: Any, _: bytes) -> None:
            if type(value) is not hint:
                raise misfit(name, promised, value)

        return is_exactly
    return _read_back(hint, name, promised)


def _read_back(hint: Any, name: str, promised: str) -> Fits:
    decode = msgspec.json.Decoder(hint, dec_hook=from_json).decode

    def reads(value: Any, json: bytes) -> None:
        try:
            decode(json)
        except msgspec.ValidationError as wrong:
            if _wrote_otherwise(hint, value, wrong):
                return
            raise misfit(name, promised, value, _why(value, wrong)) from None

    return reads


def _wrote_otherwise(hint: Any, value: Any, wrong: msgspec.ValidationError) -> bool:
    """Whether a valid model encodes to a form it does not accept itself, as by other names: that is no misfit."""
    from clawft.provider.foreign import ModelRefused  # only for wrong results

    if not isinstance(wrong.__cause__, ModelRefused):
        return False
    try:
        msgspec.convert(value, hint, dec_hook=from_json, from_attributes=True)
    except msgspec.ValidationError:
        return False
    return True


def _why(value: Any, wrong: msgspec.ValidationError) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return "JSON has no such number"
    return str(wrong).replace("`", "")
