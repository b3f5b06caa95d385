"""After every attack: is the next good client served, and is anything left behind?"""

from tests.servers.raw_http import ask, head, modern_call


async def is_well(port: int) -> None:
    answer = await ask(port, modern_call(port, 1, "probe__echo", {"token": "well"}))
    assert answer.status == 200
    assert answer.json()["result"]["structuredContent"] == {"token": "well"}


async def in_flight(port: int) -> int:
    """Requests that are being worked on, as the gateway counts them."""
    metrics = (await ask(port, head(port, "GET", {}, "/metrics"))).body.decode()
    return int(metrics.partition("\nclawft_requests_in_flight ")[2].split()[0])
