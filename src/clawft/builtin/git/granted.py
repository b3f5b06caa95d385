"""What can take commits from others, or work from the user, and so needs a word of theirs: once, or for good."""

from typing import Literal

from clawft.builtin.git.repo import Git
from clawft.errors import PermissionDenied

Destructive = Literal["push", "force"]

_FORM = {
    "type": "object",
    "properties": {"allow": {"type": "boolean", "title": "Do it this once", "default": False}},
    "required": ["allow"],
}


async def ensure_granted(git: Git, what: Destructive, doing: str) -> None:
    """Go on if the settings grant it, or the person allows this one time; PermissionDenied otherwise."""
    if what in git.settings.granted:
        return
    if git.ctx.caller.capabilities.elicit_form and await _person_allows(git, what, doing):
        return
    raise PermissionDenied(
        git.tool,
        f"{doing}, and nobody granted that",
        hint=f'if you want it without being asked, add "{what}" to git.allow in ~/.clawft/config.toml',
    )


async def _person_allows(git: Git, what: Destructive, doing: str) -> bool:
    answer = await git.ctx.elicit(f"weft_{what}", f"git {git.tool} {doing}. Do it this once?", _FORM)
    return answer == {"allow": True}
