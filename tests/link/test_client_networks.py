"""Addresses and whose they are."""

import pytest

from clawft.link.client_networks import network_of
from tests.requirements import requirement


@requirement("QUAL-12")
@pytest.mark.parametrize(
    ("address", "whose"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2::7", "2001:0db8:0001:0002::/64"),
        ("2001:db8:1:2:ffff::1", "2001:0db8:0001:0002::/64"),
        ("2001:db8:1:3::7", "2001:0db8:0001:0003::/64"),
        ("fe80::1%eth0", "fe80:0000:0000:0000::/64"),
        ("unix:/run/proxy", "unix:/run/proxy"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
    ],
)
def test_one_owner_of_many_addresses_is_one_network(address: str, whose: str) -> None:
    assert network_of(address) == whose
