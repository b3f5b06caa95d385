"""What waits in a circle waits for the collector, and that looks often enough for it to be little."""

import subprocess
import sys

from tests.requirements import requirement

CIRCLES = """
import sys
from clawft.app.loop import run

class Circle:
    alive = 0
    def __init__(self):
        Circle.alive += 1
        self.itself = self
    def __del__(self):
        Circle.alive -= 1

async def work():
    most = 0
    kept = []
    for number in range(400_000):
        kept.append(Circle())
        if number % 1_000 == 0:
            kept.clear()
        most = max(most, Circle.alive)
    return most

print(run(work()))
"""
"""A thousand of them at a time are in use, and may have become old by the time they are let go."""


@requirement("QUAL-12")
def test_circles_are_found_while_they_are_few() -> None:
    told = subprocess.run([sys.executable, "-c", CIRCLES], capture_output=True, text=True, timeout=60, check=True)
    assert int(told.stdout) <= 30_000
