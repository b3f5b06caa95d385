"""`weft serve-model`: a scenario as a local Messages and Chat Completions API, to test anybody's agent offline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from clawft.cli.gateway import DEFAULT_HOST, cannot_listen, host, place, port
from clawft.cli.main import begin_loop
from clawft.cli.parser import Options, Parser, Verb
from clawft.cli.screen import paint
from clawft.config.places import expanded

if TYPE_CHECKING:  # help needs none of it
    from clawft.delegate.endpoint import Log

DEFAULT_PORT = 8766
GRACE_SECONDS = 2.0


def _options(parser: Parser) -> None:
    parser.add_argument("--scenario", metavar="FILE", required=True, help="what the model says, as TOML")
    parser.add_argument(
        "--host", metavar="ADDRESS", type=host, default=DEFAULT_HOST, help=f"where to listen ({DEFAULT_HOST})"
    )
    parser.add_argument(
        "--port", metavar="N", type=port, default=DEFAULT_PORT, help=f"0: any free one (default: {DEFAULT_PORT})"
    )
    parser.add_argument("--log", metavar="FILE", help="append each request there, one line of JSON")
    parser.add_argument("--json", action="store_true", help="print the address as one line of JSON")


def _serve(options: Options) -> int:
    from clawft.app import run  # brings the loop
    from clawft.delegate.scenario import read

    scenario = read(expanded(options.scenario))
    return begin_loop(run, _listen(options, scenario))


async def _listen(options: Options, scenario: Any) -> int:
    from clawft.app import stop_signal  # loaded by now
    from clawft.delegate.endpoint import LOCAL, MAX_BODY, Endpoint
    from clawft.link.http_in.server import HttpServer, Limits, of_asgi
    from clawft.policy.address import is_loopback

    hosts = LOCAL | {options.host} if is_loopback(options.host) else None
    endpoint = Endpoint(scenario, _log_to(options.log), hosts)
    server = HttpServer(of_asgi(endpoint), limits=Limits(body_bytes=MAX_BODY))
    stop = stop_signal()
    try:
        bound = await server.start(options.host, options.port)
    except OSError as failure:
        raise cannot_listen(failure, place(options.host, options.port)) from failure
    _announce(f"http://{place(*bound)}", options)
    code = await stop
    await server.stop(GRACE_SECONDS)
    return code


def _log_to(file: str | None) -> Log:
    if file is None:
        return lambda path, body: None
    place = expanded(file)

    def log(path: str, body: dict[str, Any]) -> None:
        with place.open("ab") as opened:
            opened.write(msgspec.json.encode({"path": path, "body": body}) + b"\n")

    return log


def _announce(url: str, options: Options) -> None:
    if options.json:
        print(msgspec.json.encode({"url": url}).decode(), flush=True)
        return
    print(
        f"the scenario answers at {paint(url, 'bold')}\n\n"
        f"  export ANTHROPIC_BASE_URL={url} ANTHROPIC_API_KEY=any\n"
        f"  export OPENAI_BASE_URL={url}/v1 OPENAI_API_KEY=any\n\nCtrl-C stops it.",
        flush=True,
    )


VERBS = {"": Verb("Serve a scenario as a model's API", _options, _serve)}
