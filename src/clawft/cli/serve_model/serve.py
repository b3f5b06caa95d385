"""`weft serve-model`: a scenario as a local Messages and Chat Completions API, to test anybody's agent offline."""

from __future__ import annotations

from typing import Any

import msgspec

from clawft.app import loop
from clawft.cli.gateway.listen_address import address_text, cannot_listen
from clawft.cli.main import begin_loop
from clawft.cli.parser import Options
from clawft.cli.screen import paint
from clawft.config.places import expanded
from clawft.delegate.endpoint import LOCAL, MAX_BODY, Endpoint, Log
from clawft.delegate.scenario import read
from clawft.link.http_in.server import HttpServer, Limits, of_asgi
from clawft.policy.address import is_loopback

GRACE_SECONDS = 2.0


def run(options: Options) -> int:
    scenario = read(expanded(options.scenario))
    return begin_loop(loop.run, _listen(options, scenario))


async def _listen(options: Options, scenario: Any) -> int:
    hosts = LOCAL | {options.host} if is_loopback(options.host) else None
    endpoint = Endpoint(scenario, _log_to(options.log), hosts)
    server = HttpServer(of_asgi(endpoint), limits=Limits(body_bytes=MAX_BODY))
    stop = loop.stop_signal()
    try:
        bound = await server.start(options.host, options.port)
    except OSError as failure:
        raise cannot_listen(failure, address_text(options.host, options.port)) from failure
    _announce(f"http://{address_text(*bound)}", options)
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
