"""The book of approvals: private, whole, shared by every process, and never more generous than its file."""

import multiprocessing
import os
import tracemalloc
from pathlib import Path

import msgspec
import pytest

from clawft.errors import InvalidConfig
from clawft.guard.approval.book import MAX_FILE_BYTES, MAX_SHOWN_BYTES, Approvals, parse, read, write_out
from clawft.policy.approval import Approval, ApprovalStanding, PinnedUse
from tests.growth import grows_linearly
from tests.requirements import requirement

ECHO = Approval("s", "echo", "sha256:one", granted=1.0, shown=msgspec.Raw(b'{"name":"echo"}'))
USE = PinnedUse("s", "echo", "sha256:one")
WRITERS = 6
EACH = 10


def stands(book: Approvals) -> ApprovalStanding:
    book.look()
    return book.judge(USE).standing


@requirement("POOL-20")
def test_what_is_added_is_private_and_there_for_the_next(home: Path) -> None:
    Approvals(home).add(ECHO)
    assert (home / "approvals.json").stat().st_mode & 0o777 == 0o600
    again = Approvals(home)
    assert stands(again) is ApprovalStanding.APPROVED
    assert again.all() == [ECHO]


@requirement("POOL-20")
def test_half_a_file_of_somebody_who_was_killed_goes_when_it_is_old(home: Path) -> None:
    """Others have locks of their own for what they write here: what is new may be theirs."""
    home.mkdir(exist_ok=True)
    old, new = home / ".tmp-0123", home / ".tmp-4567"
    for half in (old, new):
        half.write_text("{")
    os.utime(old, (1, 1))
    Approvals(home).add(Approval("s", "a", "sha256:1"))
    assert (old.exists(), new.exists()) == (False, True)


@requirement("POOL-20")
def test_a_running_book_sees_what_others_write(home: Path) -> None:
    mine, other = Approvals(home), Approvals(home)
    told: list[bool] = []
    mine.changed = lambda: told.append(True)
    assert stands(mine) is ApprovalStanding.UNKNOWN
    other.add(ECHO)
    assert stands(mine) is ApprovalStanding.APPROVED
    assert not mine.look()
    other.change(lambda known: ())
    assert stands(mine) is ApprovalStanding.UNKNOWN
    assert len(told) == 3


@requirement("POOL-20")
def test_an_approval_runs_out_without_anybody_writing(home: Path) -> None:
    now = [100.0]
    book = Approvals(home, clock=lambda: now[0])
    book.add(msgspec.structs.replace(ECHO, expires=150.0))
    assert stands(book) is ApprovalStanding.APPROVED
    now[0] = 150.0
    assert book.look()
    assert book.judge(USE).standing is ApprovalStanding.UNKNOWN
    book.add(msgspec.structs.replace(ECHO, server="t"))
    assert [each.server for each in read(book.path)] == ["t"]


def add_many(home: str, who: int, count: int) -> None:
    for number in range(count):
        Approvals(Path(home)).add(Approval(f"s{who}", f"t{number}", "sha256:x"))


@pytest.mark.slow
@requirement("POOL-20")
def test_processes_that_write_at_once_lose_nothing(home: Path) -> None:
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=add_many, args=(str(home), who, EACH)) for who in range(WRITERS)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
    assert [writer.exitcode for writer in writers] == [0] * WRITERS
    assert len(Approvals(home).all()) == WRITERS * EACH
    assert sorted(path.name for path in home.iterdir()) == ["approvals.json", "approvals.lock"]


@requirement("POOL-20")
@pytest.mark.parametrize("mode", [0o666, 0o620, 0o602])
def test_a_file_that_others_can_write_approves_nothing(home: Path, mode: int) -> None:
    book = Approvals(home)
    book.add(ECHO)
    os.chmod(book.path, mode)
    assert stands(book) is ApprovalStanding.UNKNOWN
    with pytest.raises(InvalidConfig, match="changed by others"):
        book.add(ECHO)
    os.chmod(book.path, 0o600)
    assert stands(book) is ApprovalStanding.APPROVED


@requirement("POOL-20")
@pytest.mark.parametrize("kind", ["pipe", "folder", "link to nothing", "link to a pipe", "device"])
def test_what_is_no_file_approves_nothing_and_holds_nobody_up(home: Path, kind: str) -> None:
    path = home / "approvals.json"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path, 0o600)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        path.symlink_to(home / "target")
        if kind == "link to a pipe":
            os.mkfifo(home / "target", 0o600)
    assert stands(Approvals(home)) is ApprovalStanding.UNKNOWN


@requirement("POOL-20")
def test_a_link_is_replaced_and_not_followed_when_it_is_written(home: Path, tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_bytes(write_out([]))
    target.chmod(0o600)
    (home / "approvals.json").symlink_to(target)
    Approvals(home).add(ECHO)
    assert target.read_bytes() == write_out([])
    assert stands(Approvals(home)) is ApprovalStanding.APPROVED


@requirement("POOL-20")
def test_a_clock_that_was_set_back_revives_nothing(home: Path) -> None:
    now = 1_000_000.0
    book = Approvals(home, lambda: now)
    book.add(msgspec.structs.replace(ECHO, granted=now, expires=now + 100))
    assert stands(book) is ApprovalStanding.APPROVED
    now += 200
    assert stands(book) is ApprovalStanding.UNKNOWN
    now -= 86_400
    assert stands(Approvals(home, lambda: now)) is ApprovalStanding.UNKNOWN


@requirement("POOL-20")
@pytest.mark.parametrize(("glob", "covers"), [("p*", False), ("*", True), ("prompts/*", True), ("[p]*", False)])
def test_a_glob_for_tools_covers_nothing_beside_them(home: Path, glob: str, covers: bool) -> None:
    book = Approvals(home)
    book.add(Approval("s", glob, granted=1.0))
    book.look()
    assert (book.judge(PinnedUse("s", "prompts/get", "sha256:x")).standing is ApprovalStanding.NEW) is covers
    assert book.judge(PinnedUse("s", "", "sha256:x")).standing is ApprovalStanding.UNKNOWN, "a launch is no tool"


@requirement("POOL-20")
@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"{", b"[]", b'{"version":99}', b"\xff", b"[" * 100_000, b'{"approvals":3}'),
        b'{"approvals":[{"server":"\xff"}]}',
    ],
)
def test_a_damaged_file_approves_nothing_and_is_not_written_over(home: Path, content: bytes) -> None:
    path = home / "approvals.json"
    path.write_bytes(content)
    path.chmod(0o600)
    assert stands(Approvals(home)) is ApprovalStanding.UNKNOWN
    with pytest.raises(InvalidConfig):
        Approvals(home).add(ECHO)
    assert path.read_bytes() == content


def test_a_text_that_is_too_long_to_keep_is_pinned_all_the_same(home: Path) -> None:
    shown = msgspec.Raw(b'"' + b"x" * MAX_SHOWN_BYTES + b'"')
    Approvals(home).add(msgspec.structs.replace(ECHO, shown=shown))
    (kept,) = Approvals(home).all()
    assert (kept.pin, kept.shown) == (ECHO.pin, msgspec.UNSET)


@requirement("POOL-20")
def test_a_server_of_many_words_costs_the_others_no_approval(home: Path) -> None:
    """The attack: definitions so long that the book with them could not be read any more."""
    book = Approvals(home)
    book.add(ECHO)
    shown = msgspec.Raw(b'{"description":"' + b"x" * (MAX_SHOWN_BYTES - 32) + b'"}')
    many = [Approval("greedy", f"t{n}", "sha256:1", shown=shown) for n in range(MAX_FILE_BYTES // MAX_SHOWN_BYTES + 2)]
    with pytest.raises(InvalidConfig, match="can be kept"):
        book.add(*many)
    assert stands(Approvals(home)) is ApprovalStanding.APPROVED
    book.add(*many[:3])
    assert len(Approvals(home).all()) == 4


def test_what_is_written_out_reads_back() -> None:
    (back,) = parse(write_out([ECHO]), "a file")
    assert msgspec.structs.replace(back, shown=ECHO.shown) == ECHO


@requirement("POOL-20")
def test_a_list_of_a_server_with_many_approved_tools_takes_no_longer_for_each(home: Path) -> None:
    """Each tool of a list is judged on the loop: one that was compared with all approvals kept everybody waiting."""

    def judge_all(tools: int) -> None:
        book = Approvals(home / str(tools))
        if not book.path.exists():
            book.add(Approval("s", "t_*"), *(Approval("s", f"t_{at}", f"sha256:{at}") for at in range(tools)))
        book.look()
        standing = {book.judge(PinnedUse("s", f"t_{at}", f"sha256:{at}")).standing for at in range(tools)}
        assert standing == {ApprovalStanding.APPROVED}
        assert book.judge(PinnedUse("s", "t_0", "sha256:other")).standing is ApprovalStanding.CHANGED
        assert book.judge(PinnedUse("s", "t_new", "sha256:new")).standing is ApprovalStanding.NEW

    assert grows_linearly(judge_all, 200)


@requirement("POOL-20")
def test_a_clock_that_is_set_back_makes_a_running_book_look_again(home: Path) -> None:
    """The guard keeps what it let through until the book says that other approvals hold."""
    now = [1_000_000.0]
    book = Approvals(home, clock=lambda: now[0])
    book.add(msgspec.structs.replace(ECHO, granted=now[0], expires=now[0] + 100))
    assert stands(book) is ApprovalStanding.APPROVED
    now[0] -= 10 * 24 * 3600.0
    assert book.look()
    assert stands(book) is not ApprovalStanding.APPROVED
    now[0] = 1_000_050.0
    assert book.look()
    assert stands(book) is ApprovalStanding.APPROVED


@requirement("POOL-20")
def test_a_file_of_a_million_small_approvals_is_refused_before_they_are_read() -> None:
    small = b'{"version":1,"approvals":[' + b'{"server":"a"},' * 100_000 + b'{"server":"a"}]}'
    tracemalloc.start()
    try:
        with pytest.raises(InvalidConfig, match="holds more than 20000 approvals"):
            parse(small, "x.json")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 100 * 100_000  # bytes for each of them
    with pytest.raises(InvalidConfig, match=f"is larger than {MAX_FILE_BYTES} bytes"):
        parse(b" " * (MAX_FILE_BYTES + 1), "x.json")
    with pytest.raises(InvalidConfig, match="newer version of weft"):
        parse(b'{"version":2}', "x.json")
    with pytest.raises(InvalidConfig, match=r"at `\$\.expires`, in number 2"):
        parse(b'{"version":1,"approvals":[{"server":"a"},{"server":"a","expires":"x"}]}', "x.json")
