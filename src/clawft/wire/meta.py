"""The `_meta` of a request: the keys the protocol owns, read once; everything else stays in the raw bytes."""

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType, field

from clawft.errors import MAX_TOLD, BadParams
from clawft.model import Capabilities

PREFIX = "io.modelcontextprotocol/"
VERSION = PREFIX + "protocolVersion"
CAPABILITIES = PREFIX + "clientCapabilities"
CLIENT = PREFIX + "clientInfo"
SERVER = PREFIX + "serverInfo"
LOG_LEVEL = PREFIX + "logLevel"
SUBSCRIPTION = PREFIX + "subscriptionId"
HOP = frozenset({VERSION, CAPABILITIES, CLIENT, LOG_LEVEL, SERVER, SUBSCRIPTION})
"""The keys between two neighbours: each writes its own, and hands none on."""
TASKS = PREFIX + "tasks"
"""The id of the tasks extension."""

OUR_PREFIX = "dev.clawft/"
ASKING_SERVER = OUR_PREFIX + "server"
"""The server that asks, in a question whose text is not ours to touch."""
QUESTION_KEY = OUR_PREFIX + "key"
"""The tool's name for its question: the handshake era has no place for it, and another clawft wants to know."""
NEEDS = OUR_PREFIX + "needs"
"""The needs of a tool, shaped like client capabilities: no revision has a place for them."""

DELEGATES = OUR_PREFIX + "delegates"
"""How many delegates stand above a call: the next weft cannot know it otherwise, and they may call in circles."""

HOPS = OUR_PREFIX + "hops"
"""How many gateways of ours a definition has come through: they may serve one another."""

MAX_EXTENSION_BYTES = 4 * 1024
"""Of what a client says about extensions that are between it and the servers."""

LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
RANK = {level: rank for rank, level in enumerate(LEVELS)}


def check_level(level: str) -> str:
    """The level. Raises BadParams for one that there is not."""
    if level not in RANK:
        raise BadParams(f"unknown log level {level[:MAX_TOLD]!r}", hint=f"one of {', '.join(LEVELS)}")
    return level


class _Delegates(Struct, frozen=True):
    above: int = field(default=0, name=DELEGATES)


_delegates = msgspec.json.Decoder(_Delegates)


class Meta(Struct, frozen=True):
    version: str | UnsetType = field(default=UNSET, name=VERSION)
    capabilities: Raw | UnsetType = field(default=UNSET, name=CAPABILITIES)
    client: Raw | UnsetType = field(default=UNSET, name=CLIENT)
    log_level: str | UnsetType = field(default=UNSET, name=LOG_LEVEL)
    progress_token: Raw | UnsetType = field(default=UNSET, name="progressToken")


NOTHING = Meta()


class Params(Struct, frozen=True):
    """The members of any request's params that the protocol itself reads: `_meta`, and those that `Mcp-Name` may
    mirror.
    """

    meta: Meta = field(default=NOTHING, name="_meta")
    name: Raw | UnsetType = UNSET
    uri: Raw | UnsetType = UNSET
    task: Raw | UnsetType = field(default=UNSET, name="taskId")

    def named(self, parameter: str) -> str | None:
        """The value of this parameter, if it is there and a string."""
        raw = self.name if parameter == "name" else self.uri if parameter == "uri" else self.task
        return None if raw is UNSET or bytes(raw)[:1] != b'"' else _string.decode(raw)


class _ElicitationModes(Struct, frozen=True):
    form: Raw | UnsetType = UNSET
    url: Raw | UnsetType = UNSET


class _Sampling(Struct, frozen=True):
    tools: Raw | UnsetType = UNSET
    context: Raw | UnsetType = UNSET


class _ClientCapabilities(Struct, frozen=True):
    elicitation: _ElicitationModes | UnsetType = UNSET
    sampling: Raw | UnsetType = UNSET
    roots: Raw | UnsetType = UNSET
    extensions: dict[str, Raw] | UnsetType = UNSET


class _Implementation(Struct, frozen=True):
    name: str = ""
    version: str = ""


_params = msgspec.json.Decoder(Params)
_meta = msgspec.json.Decoder(Meta)
_string = msgspec.json.Decoder(str)
_capabilities = msgspec.json.Decoder(_ClientCapabilities)
_sampling = msgspec.json.Decoder(_Sampling)
_implementation = msgspec.json.Decoder(_Implementation)

_NO_PARAMS = Params()


def read(params: bytes) -> Meta:
    """The `_meta` of these params; empty if there is none. Raises BadParams if it is not what the protocol says."""
    return read_params(params).meta


def read_meta(raw: bytes) -> Meta:
    """A `_meta` that stands alone. Raises BadParams if it is not what the protocol says."""
    try:
        return _meta.decode(raw)
    except msgspec.DecodeError as wrong:
        raise BadParams(f"_meta: {wrong}") from None


def read_params(params: bytes) -> Params:
    """The `_meta` of these params, and the names. Raises BadParams for a `_meta` that is not what the protocol says."""
    if not params:
        return _NO_PARAMS
    try:
        return _params.decode(params)
    except RecursionError:  # whoever has read the message stood higher on the stack
        raise BadParams("params are nested too deeply") from None
    except msgspec.DecodeError as wrong:
        raise BadParams(f"_meta: {wrong}") from None


_VERSION = VERSION.removeprefix(PREFIX).encode()
"""Without its prefix: JSON may spell the slash of the key with a backslash."""


def may_name_version(params: bytes) -> bool:
    """Whether this could be of the stateless dialect. A quick look, right whenever it says no."""
    return _VERSION in params


def claims_stateless(params: bytes) -> bool:
    """Whether these params speak the stateless dialect. Decided by the one key that only this era has."""
    if not may_name_version(params):
        return False
    try:
        return read(params).version is not UNSET
    except BadParams:
        return _has_version(params)


class _Claim(Struct, frozen=True):
    version: Raw | UnsetType = field(default=UNSET, name=VERSION)


class _ClaimParams(Struct, frozen=True):
    meta: _Claim | UnsetType = field(default=UNSET, name="_meta")


_claim = msgspec.json.Decoder(_ClaimParams)


def _has_version(params: bytes) -> bool:
    """Whether the version is there at all, whatever is wrong with the rest."""
    try:
        found = _claim.decode(params).meta
    except RecursionError:
        return True  # as far as can be seen, and there it is refused
    except msgspec.DecodeError:
        return False
    return found is not UNSET and found.version is not UNSET


def read_capabilities(raw: bytes) -> Capabilities:
    """The capabilities that a client declares. `"elicitation": {}` means forms only."""
    try:
        declared = _capabilities.decode(raw)
    except msgspec.DecodeError as wrong:
        raise BadParams(f"client capabilities: {wrong}") from None
    elicitation = declared.elicitation
    url = elicitation is not UNSET and elicitation.url is not UNSET
    sampling = _read_sampling(declared.sampling)
    return Capabilities(
        elicit_form=elicitation is not UNSET and (elicitation.form is not UNSET or not url),
        elicit_url=url,
        sampling=declared.sampling is not UNSET,
        roots=declared.roots is not UNSET,
        tasks=declared.extensions is not UNSET and TASKS in declared.extensions,
        sampling_tools=sampling.tools is not UNSET,
        sampling_context=sampling.context is not UNSET,
        extensions=_read_extensions(declared.extensions),
    )


def _read_sampling(raw: Raw | UnsetType) -> _Sampling:
    """Whatever else stands there means that it can be asked, and no more."""
    return _Sampling() if raw is UNSET or bytes(raw)[:1] != b"{" else _sampling.decode(raw)


def _read_extensions(told: dict[str, Raw] | UnsetType) -> tuple[tuple[str, bytes], ...]:
    """All but the one that is ours to serve; none, if there is no end to them."""
    known = {} if told is UNSET else {name: bytes(value) for name, value in told.items() if name != TASKS}
    size = sum(len(name) + len(value) for name, value in known.items())
    return tuple(known.items()) if size <= MAX_EXTENSION_BYTES else ()


NEEDED = {"sampling": "sampling", "roots": "roots", "elicitation": "elicit_form"}
"""The needs that a tool may have of its client, as the wire spells them and as we do."""


def write_needs(needs: Capabilities) -> dict[str, dict[str, str]]:
    return {wire: {} for wire, field in NEEDED.items() if getattr(needs, field)}


def write_delegates(above: int) -> bytes:
    """The `_meta` of a call below so many delegates; nothing where there are none."""
    return msgspec.json.encode({DELEGATES: above}) if above else b""


def read_delegates(meta: bytes) -> int:
    """The number of delegates; a value that is no number counts as none."""
    try:
        return max(0, _delegates.decode(meta).above) if DELEGATES.encode() in meta else 0
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return 0


def read_client(raw: bytes) -> str:
    """`name/version` for logs; whatever else it may be, it is not worth an error."""
    try:
        named = _implementation.decode(raw)
    except msgspec.DecodeError:
        return ""
    return f"{named.name}/{named.version}"[:200] if named.name else ""


def is_progress_token(raw: Raw | UnsetType) -> bool:
    token = b"" if raw is UNSET else bytes(raw)
    return token[:1] == b'"' or token.lstrip(b"-").isdigit()
