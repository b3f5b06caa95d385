"""Approval of launches: what a workspace server would start, and whether the person has approved that.

An approval pins the program by path and content, its arguments and variables with the scripts they name, its folder and
its sandbox; for an address the address and the headers. Values that look like secrets are pinned by their digest and
never shown; code, and the names of secrets, always are.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from clawft.builtin.start_server import WaitingServer
from clawft.config.layers import FoundServer, Sources
from clawft.config.scripts import code, digest, digest_of, digests, read_pinned, scripts
from clawft.config.secrecy import masked_values, read_url, read_words, told_by_digest
from clawft.error_words import quoted
from clawft.errors import SpawnFailed
from clawft.guard.approval.book import Approvals
from clawft.policy.approval import ANYONE, Approval, ApprovalStanding, PinnedUse, approval_of, judge
from clawft.policy.launch import code_loading_variables
from clawft.policy.pin import ShownText, pin, read_shown
from clawft.sandbox.pinned_file import PinnedFile, stamp
from clawft.upstream.spec import UpstreamSpec
from clawft.wire.shapes import members

MISSING = "there is no such program"
NOTHING: Mapping[str, str] = {}
MAX_PROGRAM_BYTES = 1024 * 1024 * 1024
"""Size of a program whose content is pinned; node, for one, has a tenth of it."""


def approved_launches(book: Approvals, sources: Sources) -> Callable[[FoundServer], bool]:
    """A function that tells whether a server of this workspace may be started as it is written now."""
    book.look()

    def approved(found: FoundServer) -> bool:
        return standing(book, found, sources) is ApprovalStanding.APPROVED

    return approved


def standing(
    book: Approvals, found: FoundServer, sources: Sources, held: Mapping[str, str] = NOTHING
) -> ApprovalStanding:
    """How the launch stands in the book. The program is read only if needed: some launch is approved, and its file was
    touched.

    `held`: digests of files that were read already.
    """
    known = [each for each in book.of(found.spec.name) if not each.tool]
    if not known:
        return ApprovalStanding.UNKNOWN
    return max((_judged(each, book, found, sources, held) for each in known), key=_RANK.__getitem__)


def has_changed(book: Approvals, found: FoundServer, sources: Sources) -> bool:
    """Whether it waits because it differs from what was approved."""
    return standing(book, found, sources) is ApprovalStanding.CHANGED


_RANK = {
    ApprovalStanding.UNKNOWN: 0,
    ApprovalStanding.NEW: 1,
    ApprovalStanding.CHANGED: 2,
    ApprovalStanding.APPROVED: 3,
}


def _judged(
    known: Approval, book: Approvals, found: FoundServer, sources: Sources, held: Mapping[str, str]
) -> ApprovalStanding:
    shown = shown_launch(found, known, held)
    use = PinnedUse(found.spec.name, "", pin(shown), sources.agent, str(sources.workspace))
    return judge([known], use, book.clock()).standing


def launch_approval(
    found: FoundServer, sources: Sources, now: float, expires: float | None = None, agent: str = ANYONE
) -> Approval:
    """An approval for this workspace alone, whatever other ones say in the same words."""
    before = _stamp(found.spec)
    shown, workspace = shown_launch(found), str(sources.workspace)
    approval = approval_of(found.spec.name, "", shown, now, expires=expires, agent=agent, workspace=workspace)
    is_of_shown = _stamp(found.spec) == before  # else it is unclear which of two states was shown
    return msgspec.structs.replace(approval, stamp=before if is_of_shown else "")


def shown_launch(found: FoundServer, known: Approval | None = None, held: Mapping[str, str] = NOTHING) -> ShownText:
    """The launch that would be started. `known`: contents of untouched files are taken from this approval."""
    spec = found.spec
    sandbox: Any = msgspec.to_builtins(spec.sandbox)
    if spec.command:
        return {
            "command": spec.command,
            **_contents(spec, known, held),
            "args": read_words(spec.args),
            "env": masked_values(spec.env, told_by_digest),
            **_careful(spec),
            "cwd": spec.cwd,
            "sandbox": sandbox,
        }
    return {"url": read_url(spec.url), "headers": masked_values(spec.headers, told_by_digest)}


def _careful(spec: UpstreamSpec) -> dict[str, str]:
    """A warning about variables that load code, which are easily overlooked."""
    found = code_loading_variables(spec.env)
    return {"careful": f"by {', '.join(found)} it can be made to run other code"} if found else {}


def _contents(spec: UpstreamSpec, known: Approval | None, held: Mapping[str, str]) -> dict[str, Any]:
    """The digests of the files that would be run."""
    program, found = _program(spec.command), scripts(spec.command, spec.args, spec.cwd, spec.env)
    read = _as_then(known, _stamp(spec)) or {"program": _digest(program), "scripts": digests(found)}
    exact = {name: held[path] for name, path in found.items() if path in held}
    named = {**members(read.get("scripts")), **exact}
    return {"program": held.get(program, read.get("program", MISSING)), **({"scripts": named} if named else {})}


def _as_then(known: Approval | None, now: str) -> ShownText:
    """The digests in the approval; empty if a file was touched since."""
    if known is None or not now or known.stamp != now or known.shown is msgspec.UNSET:
        return {}
    return read_shown(bytes(known.shown))


def _program(command: str) -> str:
    return command if os.path.isabs(command) else shutil.which(command) or command


def _stamp(spec: UpstreamSpec) -> str:
    """The state of all files that would be run; empty if one is missing."""
    files = (
        (_program(spec.command), *scripts(spec.command, spec.args, spec.cwd, spec.env).values()) if spec.command else ()
    )
    stamps = [stamp(file) for file in files]
    return "|".join(stamps) if all(stamps) else ""


def _digest(program: str) -> str:
    try:
        return digest(program, MAX_PROGRAM_BYTES)
    except OSError:
        return MISSING


def grant_command(name: str, found: FoundServer, here: Path | None = None) -> str:
    """The command that approves the launch from any folder; shorter if it is typed `here`."""
    file = Path(found.origin.file)
    workspace = file.parent.parent if file.parent.name == ".clawft" else file.parent
    place = "" if workspace == here else f" --workspace {quoted(workspace)}"
    return f"weft approvals grant {name}{place}"


def cleared(book: Approvals, found: FoundServer, sources: Sources) -> tuple[PinnedFile, ...]:
    """The files to start it with. Raises SpawnFailed if they are not as approved.

    The content that was checked is kept, as the files may change before the start.
    """
    book.look()
    files = _pinned(found.spec, str(sources.workspace)) if found.spec.command else ()
    held = {file.path: digest_of(file.content) for file in files if file.content is not None}
    if standing(book, found, sources, held) is ApprovalStanding.APPROVED:
        return files
    name = found.spec.name
    raise SpawnFailed(f"{name} is not the launch you approved", hint=grant_command(name, found))


def _pinned(spec: UpstreamSpec, workspace: str) -> tuple[PinnedFile, ...]:
    named = code(spec.command, spec.args, spec.cwd, spec.env).values()
    return tuple(read_pinned((_program(spec.command), *named), os.path.realpath(workspace)))


def waiting_launch(name: str, found: FoundServer, *, changed: bool) -> WaitingServer:
    """A waiting server, as the person is asked about it."""
    shown = shown_launch(found)
    lines = [f"{key}: {_plain(value)}" for key, value in shown.items()]
    return WaitingServer(name, str(found.origin), lines, pin(shown), grant_command(name, found), changed)


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
