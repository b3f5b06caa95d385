"""What is remembered of a server, when its file is not what we wrote: then nothing is, and nobody is held up."""

from __future__ import annotations

from pathlib import Path

from clawft.upstream.offer.cache import RememberedOffer, SchemaCache, fingerprint
from clawft.upstream.spec import UpstreamSpec
from tests.requirements import requirement

SPEC = UpstreamSpec("one", command="x")


@requirement("POOL-09")
def test_a_text_that_is_none_is_as_good_as_no_file(tmp_path: Path) -> None:
    SchemaCache(tmp_path).put(SPEC, RememberedOffer(fingerprint(SPEC), 1.0, "handshake", instructions="be kind"))
    assert SchemaCache(tmp_path).get(SPEC) is not None
    (file,) = tmp_path.iterdir()
    file.write_bytes(file.read_bytes().replace(b"be kind", b"be \xff"))
    assert SchemaCache(tmp_path).get(SPEC) is None
    assert SchemaCache(tmp_path).era(SPEC) is None
