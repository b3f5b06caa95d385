"""Guards are composed once, in reading order; permission says the same on lists and calls."""

import pytest

from clawft.errors import ToolNotFound
from clawft.guard.permission import Permission, unknown
from clawft.guard.pipeline import Finish, Guard
from clawft.guard.side_duties import ListGuard
from clawft.model import Call, Caller, Grant, Next, Origin, Reply, Tool
from clawft.model.protocols import is_of
from tests.guard.support import answers, call, way
from tests.requirements import requirement


class Noted:
    """A guard that writes down when it is passed."""

    def __init__(self, name: str, notes: list[str], *, applies: bool = True) -> None:
        self._name = name
        self._notes = notes
        self._applies = applies
        self.asked = 0

    def applies(self, tool: Tool, origin: Origin) -> bool:
        self.asked += 1
        return self._applies

    async def __call__(self, call: Call, after: Next) -> Reply:
        self._notes.append(f"{self._name} in")
        reply = await after(call)
        self._notes.append(f"{self._name} out")
        return reply


@requirement("GUARD-01")
async def test_the_first_of_the_list_is_outermost() -> None:
    notes: list[str] = []
    run = way([Noted("a", notes), Noted("b", notes)], lambda _: answers(Reply.text("done")))
    assert (await run(call())) == Reply.text("done")
    assert notes == ["a in", "b in", "b out", "a out"]


@requirement("GUARD-01")
async def test_a_guard_is_asked_once_whether_it_applies_and_left_out_if_not() -> None:
    notes: list[str] = []
    guard = Noted("a", notes, applies=False)
    run = way([guard], lambda _: answers(Reply.text("done")))
    await run(call())
    await run(call())
    assert (guard.asked, notes) == (1, [])


@requirement("GUARD-02", "T-7.20", "SHELL-10")
async def test_a_guard_may_answer_itself() -> None:
    async def end(call: Call) -> Reply:
        pytest.fail("the provider was reached")

    class No:
        def applies(self, tool: Tool, origin: Origin) -> bool:
            return True

        async def __call__(self, call: Call, after: Next) -> Reply:
            return Reply.error("no", refused="rule")

    assert (await way([No()], lambda _: end)(call())).refused == "rule"


@requirement("GUARD-01")
async def test_a_guard_of_replies_is_part_of_the_last_step_only_where_it_is_the_innermost() -> None:
    class Marking:
        def applies(self, tool: Tool, origin: Origin) -> bool:
            return True

        async def __call__(self, call: Call, after: Next) -> Reply:
            return self.finish(call, await after(call))

        def finish(self, call: Call, reply: Reply) -> Reply:
            return Reply(reply.result + b"!")

    def end(finish: Finish) -> Next:
        async def run(call: Call) -> Reply:
            return finish(call, Reply(b"last step"))

        return run

    notes: list[str] = []
    for guards in ([Noted("a", notes), Marking()], [Marking(), Noted("a", notes)]):
        assert (await way(guards, end)(call())).result == b"last step!"
    assert notes == ["a in", "a out"] * 2


# ── permission ───────────────────────────────────────────────────────────────────────────────────────────────────────

SPELLINGS = ("demo__echo", "mcp__demo__echo", "mcp:demo:echo", "echo_it")


def permission() -> Permission:
    return Permission(lambda canonical: SPELLINGS)


@requirement("GUARD-02")
def test_permission_has_a_list_side() -> None:
    guard: Guard = permission()
    assert is_of(guard, ListGuard)
    assert not is_of(Noted("a", []), ListGuard)


@requirement("GUARD-06", "GUARD-07", "T-7.10", "T-7.19", "AC-16")
@pytest.mark.parametrize(
    ("grant", "seen"),
    [
        (Grant(), True),
        (Grant(allow=("demo__*",)), True),
        (Grant(allow=("echo_it",)), True),
        (Grant(allow=("mcp__demo__echo",)), True),
        (Grant(allow=("mcp:demo:*",)), True),
        (Grant(allow=("other", "write_*")), False),
        (Grant(allow=()), False),
        (Grant(deny=("demo__echo",)), False),
        (Grant(deny=("echo_it",)), False),
        (Grant(deny=("mcp__*",)), False),
        (Grant(allow=("demo__echo",), deny=("*",)), False),
        (Grant(deny=("other",)), True),
    ],
)
async def test_one_rule_decides_what_is_listed_and_what_can_be_called(grant: Grant, seen: bool) -> None:
    guard, caller = permission(), Caller(grant=grant)
    assert guard.shows(SPELLINGS, caller) is seen
    for _ in range(2):  # the second time from memory
        if seen:
            assert await guard(call(caller=caller), answers(Reply.text("ok"))) == Reply.text("ok")
        else:
            with pytest.raises(ToolNotFound) as hidden:
                await guard(call(caller=caller), answers(Reply.text("ok")))
            assert str(hidden.value) == str(unknown("demo__echo"))


@requirement("GUARD-07")
async def test_what_is_remembered_follows_a_changed_catalog() -> None:
    """A tool that comes back under fewer names is judged by those it has now."""
    spellings: tuple[str, ...] = ("demo__echo", "echo_it")
    guard, caller = Permission(lambda canonical: spellings), Caller(grant=Grant(allow=("echo_it",)))
    await guard(call(caller=caller), answers(Reply.text("ok")))
    spellings = ("demo__echo",)
    with pytest.raises(ToolNotFound):
        await guard(call(caller=caller), answers(Reply.text("ok")))


@requirement("GUARD-07")
async def test_two_callers_are_not_taken_for_one_another() -> None:
    guard = permission()
    await guard(call(caller=Caller(grant=Grant())), answers(Reply.text("ok")))
    with pytest.raises(ToolNotFound):
        await guard(call(caller=Caller(grant=Grant(deny=("*",)))), answers(Reply.text("ok")))
