"""The network that a client's address belongs to, for bounds that hold per client."""

from __future__ import annotations

LOOPBACK = frozenset({"", "127.0.0.1", "::1", "::ffff:127.0.0.1"})
"""Every program of this machine comes from here, so that no bound per address holds for it."""


def network_of(address: str) -> str:
    """An IPv4 address itself; of an IPv6 address its /64, because one client has all of that."""
    if ":" not in address:
        return address
    from ipaddress import IPv6Address  # few gateways have such clients

    try:
        parsed = IPv6Address(address.partition("%")[0])
    except ValueError:  # another ASGI server may give anything here
        return address
    return str(parsed.ipv4_mapped) if parsed.ipv4_mapped is not None else f"{parsed.packed[:8].hex(':', 2)}::/64"
