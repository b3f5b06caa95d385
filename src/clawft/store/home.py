"""The folder that holds everything of the user: `$CLAWFT_HOME`, or `~/.clawft`."""

import os
from pathlib import Path

from clawft.errors import InvalidConfig


def home() -> Path:
    """CLAWFT_HOME, or ~/.clawft. Raises InvalidConfig if it is the home of nobody we know.

    A HOME that is relative would have us take the files of whichever folder we are started in for the user's own.
    """
    written = os.environ.get("CLAWFT_HOME") or "~/.clawft"
    try:
        found = Path(written).expanduser()
    except RuntimeError:
        raise InvalidConfig(f"{written}: the home folder is unknown", hint="export CLAWFT_HOME=/a/folder") from None
    if written.startswith("~") and not found.is_absolute():
        raise InvalidConfig(
            f"{written} is {found}, as HOME is not an absolute path", hint="export CLAWFT_HOME=/a/folder"
        )
    return found.absolute()
