"""Whom an address belongs to, for bounds that hold per client."""

from __future__ import annotations

OUR_OWN = frozenset({"", "127.0.0.1", "::1", "::ffff:127.0.0.1"})
"""Every program of this machine comes from here, so that a bound per address would only set them against each other."""


def household(address: str) -> str:
    """The address itself; of IPv6 its /64, because whoever has one address there has them all."""
    if ":" not in address:
        return address
    from ipaddress import IPv6Address  # few gateways have such clients

    try:
        told = IPv6Address(address.partition("%")[0])
    except ValueError:  # what another server calls an address
        return address
    return str(told.ipv4_mapped) if told.ipv4_mapped is not None else f"{told.packed[:8].hex(':', 2)}::/64"
