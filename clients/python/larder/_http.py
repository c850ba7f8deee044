"""HTTP/1.1 without I/O: a request's head, the reader of an answer, and lines."""

from __future__ import annotations

from typing import Dict, List, Mapping, Optional


class BrokenAnswer(Exception):
    """The bytes of an answer that are not HTTP/1.1, or that end too early."""


def request_head(method: str, target: str, headers: Mapping[str, str]) -> bytes:
    lines = [f"{method} {target} HTTP/1.1", "Host: larder"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    text = "\r\n".join(lines)
    if text.count("\r\n") != len(lines) - 1 or "\n" in text.replace("\r\n", ""):
        raise ValueError("a header field or the target has a line break")
    return (text + "\r\n\r\n").encode("latin-1")


class AnswerReader:
    """Reads one answer. Bytes go in by `feed`; the body comes out by `take`."""

    def __init__(self, method: str) -> None:
        self.status = 0
        self.headers: Dict[str, str] = {}
        self.has_head = False
        self.is_complete = False
        self.keeps_alive = True
        self.has_bytes = False
        self._method = method
        self._buffer = bytearray()
        self._body: List[bytes] = []
        # Bytes of the body or of the chunk that are missing; None: until the connection closes.
        self._missing: Optional[int] = None
        self._is_chunked = False
        self._in_trailer = False

    def feed(self, data: bytes) -> None:
        self.has_bytes = True
        if self.has_head and not self._is_chunked:
            self._plain(data)
            return
        self._buffer += data
        while not self.has_head:
            end = self._buffer.find(b"\r\n\r\n")
            if end < 0:
                if len(self._buffer) > 1 << 20:
                    raise BrokenAnswer("the head of the answer does not end")
                return
            head = self._buffer[:end].decode("latin-1")
            del self._buffer[: end + 4]
            self._read_head(head)
        if self._is_chunked:
            self._chunks()
        elif self._buffer or self._missing == 0:
            rest = bytes(self._buffer)
            self._buffer.clear()
            self._plain(rest)

    def take(self) -> bytes:
        """The bytes of the body that have arrived since the last call."""
        body = self._body[0] if len(self._body) == 1 else b"".join(self._body)
        self._body.clear()
        return body

    def end(self) -> None:
        """The connection has closed."""
        self.keeps_alive = False
        if self.has_head and self._missing is None and not self._is_chunked:
            self.is_complete = True
        if not self.is_complete:
            raise BrokenAnswer("the connection ended within the answer")

    def _read_head(self, head: str) -> None:
        first, *lines = head.split("\r\n")
        parts = first.split(" ", 2)
        if len(parts) < 2 or not parts[0].startswith("HTTP/1.") or not parts[1].isdigit():
            raise BrokenAnswer(f"not an answer of HTTP/1.1: {first[:80]!r}")
        self.status = int(parts[1])
        if self.status < 200:
            return
        for line in lines:
            name, _, value = line.partition(":")
            name, value = name.strip().lower(), value.strip()
            known = self.headers.get(name)
            self.headers[name] = value if known is None else f"{known}, {value}"
        self.has_head = True
        self.keeps_alive = self.headers.get("connection", "").lower() != "close"
        if self._method == "HEAD" or self.status in (204, 304):
            self._missing = 0
        elif self.headers.get("transfer-encoding", "").lower() == "chunked":
            self._is_chunked, self._missing = True, 0
        elif "content-length" in self.headers:
            text = self.headers["content-length"]
            if not text.isdigit():
                raise BrokenAnswer(f"the length {text!r} is not a number")
            self._missing = int(text)

    def _plain(self, data: bytes) -> None:
        if self._missing is not None:
            if len(data) > self._missing:
                self.keeps_alive = False
                data = data[: self._missing]
            self._missing -= len(data)
            self.is_complete = self._missing == 0
        if data:
            self._body.append(data)

    def _chunks(self) -> None:
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
            line = bytes(buffer[at:end])
            at = end + 2
            if self._in_trailer:
                self.is_complete = not line
            elif line:  # An empty line ends the chunk before.
                try:
                    self._missing = int(line.split(b";")[0], 16)
                except ValueError:
                    raise BrokenAnswer(f"the size of a chunk is {line[:80]!r}") from None
                self._in_trailer = self._missing == 0
        del buffer[:at]


class LineReader:
    """Cuts bytes into lines; blank ones are left out."""

    def __init__(self) -> None:
        self._parts: List[bytes] = []
        self._lines: List[bytes] = []

    def feed(self, data: bytes) -> None:
        first, *lines = data.split(b"\n")
        self._parts.append(first)
        if lines:
            whole = [b"".join(self._parts), *lines[:-1]]
            self._lines += [line for line in whole if line.strip()]
            self._parts = [lines[-1]]

    def next(self) -> Optional[bytes]:
        return self._lines.pop(0) if self._lines else None
