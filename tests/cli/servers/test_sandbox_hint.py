"""What a server says may tell that its sandbox keeps it from its work."""

import msgspec
import pytest

from clawft.cli.servers.sandbox_hint import hint_for
from clawft.upstream.spec import UpstreamSpec
from tests.requirements import requirement

SPEC = UpstreamSpec("box", command="/usr/bin/docker")


@requirement("MGR-19")
@pytest.mark.parametrize(
    ("said", "hinted"),
    [
        ("docker: Cannot connect to the Docker daemon at unix:///var/run/docker.sock.", 'sandbox = "off" for box'),
        ("permission denied while trying to connect to the Docker API", 'sandbox = "off" for box'),
        ("OSError: [Errno 30] Read-only file system: '/x'", "weft servers test box --learn"),
        ("no such table", ""),
    ],
)
def test_the_hint_fits_what_was_said(said: str, hinted: str) -> None:
    assert hinted in hint_for(SPEC, said)
    assert bool(hinted) == bool(hint_for(SPEC, said))
    assert hint_for(msgspec.structs.replace(SPEC, sandbox="off"), said) == ""
