"""The end of a long stream, kept in bounded memory."""

from collections import deque


class Tail:
    """The last bytes of a stream, and how many were dropped before them."""

    def __init__(self, limit: int) -> None:
        self.lost = 0
        self._limit = limit
        self._size = 0
        self._chunks: deque[bytes] = deque()

    def add(self, data: bytes) -> None:
        self._chunks.append(data)
        self._size += len(data)
        while self._size - len(self._chunks[0]) >= self._limit:
            gone = len(self._chunks.popleft())
            self._size -= gone
            self.lost += gone

    def text(self) -> str:
        kept = b"".join(self._chunks)
        excess = max(0, len(kept) - self._limit)
        self.lost, self._size = self.lost + excess, len(kept) - excess
        self._chunks = deque([kept[excess:]])
        text = self._chunks[0].decode("utf-8", "replace")
        return f"[the first {self.lost} bytes are left out]\n{text}" if self.lost else text
