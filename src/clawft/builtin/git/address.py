"""Checks where a repository may come from: https and ssh to known hosts, or a folder of the workspace."""

import re

from msgspec import Struct

from clawft.builtin.git.argument_checks import word
from clawft.builtin.git.settings import MANIFEST
from clawft.errors import PermissionDenied
from clawft.provider.manifest import Manifest, check_host
from clawft.store.home import home

_HOST = r"(?P<host>[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?)"
_PATH = r"[A-Za-z0-9_~.][^\x00-\x20\x7f\\]*"
_USER = r"(?P<user>[A-Za-z0-9_][A-Za-z0-9_.-]*)@"
_HTTPS = re.compile(rf"https://{_HOST}(?::\d{{1,5}})?/{_PATH}")
_SSH = re.compile(rf"ssh://(?:{_USER})?{_HOST}(?::\d{{1,5}})?/{_PATH}")
_SCP = re.compile(rf"(?:{_USER})?{_HOST}:{_PATH}")
_SCHEME = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):(?::|//)")


class RemoteAddress(Struct, frozen=True):
    """An address. `protocol` is git's own word for it; `host` is empty for a local one, and `place` its path."""

    protocol: str
    place: str
    host: str = ""


def read_address(tool: str, url: str) -> RemoteAddress:
    """Parse the address. PermissionDenied names the forms that are allowed."""
    word(tool, "url", url)
    for protocol, form in (("https", _HTTPS), ("ssh", _SSH)):
        if found := form.fullmatch(url):
            return RemoteAddress(protocol, url, found["host"])
    if url.startswith("file://"):
        return RemoteAddress("file", url.removeprefix("file://"))
    if scheme := _SCHEME.match(url):
        raise _refused(tool, f"{scheme['scheme']} is not an allowed way to reach a repository")
    if found := _SCP.fullmatch(url):
        return RemoteAddress("ssh", url, found["host"])
    if ":" in url.partition("/")[0]:
        raise _refused(tool, f"{url!r} is not an address of a repository")
    return RemoteAddress("file", url)


def check_address(tool: str, address: RemoteAddress, manifest: Manifest, *, local: bool) -> None:
    """Raises PermissionDenied for a host that is not allowed, or a folder where those are switched off."""
    if address.protocol == "file":
        if not local:
            raise _refused(tool, "repositories on this machine are switched off")
        return
    try:
        check_host(manifest, tool, address.host)
    except PermissionDenied:
        raise _closed(tool, address.host, manifest) from None


def _closed(tool: str, host: str, manifest: Manifest) -> PermissionDenied:
    """The line of the hint keeps the hosts that were added before."""
    added = [each for each in manifest.permissions.network if each not in MANIFEST.permissions.network]
    hosts = ", ".join(f'"{each}"' for each in (*added, host))
    return PermissionDenied(
        tool,
        f"git may not use the network to reach '{host}'",
        hint=f"a person can add it to {home() / 'config.toml'}, below [git]: hosts = [{hosts}]",
    )


def _refused(tool: str, reason: str) -> PermissionDenied:
    hint = "https://host/path, ssh://git@host/path, git@host:path, or a folder of the workspace; no password in it"
    return PermissionDenied(tool, reason, hint=hint)
