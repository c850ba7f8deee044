"""HTTP/1.1 without I/O: a request's head, the reader of an answer, and lines."""

from __future__ import annotations

from collections import deque
from typing import Deque, Dict, List, Mapping, Optional

HEAD_MAX = 1 << 20


class BrokenAnswer(Exception):
    """The bytes of an answer are not HTTP/1.1, or end too early."""


def request_head(method: str, target: str, headers: Mapping[str, str]) -> bytes:
    lines = [f"{method} {target} HTTP/1.1", "Host: larder"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    if any("\n" in line or "\r" in line for line in lines):
        raise ValueError("a header field or the target has a line break")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


class AnswerReader:
    """Reads one answer. Bytes go in by `feed`; the body comes out by `take`."""

    def __init__(self, method: str) -> None:
        self.status = 0
        self.headers: Dict[str, str] = {}
        self.has_bytes = self.has_head = self.is_complete = False
        self.keeps_alive = True
        self._method = method
        self._buffer = bytearray()
        self._body: List[bytes] = []
        # Bytes of the body or of the chunk that are missing; None: until the connection closes.
        self._missing: Optional[int] = None
        self._is_chunked = self._in_trailer = False

    def feed(self, data: bytes) -> None:
        self.has_bytes = True
        if self.has_head and not self._is_chunked:
            self._take_plain(data)
            return
        self._buffer += data
        while not self.has_head:
            end = self._buffer.find(b"\r\n\r\n")
            if end < 0:
                if len(self._buffer) > HEAD_MAX:
                    raise BrokenAnswer("the head does not end")
                return
            self._read_head(self._buffer[:end].decode("latin-1"))
            del self._buffer[: end + 4]
        if self._is_chunked:
            self._take_chunks()
        else:
            self._take_plain(bytes(self._buffer))

    def take(self) -> bytes:
        """The bytes of the body that have arrived since the last call."""
        body = b"".join(self._body)
        self._body.clear()
        return body

    def end(self) -> None:
        """The connection has closed."""
        self.keeps_alive = False
        self.is_complete = self.is_complete or self.has_head and self._missing is None
        if not self.is_complete:
            raise BrokenAnswer("the connection ended")

    def _read_head(self, head: str) -> None:
        first, *lines = head.split("\r\n")
        version, status = (first.split(" ", 2) + [""])[:2]
        if not version.startswith("HTTP/1.") or not status.isdigit():
            raise BrokenAnswer(f"{first[:80]!r} is not HTTP/1.1")
        self.status = int(status)
        if self.status < 200:
            return
        for name, _, value in (line.partition(":") for line in lines):
            self.headers[name.strip().lower()] = value.strip()
        self.has_head = True
        self.keeps_alive = self.headers.get("connection", "").lower() != "close"
        length = self.headers.get("content-length", "")
        self._is_chunked = self.headers.get("transfer-encoding", "").lower() == "chunked"
        if self._method == "HEAD" or self.status in (204, 304):
            self._missing, self._is_chunked = 0, False
        elif self._is_chunked:
            self._missing = 0
        elif length.isdigit():
            self._missing = int(length)

    def _take_plain(self, data: bytes) -> None:
        if self._missing is not None:
            self.keeps_alive = self.keeps_alive and len(data) <= self._missing
            data = data[: self._missing]
            self._missing -= len(data)
            self.is_complete = self._missing == 0
        self._body.append(data)

    def _take_chunks(self) -> None:
        buffer, at = self._buffer, 0
        while not self.is_complete:
            if self._missing:
                part = bytes(buffer[at : at + self._missing])
                if not part:
                    break
                self._body.append(part)
                at += len(part)
                self._missing -= len(part)
                continue
            end = buffer.find(b"\r\n", at)
            if end < 0:
                break
            line, at = bytes(buffer[at:end]), end + 2
            if self._in_trailer:
                self.is_complete = not line
            elif line:  # An empty line ends the chunk before.
                try:
                    self._missing = int(line.split(b";")[0], 16)
                except ValueError:
                    raise BrokenAnswer(f"{line[:80]!r} is not the size of a chunk") from None
                self._in_trailer = self._missing == 0
        del buffer[:at]


class LineReader:
    """Cuts bytes into lines; blank ones are left out."""

    def __init__(self) -> None:
        self._parts: List[bytes] = []
        self._lines: Deque[bytes] = deque()

    def feed(self, data: bytes) -> None:
        first, *lines = data.split(b"\n")
        self._parts.append(first)
        for line in lines:
            whole = b"".join(self._parts)
            if whole.strip():
                self._lines.append(whole)
            self._parts = [line]

    def next(self) -> Optional[bytes]:
        return self._lines.popleft() if self._lines else None
