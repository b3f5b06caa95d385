"""`python -m clawft` is `weft`."""

import sys

from clawft.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
