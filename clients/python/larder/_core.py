"""Requests and answers, without I/O of their own.

The code is written once, as coroutines. The asyncio client awaits them. The functions of the
blocking client's connections never wait, so that client runs a coroutine in one step.
"""

from __future__ import annotations

import json
import os
import socket
import threading
import uuid
import weakref
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Callable, Iterable, Iterator, Mapping, Union
from urllib.parse import quote, urlencode

from ._problem import Problem, cut_off, fault, no_daemon
from ._wire import CutOff, Duration

if TYPE_CHECKING:
    from ._connections import BlockingConnection as Connection

Body = Union[None, bytes, Iterable[bytes]]
Members = Mapping[str, Any]
DURATIONS = ("network_wait", "timeout", "heartbeat", "refresh", "hold", "expires")
UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
REPORT_TIME, CONNECT_TIME = 60.0, 10.0
IDLE_MAX, HEAD_MAX = 16, 1 << 20
SYSTEM_SOCKET = "/run/larder/api.sock"


def socket_paths(path: str | None, environment: Mapping[str, str] = os.environ) -> list[str]:
    """The sockets to try, in this order."""
    path = path or environment.get("LARDER_SOCKET")
    if path or os.getuid() == 0:
        return [path or SYSTEM_SOCKET]
    runtime = environment.get("XDG_RUNTIME_DIR", "")
    cache = environment.get("XDG_CACHE_HOME", "")
    runtime = runtime if runtime.startswith("/") else f"/run/user/{os.getuid()}"
    cache = cache if cache.startswith("/") else os.path.join(environment.get("HOME", "/"), ".cache")
    return [f"{runtime}/larder/api.sock", f"{cache}/larder/api.sock", SYSTEM_SOCKET]


def seconds(value: Duration, default: float = 0.0) -> float:
    if value is None or isinstance(value, (int, float)):
        return default if value is None else value
    count = value.rstrip("mshd")
    factor = UNITS.get(value[len(count) :])
    if factor is None or not count.isdigit():
        raise ValueError(f"{value!r} is not a duration: give seconds, or a text such as '10s'")
    return int(count) * factor


def duration(value: Duration) -> str | None:
    """The duration as the daemon reads it."""
    return f"{max(0, round(value * 1000))}ms" if isinstance(value, (int, float)) else value


def given(members: Members) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}


def path_of(kind: str, id: str) -> str:
    return f"/v1/{kind}/{quote(id, safe='')}"


def pieces(method: str, target: str, headers: Mapping[str, str], body: Body) -> Iterator[bytes]:
    """The bytes of a request; a body without a length is sent in chunks."""
    lines = [f"{method} {target} HTTP/1.1", "Host: larder"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    if any("\n" in line or "\r" in line for line in lines):
        raise ValueError("a header field or the target has a line break")
    head = ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
    if body is None or isinstance(body, bytes):
        yield head + (body or b"")
        return
    yield head
    for part in filter(memoryview, body):  # A text is refused.
        yield b"%x\r\n%b\r\n" % (len(part), part)
    yield b"0\r\n\r\n"


class Answer:
    """The answer to one request. When its body was read, its connection can be used again."""

    def __init__(self, core: Core, connection: Connection, timeout: float | None) -> None:
        self.connection, self.timeout, self.status = connection, timeout, 0
        self.headers: dict[str, str] = {}
        self._is_chunked = False
        self._core: Core | None = core
        # Bytes of the body or of the chunk that are missing; None: until the connection closes.
        self._missing: int | None = 0
        self._buffer, self._rest = bytearray(), b""
        self._lines: deque[bytes] = deque()

    async def head(self) -> None:
        lines: list[str] = []
        while self.status < 200:
            first, *lines = (await self._until(b"\r\n\r\n")).split("\r\n")
            version, status = (first.split(" ", 2) + [""])[:2]
            if not version.startswith("HTTP/1.") or not status.isdigit():
                raise self._broken(f"{first[:80]!r} is not HTTP/1.1")
            self.status = int(status)
        for name, _, value in (line.partition(":") for line in lines):
            self.headers[name.strip().lower()] = value.strip()
        if self.status in (204, 304):
            return
        length = self.headers.get("content-length", "")
        self._is_chunked = self.headers.get("transfer-encoding", "").lower() == "chunked"
        if not self._is_chunked:
            self._missing = int(length) if length.isdigit() else None

    @property
    def has_begun(self) -> bool:
        return self.status > 0 or len(self._buffer) > 0

    async def chunk(self) -> bytes:
        """The next bytes of the body; none at its end."""
        if self._is_chunked and self._missing == 0:
            await self._next_chunk()
        if self._missing == 0:
            self._end(self.headers.get("connection", "").lower() != "close" and not self._buffer)
        elif not self._buffer and not await self._receive():
            self.close()
        data = bytes(self._buffer[: self._missing])
        del self._buffer[: len(data)]
        self._missing = self._missing and self._missing - len(data)
        return data

    async def _next_chunk(self) -> None:
        # An empty line ends the chunk before.
        line = await self._until(b"\r\n") or await self._until(b"\r\n")
        try:
            self._missing = int(line.partition(";")[0], 16)
        except ValueError:
            raise self._broken(f"{line[:80]!r} is not the size of a chunk") from None
        self._is_chunked = self._missing > 0
        while not self._is_chunked and await self._until(b"\r\n"):
            pass  # The trailer.

    async def _until(self, end: bytes) -> str:
        while (at := self._buffer.find(end)) < 0:
            if len(self._buffer) > HEAD_MAX:
                raise self._broken("its head does not end")
            await self._receive()
        text = self._buffer[:at].decode("latin-1")
        del self._buffer[: at + len(end)]
        return text

    async def _receive(self) -> bool:
        """Whether more bytes have come; else a body that ends with its connection is over."""
        try:
            data = await self.connection.receive(self.timeout)
        except socket.timeout as error:
            raise self._broken(f"nothing for {self.timeout} s") from error
        except OSError as error:
            raise self._broken(error) from error
        except BaseException:
            self.close()
            raise
        if not data and self._missing is not None:
            raise self._broken("the connection ended")
        self._buffer += data
        return bool(data)

    def _broken(self, why: object) -> Problem:
        self.close()
        return cut_off(f"The answer of larderd was cut off ({why}).")

    async def body(self) -> bytes:
        parts: list[bytes] = []
        while not parts or parts[-1]:
            parts.append(await self.chunk())
        return b"".join(parts)

    async def json(self) -> Any:
        body = await self.body()
        try:
            return json.loads(body) if body.strip() else None
        except ValueError as error:
            detail = f"An answer of {self.status} is not JSON ({error})."
            raise fault("bad-answer", detail) from error

    async def frame(self) -> tuple[dict[str, Any], bytes]:
        """The next line of a stream: its object and its text."""
        while not self._lines:
            data = await self.chunk()
            if not data:
                raise cut_off("The stream of larderd ended without its last frame.")
            *lines, self._rest = (self._rest + data).split(b"\n")
            self._lines += filter(bytes.strip, lines)
        line = self._lines.popleft()
        try:
            return dict(json.loads(line)), line
        except (ValueError, TypeError) as error:
            raise fault("bad-answer", f"A frame is not a JSON object ({error}).") from error

    async def problem(self) -> Problem:
        if self.headers.get("content-type", "").startswith("application/problem+json"):
            return Problem.of(await self.json())
        body = (await self.body())[:65536].decode("utf-8", "replace")
        detail = f"The answer has the status {self.status}."
        retryable = self.status >= 500 or self.status in (408, 425)
        told = {"origin_status": self.status, "body": body, "retryable": retryable}
        return fault("origin-status", detail, **told)

    def close(self) -> None:
        self._end(keeps=False)

    def _end(self, keeps: bool) -> None:
        """Keeps the connection for the next request, or closes it."""
        core, self._core = self._core, None
        if core and not (keeps and core.keep(self.connection)):
            self.connection.interrupt()
            self.connection.close()


class Core:
    """A client of the daemon at `socket`; nothing is opened before the first request.

    `name` is the name of the client in its own changes; without it, a unique one.
    """

    _io: type[Connection]

    def __init__(
        self, socket: str | None = None, account: str | None = None, name: str | None = None
    ) -> None:
        self.account, self._given_name = account, name
        self._paths, self._closed = socket_paths(socket), threading.Event()
        # Closes what ends with this client.
        self._at_close: list[Callable[[], Any]] = []
        self._begin()
        _clients.add(self)

    def _begin(self) -> None:
        """Begins with an empty pool and a name of its own, as a child of a fork has to."""
        self.name = self._given_name or str(uuid.uuid4())
        self._lock = threading.Lock()
        self._idle: list[Connection] = []
        self._live: weakref.WeakSet[Connection] = weakref.WeakSet()

    @property
    def is_closed(self) -> bool:
        return self._closed.is_set()

    def _close(self) -> None:
        self._closed.set()
        with self._lock:
            idle, self._idle = self._idle, []
            live = list(self._live)
        for connection in live:
            connection.interrupt()
        for close in [connection.close for connection in idle] + self._at_close:
            close()

    async def _pause(self, time: float) -> None:
        await self._io.pause(time, self._closed)

    def keep(self, connection: Connection) -> bool:
        """Whether the connection is kept for the next request."""
        with self._lock:
            if self.is_closed or len(self._idle) >= IDLE_MAX or connection.pid != os.getpid():
                return False
            self._idle.append(connection)
            return True

    async def _open(
        self, fresh: bool = True, patience: float = CONNECT_TIME
    ) -> tuple[Connection, bool]:
        """A connection, and whether it was used before."""
        if self.is_closed:
            raise fault("client-closed", "The client is closed.")
        while not fresh:
            with self._lock:
                old = self._idle.pop() if self._idle else None
            if old is None:
                break
            if old.is_usable():
                return old, True
            old.close()
        pause = 0.01
        while pause < patience:
            failures = []
            for path in self._paths:
                try:
                    connection = self._io(path)
                except BlockingIOError:
                    break  # A daemon listens, and its backlog is full.
                except OSError as error:
                    failures.append(f"{path} ({error.strerror or error})")
                    continue
                # Another daemon has another cache and queue, so the choice stays.
                self._paths = [path]
                with self._lock:
                    self._live.add(connection)
                if self.is_closed:
                    connection.interrupt()  # `_close` may not have seen it.
                return connection, False
            else:
                raise no_daemon(", ".join(failures))
            await self._pause(pause)
            pause *= 2
        raise fault("overloaded", "Too many connections wait at the socket.")

    async def request(
        self, method: str, path: str, query: Members | None = None, body: Body = None,
        headers: Members | None = None, timeout: float | None = REPORT_TIME,
    ) -> Answer:  # fmt: skip
        """Sends a request and reads the head of its answer; raises the problem of a refusal.

        The account goes with the query, if there is one.
        """
        fields = {"Larder-Client": self.name, "Accept": "application/jsonl", **given(headers or {})}
        is_whole = body is None or isinstance(body, bytes)
        if not is_whole:
            fields["Transfer-Encoding"] = "chunked"
        elif body is not None or method != "GET":
            fields["Content-Length"] = str(len(body or b""))  # type: ignore[arg-type]
        repeats = method in ("GET", "PUT") or path in ("/v1/fetch", "/v1/watch")
        # A repeated DELETE finds nothing, and a repeated PUT does not meet its own condition.
        repeats = repeats and is_whole and not {"If-Match", "If-None-Match"} & fields.keys()
        if query is not None:
            parameters = urlencode(given({"account": self.account, **query}), quote_via=quote)
            path = f"{path}?{parameters}" if parameters else path
        while True:
            connection, is_used = await self._open(fresh=not repeats)
            answer = Answer(self, connection, timeout)
            try:
                parts, call = pieces(method, path, fields, body), self._io.call
                # To read a file may take a while, which an event loop does not wait for.
                while data := next(parts, b"") if is_whole else await call(next, parts, b""):
                    try:
                        await connection.send(data)
                    except OSError:
                        break  # The daemon may have refused the body: its answer says why.
                await answer.head()
                break
            except CutOff as error:
                # The daemon may have closed the connection before it got the request.
                is_late = isinstance(error.__cause__, socket.timeout)
                if not is_used or answer.has_begun or is_late:
                    raise
                repeats = False
            except BaseException:
                answer.close()
                raise
        if answer.status >= 300:
            raise await answer.problem()
        return answer

    async def command(
        self, method: str, path: str, members: Members, timeout: float | None = REPORT_TIME,
        query: Members | None = None,
    ) -> Answer:  # fmt: skip
        members = given({"account": self.account if query is None else None, **members})
        members.update({name: duration(members[name]) for name in DURATIONS if name in members})
        headers, body = {"Content-Type": "application/json"}, json.dumps(members).encode()
        return await self.request(method, path, query, body, headers, timeout)

    async def report(
        self, method: str, path: str, query: Members | None = None, timeout: float = REPORT_TIME
    ) -> Any:
        return await (await self.request(method, path, query, timeout=timeout)).json()

    async def pages(self, path: str, query: Members) -> list[Any]:
        """The items of all pages of a list."""
        items: list[Any] = []
        cursor = None
        while True:
            page = await self.report("GET", path, {"limit": 1000, "cursor": cursor, **query})
            items, cursor = items + page["items"], page["next"]
            if cursor is None:
                return items


_clients: weakref.WeakSet[Core] = weakref.WeakSet()
os.register_at_fork(after_in_child=lambda: [c._begin() for c in list(_clients)])  # type: ignore
