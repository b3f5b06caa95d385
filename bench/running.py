"""A contender that runs and can be asked."""

import os
import subprocess
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
from msgspec import Struct

from bench.contenders import Contender, Leg
from bench.load import Client
from bench.messages import WrongAnswer
from bench.pipe import Pipe
from bench.process import COMPILED, DidNotServe, Process
from bench.web import Web, free_port

Failures = (DidNotServe, WrongAnswer, OSError)
MARKS = "marks"
READY_S = 60.0
PAUSE_S = 0.01
"""Between two looks at a list that is not whole yet."""


class Running(Struct, frozen=True):
    process: Process
    client: Client
    marks: Path
    """One file per upstream server that has been spoken to."""


@contextmanager
def started(contender: Contender, leg: Leg) -> Generator[Running]:
    """The contender, serving, in a folder and with a home of its own."""
    with TemporaryDirectory(prefix="bench-") as folder, started_in(Path(folder), contender, leg) as running:
        yield running


@contextmanager
def started_in(place: Path, contender: Contender, leg: Leg) -> Generator[Running]:
    """In a folder that stays: what was remembered there is found again."""
    with _process(contender, leg, place) as (process, port):
        client = _client(process, contender, leg, port)
        try:
            yield Running(process, client, place / MARKS)
        finally:
            client.close()


@contextmanager
def _process(contender: Contender, leg: Leg, place: Path) -> Generator[tuple[Process, int]]:
    marks, work, config = place / MARKS, place / "work", place / "mcp.json"
    marks.mkdir(exist_ok=True)
    work.mkdir(exist_ok=True)
    for mark in marks.iterdir():
        mark.unlink()
    config.write_bytes(msgspec.json.encode(leg.fleet.config(marks, contender.said)))
    port = free_port() if leg.front == "http" else 0
    argv = contender.command(leg.front, port, config, leg.fleet.command(marks))
    environment = {**contender.environment, "CLAWFT_HOME": str(place / "home")}
    if contender.before:
        _prepare(contender.preparation(config), environment, work)
    with Process(argv, environment, work, pipes=leg.front == "stdio") as process:
        yield process, port


def _prepare(argv: list[str], environment: Mapping[str, str], folder: Path) -> None:
    done = subprocess.run(
        argv, env={**os.environ, **COMPILED, **environment}, cwd=folder, capture_output=True, check=False
    )
    if done.returncode:
        raise DidNotServe(f"{' '.join(argv)}: {done.stderr.decode(errors='replace').strip()}")


def _client(process: Process, contender: Contender, leg: Leg, port: int) -> Client:
    question = leg.question(contender)
    if leg.front == "stdio":
        return Pipe(process, leg.dialect, question)
    return Web(process, leg.dialect, question, port)


def all_tools(client: Client, least: int) -> int:
    """Asks for the list until so many tools are in it: a gateway may answer before its servers do."""
    end = time.perf_counter() + READY_S
    while (count := len(client.ask("tools/list", {})["tools"])) < least:
        if time.perf_counter() > end:
            raise DidNotServe(f"{count} of {least} tools after {READY_S:g} s")
        time.sleep(PAUSE_S)
    return count
