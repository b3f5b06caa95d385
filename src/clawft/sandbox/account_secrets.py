"""Finds secrets of the account outside `$HOME`: in its real home folder, and, for root, those of the system.

`$HOME` may name another folder than the home of the account. And a root user owns what only root may read: without its
powers it still opens its own files, such as the hashes of all passwords.
"""

from __future__ import annotations

import os
from functools import cache

from clawft.policy.secret_places import SECRETS, SYSTEM_SECRETS
from clawft.sandbox.settled_rules import present_in

ROOT = 0


def secrets_of_account(home: str) -> tuple[str, ...]:
    """Secrets in the real home folder of the account, if `home` is another one."""
    real = _home_of_account()
    return tuple(f"{real}/{name}" for name in present_in(real, SECRETS)) if real not in ("", "/", home) else ()


def secrets_of_system() -> tuple[str, ...]:
    """Secrets of the system that this account can open."""
    return tuple(filter(os.path.lexists, SYSTEM_SECRETS)) if _runs_as_root() else ()


@cache
def _home_of_account() -> str:
    import pwd  # not everywhere

    try:
        return os.path.realpath(pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError:
        return ""  # an account that nobody has entered, as in a container


def _runs_as_root() -> bool:
    return os.getuid() == ROOT
