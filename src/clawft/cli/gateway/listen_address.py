"""The address to listen on, and the error if that fails."""

from __future__ import annotations

import errno

from clawft.errors import ClawftError


class CannotListen(ClawftError):
    blame = "the machine"


def address_text(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def cannot_listen(failure: OSError, where: str) -> CannotListen:
    match failure.errno:
        case errno.EADDRINUSE:
            return CannotListen(f"{where} is in use", hint="weft gateway --port 0 uses a free one, --port N another")
        case errno.EACCES | errno.EPERM:
            return CannotListen(f"{where} needs more permissions", hint="choose a port above 1023, like --port 8765")
        case _:  # a name that does not resolve, an address of another machine, a family that is switched off
            reason = failure.strerror or str(failure)
            hint = "--host 127.0.0.1, or 0.0.0.0 for all addresses of this machine"
            return CannotListen(f"{where} cannot be listened on: {reason}", hint=hint)
