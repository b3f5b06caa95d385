"""Our log, as a person may see it."""

from __future__ import annotations

import logging

from clawft.cli.screen import one_line
from clawft.store.concealed_secrets import conceal
from clawft.wire.visible import visible_text

MAX_LOGGED_CHARS = 2_000
"""Of one warning: most of a longer one was written by somebody else."""


class _Concealing(logging.Formatter):
    """Conceals secrets in the log, and writes each record as one line that steers no terminal. A traceback is ours."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the name is the library's
        return one_line(conceal(super().formatMessage(record))[:MAX_LOGGED_CHARS])

    def format(self, record: logging.LogRecord) -> str:
        return visible_text(conceal(super().format(record)))


CONCEALING = _Concealing("weft: %(message)s")
