"""One external server, as its calls, reads, questions and tasks share it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from clawft.model import LOCAL, Caller
from clawft.upstream.upstream import Upstream

if TYPE_CHECKING:  # loaded with the first call
    from clawft.provider.server.progress_following import ProgressFollowing
    from clawft.provider.server.question.handshake_questions import Roots
    from clawft.provider.server.question.parked_calls import ParkedCalls
    from clawft.provider.server.question.server_questions import ServerQuestions

PrivateUpstream = Callable[[str], Upstream]
"""Gives the private upstream of a conversation or person, by the key of its session."""


class RelayedServer:
    """The upstream each caller uses, and what all requests of all callers to this server have in common."""

    def __init__(
        self,
        upstream: Upstream,
        parked_calls: ParkedCalls,
        roots: Roots,
        visited: Callable[[str], None],
        own: PrivateUpstream | None = None,
    ) -> None:
        """`parked_calls` keeps calls whose agents went to find an answer, `roots` are the folders of this gateway.

        `visited` is called when a person is done at an address they were sent to. `own` is used only for a server that
        keeps its callers apart.
        """
        self.upstream = upstream
        self.spec = upstream.spec
        self.name = upstream.spec.name
        self.parked_calls = parked_calls
        self.roots = roots
        self.visited = visited
        self._own = own if upstream.spec.isolation == "per-session" else None
        self._following: ProgressFollowing | None = None
        self._questions: ServerQuestions | None = None

    @property
    def keeps_callers_apart(self) -> bool:
        return self._own is not None

    def upstream_of(self, caller: Caller) -> Upstream:
        """The shared upstream, or this caller's own where callers are kept apart."""
        if self._own is None:
            return self.upstream
        key = _session_key(caller)
        return self._own(key) if key else self.upstream

    # ── loaded with the first call: no cached properties, which make all that is read for each call slower to find ────

    @property
    def following(self) -> ProgressFollowing:
        if self._following is None:
            from clawft.provider.server.progress_following import ProgressFollowing

            self._following = ProgressFollowing()
        return self._following

    @property
    def questions(self) -> ServerQuestions:
        if self._questions is None:
            from clawft.provider.server.question.server_questions import ServerQuestions

            self._questions = ServerQuestions(self)
        return self._questions


def _session_key(caller: Caller) -> str:
    """The key of a caller's own session: its conversation, else its person.

    Empty outside a conversation for the user of this machine and their delegates, who use the shared session then.
    """
    at_home = caller.principal == LOCAL or caller.principal.startswith(f"{LOCAL}/")
    return caller.session or ("" if at_home else f"of {caller.principal}")
