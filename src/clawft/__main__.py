"""`python -m clawft` is `weft`, and where both begin."""

from __future__ import annotations

import sys

INTERRUPTED = 130
"""As a shell calls it; what the command itself answers with is not loaded yet."""


def main() -> int:
    """Ctrl-C while the command is loaded ends it as quietly as later; before this line Python speaks for itself."""
    try:
        from clawft.cli import main as command  # the rest of the command: here it can be interrupted
    except KeyboardInterrupt:
        return INTERRUPTED
    return command.main()


if __name__ == "__main__":
    sys.exit(main())
