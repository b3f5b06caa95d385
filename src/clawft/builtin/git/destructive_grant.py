"""Asks the user before commits of others, or the user's own work, can be lost: once, unless the settings grant it."""

from typing import Literal

from clawft.builtin.allowed_once import allowed_once
from clawft.builtin.git.repo import Git
from clawft.errors import PermissionDenied
from clawft.store.home import home

Destructive = Literal["push", "force"]


async def ensure_granted(git: Git, what: Destructive, doing: str) -> None:
    """Go on if the settings grant it, or the person allows it this once; PermissionDenied otherwise."""
    if what in git.settings.granted:
        return
    message = f"git {git.tool} {doing}. Do it this once?"
    if await allowed_once(git.ctx, f"weft_{what}", message, "Do it this once"):
        return
    raise PermissionDenied(
        git.tool,
        f"{doing}, which nobody has allowed",
        hint=f'if you want it without being asked, add "{what}" to git.allow in {home() / "config.toml"}',
    )
