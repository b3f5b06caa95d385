"""The token of the gateway: its file is named, kept private, asked for every time."""

import os
import re
import subprocess
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.requirements import requirement
from tests.servers.raw_http import Answer, ask, head, hello, modern, open_session
from tests.servers.weft import GATEWAY, STOP_S, Served, environment, gateway

pytestmark = pytest.mark.slow

_READ = re.compile(r"Bearer (?:'\")?\$\(cat ([^)]+)\)")


@pytest.fixture(scope="module")
def home_of_all(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("token")


@pytest.fixture(scope="module")
def served(home_of_all: Path) -> Generator[Served]:
    with gateway(home_of_all) as running:
        yield running


def named_token(served: Served) -> str:
    """By the file that the lines name: they go to a pipe."""
    found = {file for line in served.lines for file in _READ.findall(line)}
    assert len(found) == 1, "the connect lines must name one and the same file"
    return Path(found.pop()).read_text().strip()


async def list_tools(served: Served, authorization: str) -> Answer:
    return await ask(served.port, modern(served.port, 1, "tools/list", headers={"Authorization": authorization}))


@requirement("SHELL-16", "SHELL-21")
async def test_the_token_of_the_lines_opens_both_eras(served: Served) -> None:
    token = named_token(served)
    assert (await list_tools(served, f"Bearer {token}")).json()["result"]["tools"]
    assert (await list_tools(served, f"bearer  {token} ")).status == 200
    session = await open_session(served.port, headers={"Authorization": f"Bearer {token}"})
    assert (await ask(served.port, session.post(b'{"jsonrpc":"2.0","id":1,"method":"ping"}'))).status == 200


@requirement("SHELL-19", "SHELL-21")
@pytest.mark.parametrize(
    "wrong", ["none", "empty", "another", "a part", "basic", "in lower case", "twice", "as a word"]
)
async def test_without_it_nothing_is_answered(served: Served, wrong: str) -> None:
    token = named_token(served)
    told = {
        "none": "",
        "empty": "Bearer ",
        "another": "Bearer " + "x" * len(token),
        "a part": f"Bearer {token[:-1]}",
        "basic": f"Basic {token}",
        "in lower case": f"Bearer {token.lower()}x",
        "twice": f"Bearer {token} {token}",
        "as a word": token,
    }[wrong]
    refused = await list_tools(served, told)
    assert refused.status == 401
    assert refused.headers["www-authenticate"].startswith("Bearer")
    assert token.encode() not in refused.body
    for data in (
        hello(served.port, headers={"Authorization": told}),
        head(served.port, "GET", {"Authorization": told, "Accept": "text/event-stream", "Mcp-Session-Id": "x"}),
        head(served.port, "DELETE", {"Authorization": told, "Mcp-Session-Id": "x"}),
    ):
        assert (await ask(served.port, data)).status == 401


@requirement("SHELL-16", "QUAL-02")
async def test_the_token_is_kept_private_and_stays_the_same(served: Served, home_of_all: Path) -> None:
    token = named_token(served)
    kept = home_of_all / "home" / "gateway.token"
    assert kept.read_text().strip() == token
    assert kept.stat().st_mode & 0o077 == 0
    assert kept.parent.stat().st_mode & 0o077 == 0
    with gateway(home_of_all) as second:
        assert named_token(second) == token


def _kept_token(folder: Path, token: bytes, mode: int) -> Path:
    """In a home that others can enter."""
    kept = folder / "home" / "gateway.token"
    kept.parent.mkdir()
    kept.parent.chmod(0o755)
    kept.write_bytes(token)
    kept.chmod(mode)
    return kept


@pytest.mark.skipif(os.name != "posix", reason="no modes")
@requirement("SHELL-16", "QUAL-02")
@pytest.mark.parametrize("mode", [0o644, 0o666, 0o640])
def test_a_token_that_others_could_read_is_closed_to_them_and_told(tmp_path: Path, mode: int) -> None:
    kept = _kept_token(tmp_path, b"t" * 40, mode)
    with gateway(tmp_path) as running:
        assert kept.stat().st_mode & 0o077 == 0
        assert any(f"({mode:04o})" in line and "remove it" in line for line in running.lines)


@requirement("SHELL-16")
def test_a_token_that_can_be_guessed_is_told(tmp_path: Path) -> None:
    kept = _kept_token(tmp_path, b"s3cret", 0o600)
    with gateway(tmp_path) as running:
        assert any(str(kept) in line and "6 characters" in line and "remove it" in line for line in running.lines)


@requirement("SHELL-16")
@pytest.mark.parametrize("token", [b"two\nlines", b"a\0b", b"two words", b"\xff\xfe", b"x" * 5_000])
def test_a_token_that_nobody_could_send_is_told_at_the_start(tmp_path: Path, token: bytes) -> None:
    kept = _kept_token(tmp_path, token, 0o600)
    ran = _refused(tmp_path)
    assert f"{kept} holds no token" in ran.stderr
    assert "hint: remove it" in ran.stderr


def _refused(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """A gateway that does not start."""
    ran = subprocess.run(
        [*GATEWAY, *options],
        capture_output=True,
        text=True,
        cwd=folder,
        env=environment(folder),
        stdin=subprocess.DEVNULL,
        timeout=STOP_S,
        check=False,
    )
    assert ran.returncode == 2
    return ran


@requirement("SHELL-19", "SHELL-21")
@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_a_gateway_without_a_token_is_for_this_machine_only(tmp_path: Path, host: str) -> None:
    ran = _refused(tmp_path, "--no-auth", "--host", host)
    assert "--no-auth" in ran.stderr
    assert "hint:" in ran.stderr
    assert ran.stdout == ""


@requirement("SHELL-16")
async def test_health_and_metrics_need_no_token_and_tell_no_secrets(served: Served) -> None:
    token = named_token(served)
    for path in ("/healthz", "/readyz", "/metrics"):
        answer = await ask(served.port, head(served.port, "GET", {}, path))
        assert answer.status == 200
        assert token.encode() not in answer.body
