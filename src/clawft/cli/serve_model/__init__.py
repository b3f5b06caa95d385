"""`weft serve-model`: a scenario as a model's API (`serve`). What it takes stands here."""

from __future__ import annotations

from clawft.cli.gateway import DEFAULT_HOST, host, port
from clawft.cli.parser import Parser, Verb

DEFAULT_PORT = 8766


def _options(parser: Parser) -> None:
    parser.add_argument("--scenario", metavar="FILE", required=True, help="the scripted responses, as TOML")
    parser.add_argument(
        "--host", metavar="ADDRESS", type=host, default=DEFAULT_HOST, help=f"where to listen ({DEFAULT_HOST})"
    )
    parser.add_argument(
        "--port", metavar="N", type=port, default=DEFAULT_PORT, help=f"0 for any free port (default: {DEFAULT_PORT})"
    )
    parser.add_argument("--log", metavar="FILE", help="append each request to FILE, as one line of JSON")
    parser.add_argument("--json", action="store_true", help="print the address as one line of JSON")


VERBS = {"": Verb("Serve a scenario as a model's API", _options, "clawft.cli.serve_model.serve")}
