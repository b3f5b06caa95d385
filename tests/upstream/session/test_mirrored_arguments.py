"""Arguments that go into headers have a bound of their own: they are kept for each session with a server."""

import json

import pytest

from clawft.upstream.session.mirrored_arguments import MAX_MIRRORED, MAX_TOLD, Mirrors
from tests.requirements import requirement


def mirroring(name: str) -> bytes:
    argument = {"type": "string", "x-mcp-header": "Region"}
    return json.dumps({"name": name, "inputSchema": {"type": "object", "properties": {"region": argument}}}).encode()


@requirement("QUAL-12")
def test_tools_beyond_the_bound_are_left_out_and_a_few_of_them_told(caplog: pytest.LogCaptureFixture) -> None:
    known = Mirrors()
    plain = b'{"name":"plain"}'
    kept = known.learn([*(mirroring(f"t{n}") for n in range(MAX_MIRRORED + 100)), plain], bytes)
    assert (len(kept), kept[-1]) == (MAX_MIRRORED + 1, plain)
    assert len(caplog.records) == MAX_TOLD
    assert known.headers("t0", {"arguments": {"region": "eu"}}) == (("Mcp-Param-Region", "eu"),)
    assert known.headers(f"t{MAX_MIRRORED}", {"arguments": {"region": "eu"}}) == ()
