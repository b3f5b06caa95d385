"""Transcripts: whole after every line, private, and good to go on from."""

import errno
import os
import stat
import sys
from pathlib import Path

import pytest

from clawft.delegate.budget import RunEnd
from clawft.delegate.events import Outcome
from clawft.delegate.transcript import MAX_KEPT, NoTranscript, Transcript, find, history_of
from clawft.delegate.turns import (
    HistoryEntry,
    ModelAnswer,
    StopReason,
    TaskText,
    TokenUsage,
    ToolResult,
    ToolResults,
    ToolUse,
)
from clawft.errors import Busy, InvalidConfig
from tests.requirements import requirement

HISTORY: list[HistoryEntry] = [
    TaskText("do it"),
    ModelAnswer(
        "looking",
        (ToolUse("1", "x", {"a": [1]}),),
        StopReason.TOOLS,
        TokenUsage(1, 2),
        "anthropic",
        [{"type": "thinking"}],
    ),
    ToolResults((ToolResult("1", "fine"),)),
]


def full(descriptor: int, content: bytes) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def kept(folder: Path) -> Transcript:
    transcript = Transcript.begin(folder, {"target": "claude"})
    for entry in HISTORY:
        transcript.keep(entry)
    return transcript


def test_what_was_kept_comes_back(tmp_path: Path) -> None:
    transcript = kept(tmp_path)
    transcript.keep(Outcome(RunEnd.DONE, "done"))
    assert history_of(transcript.file) == HISTORY
    assert stat.S_IMODE(transcript.file.stat().st_mode) == 0o600
    transcript.close()


@pytest.mark.skipif(sys.platform == "win32", reason="a lock would keep its own reader out there")
def test_two_runs_do_not_go_on_with_one(tmp_path: Path) -> None:
    first = kept(tmp_path)
    with pytest.raises(Busy, match=f"another weft is working on the task {first.id}"):
        Transcript(first.file)
    first.close()
    again = Transcript(first.file)
    assert history_of(again.file) == HISTORY
    again.close()


@pytest.mark.parametrize("line", [b'{"type":"task","text":"\xff"}', b'{"type":"task","x":' + b"[" * 200_000])
def test_a_line_that_nobody_can_read_is_left_out(tmp_path: Path, line: bytes) -> None:
    transcript = kept(tmp_path)
    transcript.close()
    transcript.file.write_bytes(line + b"\n" + transcript.file.read_bytes())
    assert history_of(transcript.file) == HISTORY


def test_a_line_that_was_cut_off_is_left_out_and_the_next_is_whole(tmp_path: Path) -> None:
    transcript = kept(tmp_path)
    transcript.close()
    whole = transcript.file.read_bytes()
    transcript.file.write_bytes(whole + b'{"type":"answer","te')
    again = Transcript(transcript.file)
    again.keep(TaskText("go on"))
    again.close()
    assert history_of(transcript.file) == [*HISTORY, TaskText("go on")]


@pytest.mark.parametrize(
    ("line", "times"),
    [(b'{"type":"task","text":"%b"}\n' % (b"x" * 100_000), 41), (b'{"type":"task","text":""}\n', 40_001)],
)
def test_one_that_no_model_could_read_is_not_read_to_its_end(tmp_path: Path, line: bytes, times: int) -> None:
    transcript = kept(tmp_path)
    transcript.close()
    with transcript.file.open("ab") as file:
        file.write(line * times)
    with pytest.raises(InvalidConfig, match="longer than a model can read"):
        history_of(transcript.file)


@pytest.mark.skipif(sys.platform == "win32", reason="no pipes with names there")
def test_what_is_no_file_holds_nobody_up(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "20261101-000000-abcdef.jsonl")
    with pytest.raises(OSError, match=r"abcdef\.jsonl"):
        Transcript(find(tmp_path, "last"))


def test_the_newest_is_found_and_an_unknown_one_is_named(tmp_path: Path) -> None:
    with pytest.raises(NoTranscript, match="none yet"):
        find(tmp_path, "last")
    transcript = kept(tmp_path)
    transcript.close()
    assert find(tmp_path, "last") == find(tmp_path, transcript.id) == transcript.file
    with pytest.raises(NoTranscript, match=transcript.id):
        find(tmp_path, "../../etc/passwd")


def test_old_ones_make_room(tmp_path: Path) -> None:
    for number in range(MAX_KEPT + 5):
        (tmp_path / f"2020{number:04}.jsonl").touch()
    Transcript.begin(tmp_path, {}).close()
    assert len(list(tmp_path.iterdir())) == MAX_KEPT
    assert not (tmp_path / "20200000.jsonl").exists()


@requirement("AGENT-14")
def test_a_disk_that_is_full_is_told_with_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    transcript = kept(tmp_path)
    monkeypatch.setattr("clawft.delegate.transcript.write_all", full)
    with pytest.raises(OSError, match="No space left") as failed:
        transcript.keep(TaskText("more"))
    transcript.close()
    assert failed.value.filename == str(transcript.file)
