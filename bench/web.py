"""The load generator for Streamable HTTP: keep-alive connections, one request at a time on each."""

import select
import socket
import time
from typing import Any

import httptools

from bench.load import ANSWER_S, WARM_S, Bound, Burst, Flight
from bench.messages import FIRST_ID, INITIALIZED, Dialect, Question, WrongAnswer, initialize, request, result_of
from bench.process import DidNotServe, Process

HOST = "127.0.0.1"
PATH = "/mcp"
START_S = 30.0
RETRY_S = 0.005
READ_BYTES = 1 << 20
EVENTS = b"text/event-stream"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


class Connection:
    """One socket and the response that is being read from it."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection((HOST, port), timeout=ANSWER_S)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._parser = httptools.HttpResponseParser(self)
        self._headers: dict[bytes, bytes] = {}
        self._body: list[bytes] = []
        self._whole = False
        self.asked = 0
        """The id of the call in flight."""

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers[name.lower()] = value

    def on_body(self, body: bytes) -> None:
        self._body.append(body)

    def on_message_complete(self) -> None:
        self._whole = True

    def send(self, data: bytes) -> None:
        self._headers, self._body, self._whole = {}, [], False
        self.socket.sendall(data)

    def read(self) -> bytes | None:
        """The answer once it is whole. It is a JSON body or the messages of an event stream, one per line."""
        chunk = self.socket.recv(READ_BYTES)
        if not chunk:
            raise DidNotServe("closed the connection")
        self._parser.feed_data(chunk)
        return self._answer() if self._whole else None

    def exchange(self, data: bytes) -> bytes:
        self.send(data)
        while (answer := self.read()) is None:
            pass
        return answer

    def header(self, name: bytes) -> str:
        return self._headers.get(name, b"").decode("latin-1")

    def _answer(self) -> bytes:
        body = b"".join(self._body)
        if self._parser.get_status_code() >= 300:
            raise WrongAnswer(f"HTTP {self._parser.get_status_code()}: {body[:300]!r}")
        if not self._headers.get(b"content-type", b"").startswith(EVENTS):
            return body
        told = [line[5:].strip() for line in body.splitlines() if line.startswith(b"data:")]
        return b"\n".join(filter(None, told))


class Web:
    """Single-threaded; connections are opened anew for each burst, because servers drop idle ones."""

    def __init__(self, process: Process, dialect: Dialect, question: Question, port: int) -> None:
        self._process = process
        self._dialect = dialect
        self._question = question
        self._port = port
        self._session = ""
        self._next_id = FIRST_ID
        self._wait_for_port()
        self._connections = [Connection(port)]
        if not dialect.stateless:
            self.ask("initialize", initialize(dialect))
            self._session = self._connections[0].header(b"mcp-session-id")
            self._connections[0].exchange(self._head("", len(INITIALIZED)) + INITIALIZED)

    def ask(self, method: str, params: dict[str, Any]) -> Any:
        id = self._next_id
        self._next_id += 1
        body = request(id, method, self._dialect.params(params))
        told = self._connections[0].exchange(self._head(method, len(body)) + body)
        for line in told.splitlines():
            if (result := result_of(line, id)) is not None:
                return result
        raise WrongAnswer(f"no answer to {method}: {told[:300]!r}")

    def warm(self, window: int) -> None:
        self.close()
        self._connections = [Connection(self._port) for _ in range(window)]
        self.burst(window, Bound(calls=window * 2, seconds=WARM_S))

    def burst(self, window: int, bound: Bound) -> Burst:
        question = self._question  # all its requests are equally long over HTTP: there is one tool
        head = self._head(question.method, question.size, question.tool(0))
        flight = Flight(self._next_id, window, bound)
        idle = list(self._connections)
        with select.epoll() as ready:
            busy = {connection.socket.fileno(): connection for connection in idle}
            for descriptor in busy:
                ready.register(descriptor, select.EPOLLIN)
            while True:
                for _ in range(flight.free()):
                    connection = idle.pop()
                    connection.asked = flight.start()
                    connection.send(head + question.fill(connection.asked))
                if not flight.since:
                    break
                idle += self._land(flight, ready, busy)
        self._next_id += flight.sent
        return flight.result()

    def close(self) -> None:
        for connection in self._connections:
            connection.socket.close()
        self._connections = []

    def _land(self, flight: Flight, ready: select.epoll, busy: dict[int, Connection]) -> list[Connection]:
        """Connections whose answer is whole."""
        events = ready.poll(ANSWER_S)
        if not events:
            raise self._process.lost(f"no answer within {ANSWER_S:g} s")
        landed: list[Connection] = []
        for descriptor, _ in events:
            told = busy[descriptor].read()
            if told is not None:
                self._check(told, busy[descriptor].asked, flight)
                landed.append(busy[descriptor])
        return landed

    def _check(self, told: bytes, asked: int, flight: Flight) -> None:
        now = time.perf_counter()
        ids = [id for line in told.splitlines() if (id := self._question.answered(line)) is not None]
        if ids != [asked] or not flight.land(asked, now):
            raise WrongAnswer(f"not the answer to {asked}: {told[:300]!r}")

    def _head(self, method: str, size: int, name: str = "") -> bytes:
        headers = {
            "host": f"{HOST}:{self._port}",
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
            **self._dialect.headers(method, name),
            "content-length": str(size),
        }
        if self._session:
            headers["mcp-session-id"] = self._session
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        return f"POST {PATH} HTTP/1.1\r\n{lines}\r\n".encode()

    def _wait_for_port(self) -> None:
        end = time.perf_counter() + START_S
        while self._process.running and time.perf_counter() < end:
            try:
                socket.create_connection((HOST, self._port), timeout=ANSWER_S).close()
            except ConnectionRefusedError:
                time.sleep(RETRY_S)
            else:
                return
        raise self._process.lost("never listened")
