"""`gateway.max_body`: the bound is what the file says, be it below or above what the server takes by itself."""

from pathlib import Path

import pytest

from clawft.link.http_in.head import Limits
from tests.requirements import requirement
from tests.servers.raw_http import ask, message, open_session
from tests.servers.weft import gateway

pytestmark = [pytest.mark.slow, requirement("QUAL-12")]

USUAL = Limits().body_bytes
MIB = 1024 * 1024


@pytest.mark.parametrize(
    ("bound", "size", "status"), [(MIB, 2 * MIB, 413), (MIB, USUAL + MIB, 413), (USUAL + 2 * MIB, USUAL + MIB, 200)]
)
async def test_the_bound_of_a_request_is_the_one_that_was_set(
    tmp_path: Path, bound: int, size: int, status: int
) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "config.toml").write_text(f"[gateway]\nmax_body = {bound}\n")
    with gateway(tmp_path, "--no-auth") as served:
        session = await open_session(served.port)
        answer = await ask(served.port, session.post(message(1, "ping", {"filler": "x" * size})))
        assert answer.status == status
        assert status == 200 or str(bound).encode() in answer.body
