"""`python tests/auth/renewer.py FOLDER NAME CALLERS`: after a line from stdin, so many callers want a good token."""

import asyncio
import hashlib
import sys
from pathlib import Path

from clawft.auth.renewal import Renewal
from clawft.auth.vault import Vault


async def main(folder: str, name: str, callers: str) -> None:
    vault = Vault(Path(folder))
    login = (await vault.load(name))[0]
    print("READY", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    renewal = Renewal(vault)
    found = await asyncio.gather(*(renewal.fresh(name, login) for _ in range(int(callers))))
    for each in found:
        print(hashlib.sha256(each.tokens.access_token.encode()).hexdigest(), flush=True)


asyncio.run(main(*sys.argv[1:]))
