"""A journal shows whether it was touched."""

import json
import os
import shutil
import stat
import subprocess
import sys
import time
from io import BufferedReader
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
import pytest

from clawft.errors import Busy, InvalidArguments
from clawft.store import journal_reading, link_file
from clawft.store.file_locks import locked
from clawft.store.journal import Journal
from clawft.store.journal_reading import BrokenJournal, IntactJournal, files, find, verify
from clawft.store.journal_tail import JournalTail
from clawft.store.private_files import open_plain
from tests.requirements import requirement


def entries(*ids: int) -> list[dict[str, Any]]:
    return [{"id": f"call-{id}", "tool": "git__status"} for id in ids]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "audit" / "audit.jsonl"


@pytest.fixture
def written(path: Path) -> Path:
    Journal(path).append(entries(1, 2, 3, 4, 5))
    return path


def tail(path: Path, count: int) -> list[bytes]:
    return [*islice(JournalTail(path).newest_first(), count)][::-1]


def lines_of(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True)


@requirement("GUARD-10", "GUARD-11", "T-7.12")
def test_each_entry_becomes_one_json_line_in_order(path: Path) -> None:
    journal = Journal(path)
    journal.append(entries(1))
    journal.append([b'{"id":"call-2","ms":1.50}', *map(msgspec.json.encode, entries(3))])
    lines = [json.loads(line) for line in lines_of(path)]
    assert [(line["seq"], line["id"]) for line in lines] == [(1, "call-1"), (2, "call-2"), (3, "call-3")]
    assert [line["prev"] for line in lines] == ["0" * 64, lines[0]["hash"], lines[1]["hash"]]
    assert b'"ms":1.50,' in lines_of(path)[1]
    assert verify(path) == IntactJournal(3)


@requirement("GUARD-11")
def test_a_file_that_makes_room_while_it_is_read_is_read_to_its_end(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another weft rotates between our opening of a full file and our look at its size."""
    Journal(path, rotate_bytes=1_500).append(entries(*range(1, 30)))
    Journal(path, rotate_bytes=1_500).append(entries(30))
    assert len(files(path)) > 1

    def opened(file: Path) -> BufferedReader:
        stream = open_plain(file)
        if file != path:
            file.unlink()
        return stream

    monkeypatch.setattr("clawft.store.journal_tail.open_plain", opened)
    assert [json.loads(line)["id"] for line in tail(path, 100)] == [f"call-{id}" for id in range(1, 31)]


@requirement("GUARD-11")
def test_an_empty_batch_and_no_journal_at_all_are_fine(path: Path) -> None:
    assert verify(path) == IntactJournal(0)
    Journal(path).append([])
    assert (tail(path, 3), find(path, "x"), files(path)) == ([], None, [])
    assert not path.exists()


@requirement("GUARD-11")
def test_its_files_are_private(written: Path) -> None:
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in written.parent.iterdir()}
    assert modes == {"audit.jsonl": 0o600, "audit.head": 0o600, "audit.lock": 0o600}
    assert stat.S_IMODE(written.parent.stat().st_mode) == 0o700


@requirement("GUARD-11")
@pytest.mark.parametrize(
    "bad", [b"", b"{}", b"[1]", b'{"a":1}\n{"b":2}', b'{"a":\r1}', b'{"a":"' + b"x" * 1_048_576 + b'"}']
)
def test_what_is_no_entry_is_refused_before_anything_is_written(path: Path, bad: bytes) -> None:
    with pytest.raises(InvalidArguments):
        Journal(path).append([*entries(1), bad])
    assert not path.exists()


@requirement("GUARD-11")
@pytest.mark.parametrize("line", range(5))
def test_a_changed_line_is_the_one_that_is_named(written: Path, line: int) -> None:
    lines = lines_of(written)
    lines[line] = lines[line].replace(b"git__status", b"git__commit")
    written.write_bytes(b"".join(lines))
    assert verify(written) == BrokenJournal("audit.jsonl", line + 1, "the line was changed")


@requirement("GUARD-11")
@pytest.mark.parametrize("removed", range(4))
def test_a_removed_line_shows_where_it_was(written: Path, removed: int) -> None:
    lines = lines_of(written)
    del lines[removed]
    written.write_bytes(b"".join(lines))
    found = verify(written)
    assert isinstance(found, BrokenJournal)
    assert found.line == removed + 1


@requirement("GUARD-11")
@pytest.mark.parametrize("order", [[1, 0, 2, 3, 4], [0, 1, 2, 4, 3], [0, 1, 1, 2, 3, 4], [0, 1, 2, 3, 4, 4]])
def test_moved_and_doubled_lines_show(written: Path, order: list[int]) -> None:
    lines = lines_of(written)
    written.write_bytes(b"".join(lines[at] for at in order))
    found = verify(written)
    assert isinstance(found, BrokenJournal)
    assert found.line == next((at for at, line in enumerate(order) if at != line), 4) + 1


@requirement("GUARD-11")
@pytest.mark.parametrize(
    "line",
    [
        b"garbage\n",
        b'{"seq":3}\n',
        b'{"seq":3,"prev":"","hash":"x"}\n',
        b"\xff\n",
        b"\n",
        b'{"seq":3,"x":' + b"[" * 50_000 + b"\n",
    ],
    ids=lambda line: repr(line[:20]),
)
def test_an_inserted_line_shows(written: Path, line: bytes) -> None:
    lines = lines_of(written)
    written.write_bytes(b"".join([*lines[:2], line, *lines[2:]]))
    found = verify(written)
    assert isinstance(found, BrokenJournal)
    assert found.line == 3


@requirement("GUARD-11")
@pytest.mark.parametrize("kept", range(5))
def test_a_tail_that_was_cut_off_shows(written: Path, kept: int) -> None:
    written.write_bytes(b"".join(lines_of(written)[:kept]))
    found = verify(written)
    assert isinstance(found, BrokenJournal)
    assert found.line == 0
    assert f"{kept + 1} to 5" in found.reason


@requirement("GUARD-11")
def test_a_deleted_journal_shows(written: Path) -> None:
    written.unlink()
    assert isinstance(verify(written), BrokenJournal)


@requirement("GUARD-11")
@pytest.mark.parametrize("kept", [0, 3, 5])
@pytest.mark.parametrize("head", [None, b"", b"x" * 200])
def test_a_head_that_was_taken_away_shows_even_after_more_was_appended(
    written: Path, kept: int, head: bytes | None
) -> None:
    written.write_bytes(b"".join(lines_of(written)[:kept]))
    if head is None:
        written.with_suffix(".head").unlink()
    else:
        written.with_suffix(".head").write_bytes(head)
    if kept or head is not None:  # where nothing at all is left, nothing can tell
        found = verify(written)
        assert isinstance(found, BrokenJournal)
        assert found.file == "audit.head"
        Journal(written).append(entries(6))
        assert isinstance(verify(written), BrokenJournal)


@requirement("GUARD-11")
def test_whoever_wrote_the_last_line_needs_no_head_to_go_on(path: Path) -> None:
    journal = Journal(path)
    journal.append(entries(1, 2))
    path.with_suffix(".head").unlink()
    journal.append(entries(3))
    assert verify(path) == IntactJournal(3)


@requirement("GUARD-11")
def test_a_head_of_another_line_shows(written: Path) -> None:
    written.with_suffix(".head").write_bytes(b'{"seq":3,"hash":"%b"}\n' % (b"2" * 64))
    found = verify(written)
    assert isinstance(found, BrokenJournal)
    assert found.line == 3


@requirement("GUARD-11")
def test_a_writer_killed_in_its_first_batch_leaves_an_intact_journal(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(link_file, "write", killed)
        with pytest.raises(KeyboardInterrupt):
            Journal(path).append(entries(1, 2))
    assert verify(path) == IntactJournal(2)
    Journal(path).append(entries(3))
    assert verify(path) == IntactJournal(3)


@requirement("GUARD-11")
@pytest.mark.parametrize("same_journal", [True, False])
def test_appending_does_not_heal_a_cut(path: Path, same_journal: bool) -> None:
    journal = Journal(path)
    journal.append(entries(1, 2, 3, 4, 5))
    path.write_bytes(b"".join(lines_of(path)[:3]))
    (journal if same_journal else Journal(path)).append(entries(6))
    found = verify(path)
    assert isinstance(found, BrokenJournal)
    assert found.line == 4
    assert "expected line 4, found line 6" in found.reason


@requirement("GUARD-11")
def test_a_folder_that_is_gone_shows_once_its_writer_goes_on(path: Path) -> None:
    mine, other = Journal(path), Journal(path)
    for journal in (other, mine):
        journal.append(entries(1, 2))
    shutil.rmtree(path.parent)
    for journal in (other, mine):
        journal.append(entries(3))
    assert verify(path) == BrokenJournal(
        "audit.jsonl", 1, "the journal begins with line 3: the lines before it are missing"
    )


@requirement("GUARD-11")
def test_a_rewritten_last_line_shows_even_after_more_was_appended(written: Path) -> None:
    lines = lines_of(written)
    fresh = written.parent / "fresh.jsonl"
    Journal(fresh).append(entries(1, 2, 3, 4, 999))
    lines[4] = lines_of(fresh)[4]
    written.write_bytes(b"".join(lines))
    assert isinstance(verify(written), BrokenJournal)
    Journal(written).append(entries(6))
    assert isinstance(verify(written), BrokenJournal)


@requirement("GUARD-11")
def test_half_a_line_of_a_killed_process_is_dropped(written: Path) -> None:
    with written.open("ab") as file:
        file.write(b'{"seq":6,"id":"call-')
    Journal(written).append(entries(6))
    assert verify(written) == IntactJournal(6)
    assert [json.loads(line)["id"] for line in lines_of(written)][-2:] == ["call-5", "call-6"]


@requirement("GUARD-11")
def test_lines_written_before_a_kill_but_after_the_head_are_kept(written: Path) -> None:
    head = written.with_suffix(".head").read_bytes()
    Journal(written).append(entries(6))
    written.with_suffix(".head").write_bytes(head)
    assert verify(written) == IntactJournal(6)
    Journal(written).append(entries(7))
    assert verify(written) == IntactJournal(7)


@requirement("GUARD-11")
def test_the_chain_goes_on_through_rotated_files(path: Path) -> None:
    for id in range(1, 31):
        Journal(path, rotate_bytes=1_500).append(entries(id))
    assert len(files(path)) > 3
    assert verify(path) == IntactJournal(30)
    assert [json.loads(bytes(line))["seq"] for line in tail(path, 12)] == list(range(19, 31))
    assert len(tail(path, 1_000)) == 30
    first = find(path, "call-1")
    assert first is not None
    assert json.loads(bytes(first))["seq"] == 1


@requirement("GUARD-11")
def test_a_rotated_file_that_is_gone_shows(path: Path) -> None:
    journal = Journal(path, rotate_bytes=1_500)
    for id in range(1, 31):
        journal.append(entries(id))
    files(path)[0].unlink()
    found = verify(path)
    assert isinstance(found, BrokenJournal)
    assert "begins with line" in found.reason


@requirement("GUARD-11", "QUAL-12")
def test_the_oldest_full_files_go_and_the_rest_can_be_proven(path: Path) -> None:
    for id in range(1, 61):
        Journal(path, rotate_bytes=1_500, keep_files=3).append(entries(id))
    assert len(files(path)) in (3, 4)
    found = verify(path)
    assert isinstance(found, IntactJournal)
    assert found.lines + found.dropped == 60
    assert 0 < found.lines < 30
    assert find(path, "call-1") is None
    files(path)[0].unlink()  # by somebody else than us
    broken = verify(path)
    assert isinstance(broken, BrokenJournal)
    assert f"expected line {found.dropped + 1}" in broken.reason


@requirement("GUARD-11")
def test_one_that_was_killed_while_it_dropped_a_file_leaves_a_whole_chain(path: Path) -> None:
    """The base is ahead of the files: what it names as dropped is passed over, and goes with the next rotation."""
    journal = Journal(path, rotate_bytes=1_500, keep_files=3)
    for id in range(1, 31):
        journal.append(entries(id))
    oldest = files(path)[0]
    last = json.loads(oldest.read_bytes().splitlines()[-1])
    path.with_suffix(".base").write_bytes(b'{"seq":%-20d,"hash":"%b"}\n' % (last["seq"], last["hash"].encode()))
    assert verify(path) == IntactJournal(30 - last["seq"], last["seq"])
    for id in range(31, 61):
        journal.append(entries(id))
    assert isinstance(verify(path), IntactJournal)
    assert not oldest.exists()


@requirement("GUARD-11")
def test_two_journals_on_one_file_take_turns(path: Path) -> None:
    one, other = Journal(path, rotate_bytes=2_000), Journal(path, rotate_bytes=2_000)
    for id in range(20):
        (one if id % 3 else other).append(entries(id))
    assert verify(path) == IntactJournal(20)


@requirement("GUARD-11")
def test_lines_are_found_from_the_end_by_id_and_by_number(written: Path) -> None:
    assert [json.loads(bytes(line))["id"] for line in tail(written, 2)] == ["call-4", "call-5"]
    assert tail(written, 0) == []
    by_id, by_number = find(written, "call-3"), find(written, "3")
    assert by_id is not None
    assert by_id == by_number
    assert find(written, "call-") is None
    assert find(written, 'x"y') is None


@requirement("GUARD-11")
def test_a_long_line_does_not_confuse_the_end(path: Path) -> None:
    journal = Journal(path)
    journal.append([{"id": "big", "text": "x" * 900_000}])
    Journal(path).append(entries(2))
    assert verify(path) == IntactJournal(2)
    assert [json.loads(bytes(line))["id"] for line in tail(path, 2)] == ["big", "call-2"]


APPEND = """
import sys
from pathlib import Path
from clawft.store.journal import Journal
journal = Journal(Path(sys.argv[1]), rotate_bytes=20_000)
for turn in range(int(sys.argv[3])):
    journal.append([{"id": f"{sys.argv[2]}-{turn}-{line}"} for line in range(5)])
"""

APPEND_FOR_EVER = """
import sys
from pathlib import Path
from clawft.store.journal import Journal
journal = Journal(Path(sys.argv[1]))
print("going", flush=True)
while True:
    journal.append([{"id": "x", "text": "y" * 5000}] * 20)
"""


@requirement("GUARD-11")
def test_processes_append_side_by_side_without_losing_a_line(path: Path) -> None:
    processes = [subprocess.Popen([sys.executable, "-c", APPEND, str(path), str(n), "30"]) for n in range(4)]
    try:
        assert [process.wait(60) for process in processes] == [0] * 4
    finally:
        for process in processes:
            process.kill()
            process.wait(10)
    assert verify(path) == IntactJournal(4 * 30 * 5)
    assert len({json.loads(bytes(line))["id"] for line in tail(path, 1_000)}) == 600


@requirement("GUARD-11")
def test_homes_whose_links_lead_to_one_journal_share_its_lock_too(path: Path, tmp_path: Path) -> None:
    link = tmp_path / "other" / "audit.jsonl"
    link.parent.mkdir()
    link.symlink_to(path)
    Journal(path).append(entries(1))
    Journal(link, rotate_bytes=1).append(entries(2))
    with locked(path.with_suffix(".lock")), pytest.raises(Busy):
        Journal(link).append(entries(3), seconds=0.01)
    Journal(path).append(entries(3))
    assert link.is_symlink()
    assert verify(path) == verify(link) == IntactJournal(3)
    assert len(tail(link, 5)) == 3
    assert find(link, "call-2") == find(path, "call-2") is not None


VERIFY = """
import resource, sys
from pathlib import Path
from clawft.store.journal_reading import verify
resource.setrlimit(resource.RLIMIT_NOFILE, (32, 32))
print(verify(Path(sys.argv[1])))
"""


@requirement("GUARD-11", "QUAL-12")
def test_more_files_than_a_process_may_have_open_can_be_proven(path: Path) -> None:
    journal = Journal(path, rotate_bytes=1, keep_files=100)
    for id in range(40):
        journal.append(entries(id))
    told = subprocess.run([sys.executable, "-c", VERIFY, path], capture_output=True, text=True, check=True, timeout=30)
    assert told.stdout.strip() == str(IntactJournal(40))


@requirement("GUARD-11")
def test_a_file_that_makes_room_while_it_is_verified_is_not_missed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = Journal(path, rotate_bytes=1, keep_files=3)
    for id in range(3):
        journal.append(entries(id))
    real, at = journal_reading.open_plain, iter(range(100))

    def opened_late(file: Path) -> BufferedReader:
        if next(at) == 0:
            journal.append(entries(4))
        return real(file)

    monkeypatch.setattr(journal_reading, "open_plain", opened_late)
    assert verify(path) == IntactJournal(3, 1)


@requirement("GUARD-11")
def test_a_killed_writer_leaves_an_intact_journal(path: Path) -> None:
    for _ in range(3):
        with subprocess.Popen([sys.executable, "-c", APPEND_FOR_EVER, str(path)], stdout=subprocess.PIPE) as process:
            assert process.stdout
            process.stdout.readline()
            deadline = time.monotonic() + 30
            before = path.stat().st_size if path.exists() else 0
            while (not path.exists() or path.stat().st_size <= before) and time.monotonic() < deadline:
                time.sleep(0.001)
            process.kill()
        Journal(path).append(entries(1))
        assert isinstance(verify(path), IntactJournal)


@requirement("GUARD-11")
def test_a_line_in_a_batch_costs_microseconds(path: Path) -> None:
    journal = Journal(path)
    batch = [msgspec.json.encode({"id": f"call-{n}", "tool": "git__status", "digest": "a" * 32}) for n in range(100)]
    best = float("inf")
    for _ in range(20):
        started = time.perf_counter()
        journal.append(batch)
        best = min(best, time.perf_counter() - started)
    assert best / len(batch) < 40e-6  # 2 µs measured; ten times the budget, for a busy machine


@requirement("GUARD-11")
def test_a_line_whose_writer_was_killed_is_nobodys_doing(path: Path) -> None:
    """The disk was full, or the process ended, in the middle of a line: that is no forgery, and nothing is missing."""
    journal = Journal(path)
    journal.append([{"tool": "one"}, {"tool": "two"}])
    whole = path.read_bytes()
    path.write_bytes(whole + whole.splitlines(keepends=True)[0][:-40])
    assert verify(path) == IntactJournal(2)
    path.write_bytes(whole[:-1])
    assert isinstance(verify(path), BrokenJournal)  # the head knows of that line
    path.write_bytes(whole[:-40])
    assert isinstance(verify(path), BrokenJournal)


@requirement("GUARD-11")
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")
@pytest.mark.parametrize("name", ["audit.jsonl", "audit.head", "audit.base"])
def test_a_pipe_in_its_place_holds_nobody_up(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)
    with pytest.raises(OSError, match="not a regular file"):
        verify(tmp_path / "audit.jsonl")
    if name != "audit.base":
        with pytest.raises(OSError, match="not a regular file"):
            Journal(tmp_path / "audit.jsonl").append([{"tool": "one"}])
