"""Batches: members as they were spelled, and not without bounds."""

import pytest

from clawft.errors import BadEnvelope, ParseError
from clawft.wire.jsonrpc.batches import MAX_BATCH, decode_batch, is_batch, unpacked
from tests.requirements import requirement


@requirement("WIRE-22")
def test_the_members_of_a_batch_stay_raw() -> None:
    assert is_batch(b' \n[{"a": 1}]')
    assert not is_batch(b'{"a":[1]}')
    assert decode_batch(b'[{"a": 1}, 2,"x"]') == [b'{"a": 1}', b"2", b'"x"']
    for broken in (b"[1,", b"{}", b"[" * 10_000):
        with pytest.raises(ParseError):
            decode_batch(broken)


@requirement("WIRE-22")
def test_a_batch_has_a_bound_whoever_sends_it() -> None:
    most = b"[%s]" % b",".join([b"{}"] * MAX_BATCH)
    assert len(decode_batch(most)) == len(unpacked(most)) == MAX_BATCH
    for count in (0, MAX_BATCH + 1):
        batch = b"[%s]" % b",".join([b"{}"] * count)
        with pytest.raises(BadEnvelope, match="1 to 100 messages"):
            decode_batch(batch)
        assert not unpacked(batch)
