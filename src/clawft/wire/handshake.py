"""The dialect of 2024-11-05 to 2025-11-25: initialize fixes who calls, results travel plain."""

from functools import lru_cache
from typing import Any

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from clawft.errors import (
    INVALID_PARAMS,
    MISSING_CAPABILITY,
    RESOURCE_NOT_FOUND,
    BadParams,
    ClawftError,
    JsonRpcFailure,
    ResourceNotFound,
)
from clawft.model import Capabilities
from clawft.wire import meta as metas
from clawft.wire.methods import SERVED
from clawft.wire.revisions import HANDSHAKE, Revision, negotiate


class Hello(Struct, frozen=True):
    """The content of initialize, and the revision we answer with."""

    revision: str
    capabilities: Capabilities
    client: str


class _InitializeParams(Struct, rename="camel"):
    protocol_version: str | UnsetType = UNSET
    capabilities: Raw | UnsetType = UNSET
    client_info: Raw | UnsetType = UNSET


_initialize = msgspec.json.Decoder(_InitializeParams)


def read_initialize(params: bytes) -> Hello:
    try:
        hello = _initialize.decode(params or b"{}")
    except msgspec.DecodeError as wrong:
        raise BadParams(f"initialize: {wrong}") from None
    if hello.protocol_version is UNSET:
        raise BadParams("initialize lacks protocolVersion")
    capabilities = Capabilities() if hello.capabilities is UNSET else metas.read_capabilities(bytes(hello.capabilities))
    client = "" if hello.client_info is UNSET else metas.read_client(bytes(hello.client_info))
    return Hello(negotiate(hello.protocol_version), capabilities, client)


_TASKS: dict[str, Any] = {"tasks": {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}}


@lru_cache
def capabilities(revision: Revision) -> bytes:
    """The capabilities that initialize declares. In the first revision completion needed no capability."""
    completions: dict[str, Any] = {} if revision.name == HANDSHAKE[0] else {"completions": {}}
    return msgspec.json.encode({**SERVED, **completions, **(_TASKS if revision.core_tasks else {})})


def initialize_result(revision: str, capabilities: bytes, server: bytes, instructions: str) -> bytes:
    extra = b',"instructions":' + msgspec.json.encode(instructions) if instructions else b""
    return (
        b'{"protocolVersion":"%s","capabilities":' % revision.encode()
        + capabilities
        + b',"serverInfo":'
        + server
        + extra
        + b"}"
    )


def error_code(error: ClawftError) -> int:
    """Codes of this era: a missing resource has its own, the stateless ones do not exist."""
    if isinstance(error, ResourceNotFound):
        return RESOURCE_NOT_FOUND
    if isinstance(error, JsonRpcFailure):
        from clawft.wire.codes import passed_on  # only where a server says no

        return passed_on(error.error_code)
    return INVALID_PARAMS if error.code == MISSING_CAPABILITY else error.code
