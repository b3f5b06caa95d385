"""After every attack: is the next good client served?"""

from tests.servers.raw_http import ask, modern_call


async def is_well(port: int) -> None:
    answer = await ask(port, modern_call(port, 1, "probe__echo", {"token": "well"}))
    assert answer.status == 200
    assert answer.json()["result"]["structuredContent"] == {"token": "well"}
