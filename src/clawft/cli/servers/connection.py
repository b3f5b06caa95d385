"""A connection to one server with nothing remembered, and what became of it."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

from clawft.app import App
from clawft.cli.screen.reply import WaitingTalk
from clawft.cli.servers.sandbox_hint import hint_for
from clawft.cli.servers.timed_link import TimedLink
from clawft.errors import NotConnected
from clawft.link.base import Link
from clawft.link.process import kill_all
from clawft.upstream.cells import Cells
from clawft.upstream.links import links_to
from clawft.upstream.pool import Pool
from clawft.upstream.spec import UpstreamSpec
from clawft.upstream.status import ServerStatus

ANSWER_SECONDS = 30.0
"""How long a server may take to answer at all."""
TEST_SECONDS = 60.0
"""How long one that has may take to answer everything."""
GIVEN_UP = ("failed", "needs-auth")
"""States that waiting does not end."""


@asynccontextmanager
async def connected(
    app: App, spec: UpstreamSpec, steps: list[tuple[str, float]], cells: Cells | None = None
) -> AsyncGenerator[Pool]:
    """In a pool of its own with nothing remembered, so that every step is really taken."""
    links: list[TimedLink] = []
    held = cells or Cells(app.settings.home, app.settings.workspace)

    def timed(spec: UpstreamSpec) -> list[Callable[[], Link]]:
        ways = links_to(spec, cells=held, login_to=app.logins.to_servers.credentials)
        return [lambda way=way: cast("Link", kept(TimedLink(way(), steps))) for way in ways]

    def kept(link: TimedLink) -> TimedLink:
        links.append(link)
        return link

    logging.getLogger("clawft").setLevel(logging.CRITICAL)  # the reason is told once, as an error
    with tempfile.TemporaryDirectory() as folder:
        pool = Pool(Path(folder), timed, [{"uri": app.settings.workspace.as_uri(), "name": "workspace"}])
        try:
            await pool.set_servers({spec.name: spec})
            what = f"connecting to {spec.name}, {ANSWER_SECONDS:g} s at most for its first answer"
            await WaitingTalk(what).during(_settled(pool, spec.name))
            if _is_silent(pool, spec.name):
                raise _gives_no_answer(spec, links[-1].last_words() if links else "")
            yield pool
        finally:
            if cells is None and _is_silent(pool, spec.name):
                kill_all()  # it answers nothing, and would not hear that it shall end
            await pool.close()


async def _settled(pool: Pool, name: str) -> None:
    await pool.settled(ANSWER_SECONDS)
    if not _is_silent(pool, name):
        await pool.settled(TEST_SECONDS - ANSWER_SECONDS)


def _is_silent(pool: Pool, name: str) -> bool:
    """Whether it was asked, and has answered nothing yet."""
    status = pool.server_status(name)
    return bool(status.step) and not status.era


def _gives_no_answer(spec: UpstreamSpec, words: str) -> NotConnected:
    why = f"{spec.name}: no answer within {ANSWER_SECONDS:g} s"
    if words:
        return NotConnected(f"{why}; its last lines: {words}", hint=hint_for(spec, words) or debugging(spec))
    if not spec.command:
        return NotConnected(why, hint=debugging(spec))
    hint = "check that it is a stdio server; if it was still downloading what it needs, try once more"
    return NotConnected(f"{why}; it is running but has printed nothing", hint=hint)


def debugging(spec: UpstreamSpec) -> str:
    given = " --mcp-config …" if spec.scope == "command line" else ""
    return f"weft servers status {spec.name}{given} --mcp-debug shows what it does"


def outcome(pool: Pool, spec: UpstreamSpec) -> tuple[ServerStatus, dict[str, int]]:
    """How it is, and how much it offers. Raises NotConnected."""
    status, offer = pool.server_status(spec.name), pool.find(spec.name).offer
    if status.status != "connected" or offer is None:
        why = status.error or f"no answer within {TEST_SECONDS:g} s"
        if status.status in GIVEN_UP and why.endswith(")"):  # it ends with what to do
            why, _, step = why.removesuffix(")").rpartition(" (")
            raise NotConnected(f"{spec.name}: {why}", hint=step)
        raise NotConnected(f"{spec.name}: {why}", hint=hint_for(spec, why) or debugging(spec))
    offered = {"tools": len(status.tools), "prompts": len(offer.prompts), "resources": len(offer.resources)}
    return status, offered
