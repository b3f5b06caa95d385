"""`python -m clawft.auth.renewal_process FOLDER NAME LOGIN`: renew one login and store it.

Started by `clawft.auth.renewal`. Secrets are neither on its command line nor in what it says.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import msgspec

from clawft.auth.endpoint import TokenRefused
from clawft.auth.renewal import RenewalFailure, renew_here
from clawft.auth.vault import Vault
from clawft.auth.web import NotReached
from clawft.errors import ClawftError
from clawft.store.concealed_secrets import conceal


def main(folder: str, name: str, login: str) -> int:
    try:
        asyncio.run(renew_here(Vault(Path(folder)), name, login))
    except ClawftError as failed:
        error = failed.error if isinstance(failed, TokenRefused) else ""
        # only here is it known which secret of the client's was sent: a server may repeat it
        failure = RenewalFailure(conceal(error), conceal(failed.message), reached=not isinstance(failed, NotReached))
        return _failed(failure)
    except OSError as failed:  # the disk, at the last moment
        return _failed(RenewalFailure("", f"the renewed login cannot be kept: {failed.filename}: {failed.strerror}"))
    return 0


def _failed(said: RenewalFailure) -> int:
    sys.stdout.buffer.write(msgspec.json.encode(said))
    return 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
