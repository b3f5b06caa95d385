"""All errors, as one tree.

    ClawftError
    ├── WireError                 the bytes or the envelope are wrong
    │   ├── ParseError            not JSON, not UTF-8, too deep
    │   ├── BadEnvelope           JSON, but no JSON-RPC message
    │   │   └── BadNotification   without an id: nobody waits for an answer
    │   ├── MessageTooLong        longer than the bound of the link
    │   ├── HeaderMismatch        HTTP headers and body disagree (stateless era)
    │   └── UnsupportedRevision   a protocol revision we do not serve
    ├── ProtocolFailure           the peer broke the protocol: an answer that is none, a wrong shape
    │   └── UnreadableAnswer      an answer that is no message
    ├── RequestRefused            the envelope is fine, the request is not
    │   ├── UnknownMethod
    │   ├── NotInitialized        a handshake-era request before initialize
    │   ├── BadParams             parameters of the method itself
    │   ├── ToolNotFound          unknown tool, prompt or namespace (a hidden tool looks the same)
    │   ├── ResourceNotFound
    │   ├── NotApproved           a person has to approve it first
    │   ├── MissingCapability     the caller did not declare what the tool needs
    │   ├── UrlElicitationRequired  a person must visit an address first (2025-11-25)
    │   ├── TooLarge              a resource or a prompt above its bound
    │   └── Busy                  a bound on calls in flight is reached, or we are shutting down
    ├── ToolError                 becomes a result with isError, so that the model can act on it
    │   ├── InvalidArguments
    │   ├── ExecutionFailed
    │   ├── PermissionDenied
    │   └── IdeError              the editor, or the language server in its place
    │       ├── IdeFileNotFound
    │       ├── IdeNotConnected
    │       ├── IdeFailed
    │       └── IdeTimeout
    ├── LinkError                 the way to a server
    │   ├── LinkClosed
    │   ├── SpawnFailed
    │   ├── ProcessExited
    │   ├── RequestTimeout
    │   ├── NeedsAuth             the server needs a login
    │   ├── LinkRefused           an HTTP status instead of an answer
    │   ├── SessionLost           the server does not know our session any more
    │   └── JsonRpcFailure        the server answered with an error
    ├── LoginFailed               an authorization server said no, or cannot be trusted
    ├── ServerNotFound, NotConnected
    ├── ConfigError
    │   ├── InvalidConfig
    │   ├── ConfigUnreadable
    │   └── ConfigUnparsable
    └── DelegationFailed          a task that was handed over is not done
        └── ModelFailed           the model's API said no, or broke off

Each class knows its JSON-RPC code, HTTP status and exit code, and whom to blame; each instance says what happened and,
in `hint`, what to do next.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

MAX_TOLD = 200
"""Characters of a caller's own words that an error repeats."""

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
NOT_INITIALIZED = -32002
RESOURCE_NOT_FOUND = -32002
HEADER_MISMATCH = -32020
MISSING_CAPABILITY = -32021
UNSUPPORTED_REVISION = -32022
URL_ELICITATION_REQUIRED = -32042


class ClawftError(Exception):
    """An error that says what happened, whose fault it is, and what to do next."""

    code: int = INTERNAL_ERROR
    status: ClassVar[int] = 200
    exit_code: ClassVar[int] = 1
    blame: ClassVar[str] = "clawft"

    def __init__(self, message: str, *, hint: str = "", data: Any = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.data = data

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message


class WireError(ClawftError):
    """`id` is the raw id of the message, where it could still be read."""

    code = INVALID_REQUEST
    status = 400
    blame = "the peer"
    id: bytes | None = None


class ParseError(WireError):
    code = PARSE_ERROR


class BadEnvelope(WireError):
    """JSON, but not a JSON-RPC message."""

    def __init__(self, message: str, *, id: bytes | None = None, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.id = id


class BadNotification(BadEnvelope):
    """JSON without an id, and not a JSON-RPC message: on a pipe it gets no answer."""


class MessageTooLong(WireError):
    status = 413


class HeaderMismatch(WireError):
    code = HEADER_MISMATCH


class UnsupportedRevision(WireError):
    code = UNSUPPORTED_REVISION


class ProtocolFailure(ClawftError):
    blame = "the peer"


class UnreadableAnswer(ProtocolFailure):
    pass


class RequestRefused(ClawftError):
    blame = "the caller"


class UnknownMethod(RequestRefused):
    code = METHOD_NOT_FOUND
    status = 404


class NotInitialized(RequestRefused):
    code = NOT_INITIALIZED


class BadParams(RequestRefused):
    code = INVALID_PARAMS
    status = 400


class ToolNotFound(BadParams):
    """Unknown tool, prompt or namespace. A tool hidden from the caller gets the same words."""


class ResourceNotFound(BadParams):
    """-32602 with `data.uri`; the handshake dialect turns the code into -32002."""

    def __init__(self, uri: str) -> None:
        super().__init__(f"resource not found: {uri[:MAX_TOLD]}", data={"uri": uri})


class NotApproved(RequestRefused):
    code = INVALID_REQUEST
    blame = "nobody: a person decides"


class MissingCapability(RequestRefused):
    """`required` is shaped like ClientCapabilities: `{"sampling": {}}`."""

    code = MISSING_CAPABILITY
    status = 400

    def __init__(self, message: str, *, required: Mapping[str, Any]) -> None:
        super().__init__(message, data={"requiredCapabilities": dict(required)})


class UrlElicitationRequired(RequestRefused):
    """`elicitations` name the addresses; the caller asks its person and calls again."""

    code = URL_ELICITATION_REQUIRED

    def __init__(self, message: str, elicitations: list[dict[str, Any]]) -> None:
        super().__init__(message, data={"elicitations": elicitations})
        self.elicitations = elicitations


class TooLarge(RequestRefused):
    blame = "the server"


class Busy(RequestRefused):
    status = 503


class ToolError(ClawftError):
    """A tool refused or failed: the caller gets a result with `isError`, not a JSON-RPC error."""

    blame = "the tool"


class InvalidArguments(ToolError):
    blame = "the caller"


class ExecutionFailed(ToolError):
    pass


class PermissionDenied(ToolError):
    """A rule forbids it."""

    blame = "a rule"

    def __init__(self, tool: str, reason: str, *, hint: str = "") -> None:
        super().__init__(f"{tool}: permission denied: {reason}" if tool else f"permission denied: {reason}", hint=hint)
        self.tool = tool
        self.reason = reason


class IdeError(ToolError):
    """An operation of an editor failed."""

    blame = "the editor"


class IdeFileNotFound(IdeError):
    def __init__(self, path: str) -> None:
        super().__init__(f"no such file: '{path}'", hint="paths are relative to the workspace")
        self.path = path


class IdeNotConnected(IdeError):
    pass


class IdeFailed(IdeError):
    """`kind` is the editor's reason: stale, bad_range, untrusted, not_ready, rejected, failed."""

    def __init__(self, message: str, *, kind: str = "failed", hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.kind = kind


class IdeTimeout(IdeError):
    def __init__(self, operation: str, ms: int, *, hint: str = "") -> None:
        super().__init__(f"{operation}: no answer within {ms} ms", hint=hint)
        self.ms = ms


class LinkError(ClawftError):
    blame = "the server"


class LinkClosed(LinkError):
    """`is_garbled`: what came cannot be read, and so is the peer's fault and not that of the way there."""

    without_response = False
    """The connection was closed before any part of an answer came."""

    def __init__(self, message: str, *, hint: str = "", is_garbled: bool = False) -> None:
        super().__init__(message, hint=hint)
        self.is_garbled = is_garbled


class SpawnFailed(LinkError):
    """`passing`: the machine lacks something for the moment; it is not the program's fault."""

    def __init__(self, message: str, *, hint: str = "", passing: bool = False) -> None:
        super().__init__(message, hint=hint)
        self.passing = passing


class ProcessExited(LinkError):
    pass


class RequestTimeout(LinkError):
    def __init__(self, what: str, ms: int, more: str = "") -> None:
        super().__init__(f"{what}: no answer within {ms} ms{more}")
        self.ms = ms


class NeedsAuth(LinkError):
    """A login is needed. `challenge` is the WWW-Authenticate header, for the login.

    `passing`: no login was sent, so asking the server again costs nothing.
    """

    def __init__(self, message: str, *, challenge: str = "", hint: str = "", passing: bool = False) -> None:
        super().__init__(message, hint=hint)
        self.challenge = challenge
        self.passing = passing


class LinkRefused(LinkError):
    def __init__(self, message: str, *, http_status: int, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.http_status = http_status


class SessionLost(LinkError):
    pass


class JsonRpcFailure(LinkError):
    """An error answer: `code`, `message` and `data` are the server's."""

    def __init__(self, error_code: int, message: str, data: Any = None) -> None:
        super().__init__(message, data=data)
        self.code = self.error_code = error_code
        self.error_data = data


class LoginFailed(ClawftError):
    blame = "the authorization server"


class ServerNotFound(ClawftError):
    blame = "the caller"


class NotConnected(ClawftError):
    blame = "the server"


class ConfigError(ClawftError):
    blame = "the configuration"
    exit_code = 2


class InvalidConfig(ConfigError):
    pass


class ConfigUnreadable(ConfigError):
    pass


class ConfigUnparsable(ConfigError):
    pass


class DelegationFailed(ClawftError):
    blame = "the delegate"


class ModelFailed(DelegationFailed):
    """`http_status` is 0 where there was no answer; `passing`: another try may help, after `wait` seconds if told."""

    def __init__(
        self, message: str, *, http_status: int = 0, passing: bool = False, wait: float | None = None, hint: str = ""
    ) -> None:
        super().__init__(message, hint=hint)
        self.http_status = http_status
        self.passing = passing
        self.wait = wait
