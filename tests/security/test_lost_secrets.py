"""Files of ours that lost their content, or are none any more: nobody is let in by that, and nobody waits for them."""

import os
from pathlib import Path

import pytest

from tests.requirements import requirement
from tests.servers.raw_http import ask, modern
from tests.servers.weft import gateway, weft

pytestmark = pytest.mark.slow


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir(mode=0o700)
    return folder


@requirement("SHELL-19")
@pytest.mark.parametrize("content", [b"", b"\n", b"  \n"])
async def test_an_empty_token_is_made_anew_and_opens_nothing(tmp_path: Path, home: Path, content: bytes) -> None:
    (home / "gateway.token").write_bytes(content)
    with gateway(tmp_path) as served:
        token = (home / "gateway.token").read_text()
        for brought in ("", "Bearer", "Bearer "):
            answer = await ask(served.port, modern(served.port, 1, "tools/list", headers={"Authorization": brought}))
            assert answer.status == 401
        mine = {"Authorization": f"Bearer {token}"}
        assert (await ask(served.port, modern(served.port, 1, "tools/list", headers=mine))).status == 200
    assert len(token) > 40


@requirement("SHELL-19")
def test_what_state_is_signed_with_is_never_empty(tmp_path: Path, home: Path) -> None:
    (home / "state.key").touch()
    assert weft(tmp_path, "tools", "list").returncode == 0
    assert len((home / "state.key").read_bytes()) > 40


@requirement("CONF-12", "GUARD-11")
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")
@pytest.mark.parametrize(
    ("file", "words", "code"),
    [
        ("state.key", ("tools", "list"), 1),
        ("gateway.token", ("gateway", "--port", "0"), 1),
        ("audit/audit.head", ("tools", "call", "file__list"), 0),
        ("audit/audit.jsonl", ("tools", "call", "file__list"), 0),
        ("audit/audit.head", ("audit", "verify"), 1),
        ("audit/audit.jsonl", ("audit", "tail"), 1),
    ],
)
def test_a_pipe_in_place_of_a_file_keeps_nobody_waiting(
    tmp_path: Path, home: Path, file: str, words: tuple[str, ...], code: int
) -> None:
    (home / "audit").mkdir(mode=0o700)
    os.mkfifo(home / file)
    done = weft(tmp_path, *words)
    assert done.returncode == code
    assert "it is not a regular file" in done.stderr
    assert "Traceback" not in done.stderr
