"""Of calls that would put the same question at once, one puts it: whoever comes, and whenever."""

import asyncio

from clawft.guard.approval.turns import Turn, Turns
from tests.requirements import requirement

TURN: Turn = ("someone", "session", "agent", "server__tool", False)


class Desk:
    """Counts who stands at it."""

    def __init__(self) -> None:
        self.turns = Turns()
        self.inside = self.most = 0
        self.seen: list[str] = []

    async def ask(self, name: str, until: asyncio.Event) -> None:
        async with self.turns.taken(TURN):
            self.inside += 1
            self.most = max(self.most, self.inside)
            self.seen.append(name)
            await until.wait()
            self.inside -= 1


@requirement("POOL-18")
async def test_who_comes_while_the_turn_passes_on_waits_like_the_others() -> None:
    """The lock is free for a moment then, and was forgotten with those who waited for it."""
    interactive_logins, first_answered, others_answered = Desk(), asyncio.Event(), asyncio.Event()
    async with asyncio.TaskGroup() as tasks:
        first = tasks.create_task(interactive_logins.ask("first", first_answered))
        await asyncio.sleep(0)
        tasks.create_task(interactive_logins.ask("second", others_answered))
        await asyncio.sleep(0)
        first.add_done_callback(lambda _: tasks.create_task(interactive_logins.ask("newcomer", others_answered)))
        first_answered.set()
        for _ in range(20):  # turns of the loop: enough for the next, and for whoever would not wait
            await asyncio.sleep(0)
        assert (interactive_logins.inside, interactive_logins.most) == (1, 1)
        others_answered.set()
    assert sorted(interactive_logins.seen) == ["first", "newcomer", "second"]
    assert interactive_logins.most == 1


@requirement("POOL-18")
async def test_a_turn_that_nobody_wants_any_more_is_not_kept() -> None:
    """Nor that of who gave up waiting for it."""
    interactive_logins, answered = Desk(), asyncio.Event()
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(interactive_logins.ask("first", answered))
        await asyncio.sleep(0)
        gives_up = tasks.create_task(interactive_logins.ask("second", answered))
        await asyncio.sleep(0)
        gives_up.cancel()
        answered.set()
    assert interactive_logins.seen == ["first"]
    assert not interactive_logins.turns.locks
