"""Why a place cannot be reached over HTTP, and what can be done about it. Loads aiohttp: import it on first use."""

from __future__ import annotations

import os
import re
import ssl

import aiohttp
from aiohttp.http_exceptions import HttpProcessingError
from yarl import URL

from clawft.policy.address import is_loopback

TRUST = "if you trust its issuer, set SSL_CERT_FILE to a file with the issuer's certificate and start again"
CLOCK = "the operator of the server must renew it; also check the clock of this machine"
WEAK = "whoever runs the server has to get one with a longer key and a newer signature"
NAME = "use the name in the certificate, or ask the operator of the server for a certificate with this name"

_EXPIRED, _EARLY = 10, 9
_MEANT_FOR = frozenset({62, 63, 64})
"""OpenSSL's codes for a certificate of another host, address or mailbox."""
_TOO_WEAK = frozenset({66, 67, 68})
"""A key or a signature, its own or that of whoever signed it: no trust makes them stronger."""

_PROXIES = ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy")
"""Variables by which other programs leave a network that lets nobody out."""

NO_HTTP = (aiohttp.ClientResponseError, HttpProcessingError)
MAX_TOLD_CHARS = 200
"""Of what is wrong with an answer that is no HTTP."""

_QUOTED = re.compile(r"""[:\s]*(?:bytearray\()?\bb['"].*""", re.DOTALL)
"""As the library shows bytes, at the end of what it says."""
_NOT_WHOLE = "Response payload is not completed"
_LEFT = "Server disconnected"
_UNSENT = "Can not write request body"
_CODING = "Can not decode content-encoding:"


class GarbledBody(aiohttp.ClientPayloadError):
    """The body of an answer that is not what its head says."""


class EndlessAnswer(aiohttp.ServerDisconnectedError):
    """So much came around an answer that we closed the connection."""


def is_garbled(error: BaseException) -> bool:
    """Whether something was sent that nobody can read, where a connection that breaks off may be nobody's fault."""
    return is_no_http(error) or isinstance(error, GarbledBody | EndlessAnswer) or _CODING in str(error)


def is_no_http(error: BaseException) -> bool:
    """Whether the server was reached and has answered in another protocol; the library calls that a bad request, with
    status 400.
    """
    return isinstance(error, NO_HTTP) and not isinstance(error, aiohttp.ClientHttpProxyError)


def is_of_proxy(error: BaseException, url: str) -> bool:
    """Whether the proxy stood in the way there."""
    if isinstance(error, aiohttp.ClientHttpProxyError | aiohttp.ClientProxyConnectionError):
        return True
    return isinstance(error, aiohttp.ClientConnectorDNSError) and error.host != URL(url).raw_host


def was_disconnected(error: BaseException) -> bool:
    """Whether the server closed the connection before it had answered. Where we closed it, the error has
    our own words.
    """
    if not isinstance(error, aiohttp.ServerDisconnectedError):
        return False
    return not isinstance(error.message, str) or error.message == _LEFT


def got_no_response(error: BaseException) -> bool:
    """Whether the connection was closed before a byte of the answer. It may have been closed just as it was
    used again.
    """
    if isinstance(error, aiohttp.ServerConnectionError):
        return isinstance(error, aiohttp.ServerDisconnectedError) and error.message == _LEFT
    return isinstance(error, aiohttp.ClientConnectionError) and not isinstance(error, aiohttp.ClientConnectorError)


def reason(error: BaseException) -> str:
    """The library wraps it in the host and the port, which whoever reads this knows already."""
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        certificate = error.certificate_error
        return f"its certificate is rejected: {getattr(certificate, 'verify_message', '') or certificate}"
    if isinstance(error, aiohttp.ClientHttpProxyError):
        return f"it rejects the connection with status {error.status}"
    if isinstance(error, aiohttp.InvalidURL):
        return "it is not an address"
    if isinstance(error, aiohttp.ConnectionTimeoutError):
        return "it did not open the connection in time"
    if isinstance(error, aiohttp.ClientConnectorError):
        return _of_system(error.os_error)
    if was_disconnected(error):
        return "it closed the connection before its answer was whole"  # not with the headers that came, of any kind
    if _UNSENT in str(error):
        return "it closed the connection before our request was whole"
    if _CODING in str(error):
        return f"its answer is packed in a way that was not asked for, or not as it says ({_coding(str(error))})"
    if str(error).startswith(_NOT_WHOLE):
        return "it closed the connection before its answer was whole"
    if isinstance(error, NO_HTTP):
        return " ".join(error.message.replace("^", " ").split())[:MAX_TOLD_CHARS]
    return str(error) or type(error).__name__


def reason_untold(error: BaseException) -> str:
    """The reason, like `reason`, without a word that came from the other side: it may be a token."""
    return _QUOTED.sub("", reason(error))


def _coding(words: str) -> str:
    """The library goes on with what to install, which is not for whoever runs us to do."""
    return words.partition(_CODING)[2].partition(".")[0].strip()


def _of_system(error: OSError) -> str:
    if isinstance(error, ssl.SSLError):
        return f"no TLS could be agreed on: {(error.reason or str(error)).replace('_', ' ').lower()}"
    number = error.errno or 0
    return os.strerror(number) if number > 0 else error.strerror or str(error) or "it closed the connection at once"


def advice(error: BaseException) -> str:
    """The next step for the user; empty where nobody can know."""
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        code = getattr(error.certificate_error, "verify_code", 0)
        return _advice_on(code)
    cause = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else None
    if isinstance(cause, ssl.SSLError) and cause.reason == "WRONG_VERSION_NUMBER":
        return "check whether its address begins with http:// instead of https://"
    return _advice_on_proxies(error.host) if isinstance(error, aiohttp.ClientConnectorError) else ""


def _advice_on_proxies(host: str) -> str:
    """Where other programs get through, and we do not."""
    proxy = None if is_loopback(host) else next(filter(os.environ.get, _PROXIES), None)
    problem = f"{proxy} is set, which weft does not use: it must reach the address directly"
    return f"{problem}; the entry of an MCP server may name a `proxy`" if proxy else ""


def _advice_on(code: int) -> str:
    """By what OpenSSL calls the fault of a certificate."""
    if code in (_EXPIRED, _EARLY):
        return CLOCK
    if code in _MEANT_FOR:
        return NAME
    return WEAK if code in _TOO_WEAK else TRUST
