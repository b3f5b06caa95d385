"""One line for every call, whatever becomes of it."""

import asyncio
import errno
import hashlib
from collections.abc import Sequence
from datetime import datetime

import pytest

from clawft.errors import Busy, ExecutionFailed, ToolNotFound
from clawft.guard import audit
from clawft.guard.audit import Audit
from clawft.model import Caller, InputRequired, Kind, Reply
from tests.guard.support import Lines, answers, call, raises
from tests.requirements import requirement


@requirement("GUARD-10", "T-7.12")
async def test_a_line_says_who_did_what_and_how_it_went() -> None:
    lines = Lines()
    guard = Audit(lines)
    asked = call(b'{"secret":"s3cret"}', caller=Caller("ada", "bot", "client/1"), server="github")
    await guard(asked, answers(Reply.text("hello")))
    guard.close()
    (line,) = lines.all
    assert datetime.fromisoformat(line.pop("time")).tzinfo is not None
    assert line.pop("ms") >= 0
    assert line.pop("id")
    assert line == {
        "caller": "ada",
        "agent": "bot",
        "client": "client/1",
        "tool": "demo__echo",
        "verdict": "allow",
        "outcome": "ok",
        "bytes_in": len(b'{"secret":"s3cret"}'),
        "bytes_out": len(Reply.text("hello").result),
        "digest": hashlib.sha256(b'{"secret":"s3cret"}').hexdigest()[:32],
        "server": "github",
        "trusted": False,
    }


@requirement("GUARD-10")
async def test_values_are_written_only_if_configured_and_never_without_bound() -> None:
    lines = Lines()
    guard = Audit(lines, values=True)
    await guard(call(b'{"n":1.10}'), answers(Reply.text("")))
    await guard(call(b'{"n":"' + b"x" * 70_000 + b'"}'), answers(Reply.text("")))
    guard.close()
    assert [line.get("arguments") for line in lines.all] == [{"n": 1.1}, None]


@requirement("GUARD-10")
async def test_a_name_that_is_no_text_costs_no_line() -> None:
    lines = Lines()
    guard = Audit(lines)
    await guard(call(caller=Caller("ada")), answers(Reply.text("")))
    await guard(call(caller=Caller("ada", client="odd\udcff")), answers(Reply.text("")))
    guard.close()
    assert [line["client"] for line in lines.all] == ["", "odd?"]


@requirement("GUARD-10")
@pytest.mark.parametrize(
    ("reply", "verdict", "outcome"),
    [
        (Reply.error("broke"), "allow", "error"),
        (Reply.error("no", refused="command:rm"), "deny:command:rm", "error"),
        (Reply(b"{}", kind=Kind.TASK), "allow", "task"),
        (Reply(b"{}", kind=Kind.INPUT_REQUIRED), "allow", "input_required"),
    ],
)
async def test_every_kind_of_answer_leaves_its_line(reply: Reply, verdict: str, outcome: str) -> None:
    lines = Lines()
    guard = Audit(lines)
    assert await guard(call(), answers(reply)) is reply
    guard.close()
    assert [(line["verdict"], line["outcome"]) for line in lines.all] == [(verdict, outcome)]


@requirement("GUARD-10")
@pytest.mark.parametrize(
    ("error", "verdict", "outcome"),
    [
        (ToolNotFound("x"), "hidden", "failed:ToolNotFound"),
        (ExecutionFailed("x"), "allow", "failed:ExecutionFailed"),
        (ValueError("x"), "allow", "failed:ValueError"),
        (asyncio.CancelledError(), "allow", "cancelled"),
        (InputRequired({}), "allow", "interrupted:InputRequired"),
    ],
)
async def test_every_way_to_end_leaves_its_line(error: BaseException, verdict: str, outcome: str) -> None:
    lines = Lines()
    guard = Audit(lines)
    with pytest.raises(type(error)):
        await guard(call(), raises(error))
    guard.close()
    assert [(line["verdict"], line["outcome"]) for line in lines.all] == [(verdict, outcome)]


@requirement("GUARD-11")
async def test_lines_are_written_in_batches_off_the_path_of_the_call() -> None:
    lines = Lines()
    guard = Audit(lines)
    for _ in range(50):
        await guard(call(), answers(Reply.text("")))
    assert lines.all == []
    guard.flush()
    assert [len(batch) for batch in lines.batches] == [50]
    guard.close()


@requirement("GUARD-11")
async def test_a_batch_is_written_by_itself_after_a_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit, "FLUSH_SECONDS", 0)
    written = asyncio.Event()
    loop = asyncio.get_running_loop()

    class Telling(Lines):
        def append(self, entries: object, seconds: float) -> None:
            loop.call_soon_threadsafe(written.set)

    guard = Audit(Telling())
    for _ in range(2):  # a program may go on after a close, and close again
        written.clear()
        await guard(call(), answers(Reply.text("")))
        async with asyncio.timeout(5):
            await written.wait()
        guard.close()


@requirement("GUARD-11")
async def test_nothing_is_lost_on_close_and_the_order_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit, "FLUSH_SECONDS", 0)
    lines = Lines()
    guard = Audit(lines)
    for number in range(300):
        await guard(call(b"%d" % number), answers(Reply.text("")))
        if number % 50 == 0:
            await asyncio.sleep(0)
    guard.close()
    numbers = [int(line["id"].rpartition("-")[2]) for line in lines.all]
    assert numbers == list(range(1, 301))
    assert [line["digest"] for line in lines.all] == [
        hashlib.sha256(b"%d" % number).hexdigest()[:32] for number in range(300)
    ]


@requirement("GUARD-11")
async def test_a_burst_costs_time_and_never_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit, "MAX_WAITING", 10)
    lines = Lines()
    guard = Audit(lines)
    for _ in range(25):
        await guard(call(), answers(Reply.text("")))
    assert len(lines.all) == 20
    guard.close()
    assert len(lines.all) == 25


@requirement("GUARD-11")
async def test_a_sink_that_fails_does_not_fail_the_call(caplog: pytest.LogCaptureFixture) -> None:
    class Full(Lines):
        def append(self, entries: object, seconds: float) -> None:
            raise OSError("disk full")

    guard = Audit(Full())
    assert await guard(call(), answers(Reply.text("ok"))) == Reply.text("ok")
    guard.close()
    assert "disk full" in caplog.text


class FullDisk(Lines):
    """Until somebody makes room."""

    full = True

    def append(self, entries: Sequence[bytes], seconds: float) -> None:
        if self.full:
            raise OSError(errno.ENOSPC, "No space left on device")
        super().append(entries, seconds)


@requirement("GUARD-11")
async def test_lines_wait_for_room_on_the_disk(caplog: pytest.LogCaptureFixture) -> None:
    lines = FullDisk()
    guard = Audit(lines)
    for _ in range(3):
        await guard(call(), answers(Reply.text("")))
    guard._write_or_hold(guard._waiting)  # pyright: ignore[reportPrivateUsage] - what its timer does in a thread
    guard._write_or_hold([])  # pyright: ignore[reportPrivateUsage] - and again a moment later
    assert caplog.text.count("No space left on device") == 1
    guard._waiting, lines.full = [], False  # pyright: ignore[reportPrivateUsage]
    guard.close()
    assert [int(line["id"].rpartition("-")[2]) for line in lines.all] == [1, 2, 3]


@requirement("GUARD-11")
async def test_lines_that_had_to_be_given_up_are_a_line_themselves() -> None:
    lines = FullDisk()
    guard = Audit(lines)
    for _ in range(3):
        await guard(call(), answers(Reply.text("")))
    guard.flush()
    lines.full = False
    await guard(call(), answers(Reply.text("")))
    guard.close()
    assert [(line["tool"], line["outcome"]) for line in lines.all] == [
        ("weft audit", "lost:3 lines"),
        ("demo__echo", "ok"),
    ]


class HeldUp(Lines):
    """Somebody else holds the journal for as long as `held` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.held = True
        self.patience: list[float] = []
        self.tried: asyncio.Queue[bool] = asyncio.Queue()
        self._loop = asyncio.get_running_loop()

    def append(self, entries: Sequence[bytes], seconds: float) -> None:
        self.patience.append(seconds)
        self._loop.call_soon_threadsafe(self.tried.put_nowait, not self.held)
        if self.held:
            raise Busy("held")
        super().append(entries, seconds)


@requirement("GUARD-11")
async def test_lines_wait_for_whoever_holds_the_journal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit, "FLUSH_SECONDS", 0)
    lines = HeldUp()
    guard = Audit(lines)
    async with asyncio.timeout(5):
        for _ in range(3):
            await guard(call(), answers(Reply.text("")))
            await lines.tried.get()
        lines.held = False
        while not await lines.tried.get():
            pass
    guard.close()
    assert [int(line["id"].rpartition("-")[2]) for line in lines.all] == [1, 2, 3]


@requirement("GUARD-11", "SHELL-14")
async def test_the_end_does_not_wait_long_for_whoever_holds_the_journal(caplog: pytest.LogCaptureFixture) -> None:
    lines = HeldUp()
    guard = Audit(lines)
    for _ in range(3):
        await guard(call(), answers(Reply.text("")))
    guard.close()
    assert sum(lines.patience) + audit.PATIENCE_SECONDS < 1.0
    assert "3 lines could not be written: held" in caplog.text


@requirement("GUARD-11", "QUAL-12")
async def test_lines_that_are_held_up_have_a_bound(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(audit, "FLUSH_SECONDS", 0)
    monkeypatch.setattr(audit, "MAX_WAITING", 3)
    lines = HeldUp()
    guard = Audit(lines)
    async with asyncio.timeout(5):
        while "lines could not be written: held" not in caplog.text:
            await guard(call(), answers(Reply.text("")))
            await lines.tried.get()
    guard.close()
    assert audit.PATIENCE_SECONDS in lines.patience
