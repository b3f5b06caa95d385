"""Classifies an address, however it is written, and decides whether a stranger's request may go there."""

import re
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # costs about 2 ms to import, and is needed only once a URL is judged
    from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

    Address = IPv4Address | IPv6Address
    Network = IPv4Network | IPv6Network

MAX_HOST = 255
JUDGED_KEPT = 1_024
MAX_IPV4 = 0xFFFFFFFF

_LOCAL_NAMES = frozenset(
    {"localhost", "localhost.localdomain", "localhost6", "ip6-localhost", "ip6-loopback", "loopback"}
)
_LOOPBACK = ("127.0.0.1", "::1")
_NUMBER = re.compile(r"0[xX][0-9a-fA-F]*|[0-9]+")

_METADATA = frozenset({"169.254.169.254", "169.254.170.2", "100.100.100.200", "168.63.129.16", "fd00:ec2::254"})
_METADATA_NAME = re.compile(r"(?:metadata|instance-data)\..*internal")
_SPECIAL = (
    ("0.0.0.0/8", "this machine"),
    ("10.0.0.0/8", "a private address"),
    ("100.64.0.0/10", "an address behind a carrier's NAT"),
    ("127.0.0.0/8", "the loopback of this machine"),
    ("169.254.0.0/16", "a link-local address"),
    ("172.16.0.0/12", "a private address"),
    ("192.0.0.0/24", "a reserved address"),
    ("192.0.2.0/24", "a reserved address"),
    ("192.88.99.0/24", "a reserved address"),
    ("192.168.0.0/16", "a private address"),
    ("198.18.0.0/15", "a reserved address"),
    ("198.51.100.0/24", "a reserved address"),
    ("203.0.113.0/24", "a reserved address"),
    ("224.0.0.0/4", "a multicast address"),
    ("240.0.0.0/4", "a reserved address"),
    ("::/128", "this machine"),
    ("::1/128", "the loopback of this machine"),
    ("64:ff9b:1::/48", "a private address"),
    ("100::/64", "a reserved address"),
    ("2001::/23", "a reserved address"),
    ("2001:db8::/32", "a reserved address"),
    ("3fff::/20", "a reserved address"),
    ("5f00::/16", "a reserved address"),
    ("fc00::/7", "a private address"),
    ("fe80::/10", "a link-local address"),
    ("fec0::/10", "a private address"),
    ("ff00::/8", "a multicast address"),
)
_ISATAP = frozenset({0x00005EFE, 0x02005EFE})
# The upper 96 bits of ::ffff:a.b.c.d, ::ffff:0:a.b.c.d and 64:ff9b::a.b.c.d (NAT64).
_ENVELOPES = frozenset({0xFFFF, 0xFFFF0000, 0x0064FF9B << 64})


def looks_numeric(host: str) -> bool:
    """Whether a browser would insist on reading this host as an IPv4 address."""
    return _NUMBER.fullmatch(host[:MAX_HOST].rpartition(".")[2]) is not None


def literal_addresses(host: str) -> tuple[str, ...]:
    """All addresses a host may mean by its text alone; none if it is a name."""
    name = host.strip("[]").lower().removesuffix(".")
    if len(name) > MAX_HOST:
        return ()
    if name in _LOCAL_NAMES or name.endswith(".localhost"):
        return _LOOPBACK
    if ":" in name:
        address = _parse(name)
        return (str(address),) if address else ()
    return _ipv4_readings(name)


def is_metadata(host: str) -> bool:
    """Whether the text alone says that a cloud answers there, with the rights of this machine."""
    if _METADATA_NAME.fullmatch(host):
        return True
    return any(str(meant) in _METADATA for text in literal_addresses(host) for meant in _meanings_of(text))


def _meanings_of(text: str) -> list["Address"]:
    parsed = _parse(text)
    return _meanings(parsed) if parsed else []


def is_loopback(host: str) -> bool:
    """Whether the text alone says that only this machine reaches it. Of names `localhost` does, no other."""
    name = host.lower()
    if name != "localhost" and ":" not in name and not looks_numeric(name):
        return False
    addresses = [_parse(address) for address in literal_addresses(name)]
    return bool(addresses) and all(map(_is_loopback, addresses))


def _is_loopback(address: "Address | None") -> bool:
    """One in an envelope is another: up to Python 3.12 it counts as none, from then on as what is in it."""
    return address is not None and address.is_loopback and getattr(address, "ipv4_mapped", None) is None


def _ipv4_readings(name: str) -> tuple[str, ...]:
    """As inet_aton reads it (octal, hex, fewer parts) and as a plain decimal reader does; they may differ."""
    parts = name.split(".")
    if len(parts) > 4 or not all(map(_NUMBER.fullmatch, parts)):
        return ()
    readings = (_joined([_c_number(part) for part in parts]), _joined([_decimal(part) for part in parts]))
    return tuple(dict.fromkeys(reading for reading in readings if reading))


def _c_number(part: str) -> int:
    if part[:2] in ("0x", "0X"):
        return int(part[2:] or "0", 16)
    octal = len(part) > 1 and part[0] == "0" and not set(part) & {"8", "9"}
    return int(part, 8) if octal else _decimal(part)


def _decimal(part: str) -> int:
    return int(part) if part.isdigit() else MAX_IPV4 + 1


def _joined(numbers: list[int]) -> str:
    *heads, last = numbers
    if any(head > 0xFF for head in heads) or last >= 1 << (8 * (4 - len(heads))):
        return ""
    number = sum(head << (24 - 8 * at) for at, head in enumerate(heads)) + last
    return ".".join(str(number >> shift & 0xFF) for shift in (24, 16, 8, 0))


@lru_cache(maxsize=JUDGED_KEPT)
def judge(address: str, allow_networks: tuple[str, ...] = ()) -> str:
    """Why not to go there ("a private address (10.0.0.1)"), or "" if it is public or its network is allowed."""
    parsed = _parse(address)
    if parsed is None:
        return f"no address ({address[:MAX_HOST]!r})"
    return next((objection for meant in _meanings(parsed) if (objection := _objection(meant, allow_networks))), "")


def is_near(address: str) -> bool:
    """Whether the address is this machine, its link, or its cloud's service for it alone; however it is written."""
    parsed = _parse(address)
    return parsed is None or any(map(_is_near, _meanings(parsed)))


def _is_near(address: "Address") -> bool:
    at_hand = address.is_loopback or address.is_link_local or address.is_unspecified
    return at_hand or address.is_multicast or str(address) in _METADATA


def _objection(address: "Address", allow_networks: tuple[str, ...]) -> str:
    if any(address in network for network in _networks(allow_networks)):
        return ""
    if str(address) in _METADATA:
        return f"a cloud metadata service ({address})"
    for network, (_, what) in zip(_networks(tuple(text for text, _ in _SPECIAL)), _SPECIAL, strict=True):
        if address in network:
            return f"{what} ({address})"
    return "" if address.is_global else f"a reserved address ({address})"


def _meanings(address: "Address") -> list["Address"]:
    """An IPv6 address may be an envelope around an IPv4 one: then that is where the packet ends up."""
    from ipaddress import IPv4Address, IPv6Address

    if not isinstance(address, IPv6Address):
        return [address]
    number = int(address)
    low = IPv4Address(number & MAX_IPV4)
    if number >> 32 in _ENVELOPES or (number >> 32 == 0 and number > 0xFFFF):
        return [low]
    if address.sixtofour:
        return [address.sixtofour]
    if number >> 32 & MAX_IPV4 in _ISATAP:
        return [address, low]
    return [address]


def _parse(text: str) -> "Address | None":
    from ipaddress import ip_address

    try:
        return ip_address(text.partition("%")[0])
    except ValueError:
        return None


@lru_cache(maxsize=64)
def _networks(blocks: tuple[str, ...]) -> tuple["Network", ...]:
    """Blocks that cannot be read allow nothing; the configuration reports them when it is loaded."""
    from ipaddress import ip_network

    found: list[Network] = []
    for block in blocks:
        try:
            found.append(ip_network(block, strict=False))
        except ValueError:
            continue
    return tuple(found)
