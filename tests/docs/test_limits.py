"""docs/reference/limits.md names every bound there is, and its true value."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import Any, cast

import msgspec
import pytest

from tests.docs.pages import ROOT, inline_code, rows
from tests.requirements import requirement

PAGE = ROOT / "docs" / "reference" / "limits.md"
SOURCES = ROOT / "src"

UNITS = {"": 1, "bytes": 1, "KiB": 1024, "MiB": 1024**2, "MB": 10**6, "characters": 1, "ms": 1, "s": 1}
_AMOUNT = re.compile(r"(?P<number>[\d.,]+) ?(?P<unit>[A-Za-z]*)")
_BOUND = re.compile(r"MAX_\w+|[A-Z]\w*_(SECONDS|BYTES|MS|S|CHARS|LIMIT)")

NO_BOUNDS = {
    "clawft.gateway.core.KEY_BYTES": "the size of a key",
    "clawft.auth.encryption.KEY_BYTES": "the size of a key",
    "clawft.gateway.questions.NONCE_BYTES": "the size of a name that nothing else has",
    "clawft.auth.encryption.NONCE_BYTES": "the size of a nonce",
    "clawft.delegate.flow.POLL_SECONDS": "how often to ask",
    "clawft.link.pipe_ends.PIPE_BYTES": "a wish to the system, to save wake-ups",
    "clawft.link.line_writer.PIECEWISE_BYTES": "which of two ways to write is faster",
    "clawft.wire.inplace.INPLACE_BYTES": "which of two ways to change a message is faster",
    "clawft.link.stdio_in.READ_BYTES": "a piece of work",
    "clawft.app.status_socket.READ_BYTES": "a piece of work",
    "clawft.link.http_in.exchange.PIECE_BYTES": "a piece of work",
    "clawft.link.http_in.reader.SLICE_BYTES": "a piece of work",
    "clawft.link.http_out.fetch.CHUNK_BYTES": "a piece of work",
    "clawft.sandbox.egress_proxy.PIECE_BYTES": "a piece of work",
    "clawft.policy.address.MAX_IPV4": "the largest IPv4 address",
    "clawft.cli.gateway.MAX_PORT": "the largest port",
    "clawft.policy.url_rules.MAX_PORT": "the largest port",
    "clawft.cli.agent.screen.MAX_SHOWN": "manners of the screen",
    "clawft.cli.screen.reply.QUIET_SECONDS": "manners of the screen",
    "clawft.cli.screen.reply.TICK_SECONDS": "manners of the screen",
    "clawft.cli.audit.tail.LOOK_SECONDS": "manners of the screen",
    "clawft.cli.audit.search.LATE_SECONDS": "a guess at how late a line may be",
    "clawft.cli.screen.questions.TICK_SECONDS": "manners of the screen",
    "clawft.builtin.cargo.arguments.SHOWN_CHARS": "manners of an error",
    "clawft.builtin.ide.review.SHOWN_CHARS": "manners of a question",
    "clawft.builtin.ide.text.MAX_NAMED": "manners of an error",
    "clawft.builtin.ide.vscode.rendezvous.TOKEN_BYTES": "the size of a token",
    "clawft.provider.server.call.refusal.DATA_CHARS": "manners of an error",
    "clawft.auth.endpoint.DETAIL_CHARS": "manners of an error",
    "clawft.auth.web.REASON_CHARS": "manners of an error",
    "clawft.auth.flow.SAID_CHARS": "manners of an error",
    "clawft.guard.approval.excerpt.SEAM_CHARS": "manners of a question",
    "clawft.guard.approval.excerpt.MAX_EMPTY_LINES": "manners of a question",
    "clawft.builtin.missing_servers.WHY_CHARS": "manners of an error",
    "clawft.provider.server.server_provider.SHOWN_CHARS": "manners of an error",
    "clawft.wire.stateless.READ_TTL_MS": "zero: resources are not to be cached",
}


def listed() -> list[tuple[str, str]]:
    """Constant → the amount the page gives."""
    return [(name, row[1]) for row in rows(PAGE.read_text()) for name in inline_code(row[-1])]


def amount(text: str) -> float:
    """`16 MiB` as a number of the constant's own unit."""
    found = _AMOUNT.fullmatch(text)
    assert found, f"{text!r} is no amount"
    return float(found["number"].replace(",", "")) * UNITS[found["unit"]]


def value_of(dotted: str) -> Any:
    """The constant, or the default of a field: `clawft.link.http_in.head.Limits.headers`."""
    module, names = _module(dotted)
    found: Any = import_module(module)
    for name in names:
        found = getattr(_made(found), name)
    return found


def _made(found: Any) -> Any:
    """An instance of a Struct, so that its fields have their defaults."""
    if isinstance(found, type) and issubclass(found, msgspec.Struct):
        return found()
    return cast("Any", found)


def _module(dotted: str) -> tuple[str, list[str]]:
    parts = dotted.split(".")
    inside = next((at for at, part in enumerate(parts) if part != part.lower() or part.startswith("_")), len(parts))
    return ".".join(parts[:inside]), parts[inside:]


@cache
def bounds_in_the_code() -> tuple[str, ...]:
    """Public numbers at the top of a module that are named like a bound."""
    return tuple(_bounds())


def _bounds() -> Iterator[str]:
    for file in sorted(SOURCES.glob("clawft/**/*.py")):
        module = ".".join(file.relative_to(SOURCES).with_suffix("").parts).removesuffix(".__init__")
        for statement in ast.parse(file.read_text()).body:
            name = _assigned(statement)
            if _BOUND.fullmatch(name) and isinstance(getattr(import_module(module), name), int | float):
                yield f"{module}.{name}"


def _assigned(statement: ast.stmt) -> str:
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return name
        case _:
            return ""


@requirement("QUAL-12")
@pytest.mark.parametrize(("constant", "told"), listed())
def test_a_limit_is_what_the_page_says(constant: str, told: str) -> None:
    assert amount(told) == value_of(constant)


@requirement("QUAL-12")
def test_every_bound_is_on_the_page() -> None:
    known = {name for name, _ in listed()} | NO_BOUNDS.keys()
    missing = [name for name in bounds_in_the_code() if name not in known]
    assert missing == [], f"add them to {PAGE.relative_to(ROOT)}"


@requirement("QUAL-12")
def test_what_is_no_bound_still_exists() -> None:
    assert [name for name in NO_BOUNDS if name not in set(bounds_in_the_code())] == []
