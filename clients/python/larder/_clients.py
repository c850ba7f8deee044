"""The two clients: `Client` blocks, `AsyncClient` is for asyncio."""

from __future__ import annotations

import asyncio
import functools
import inspect
import os
import select
import socket
import threading
from typing import TYPE_CHECKING, Any, Callable, Coroutine, Generic, Optional, TypeVar, cast

from ._model import Credential
from ._operations import ItemState, Operations, WriteState, cancel, discard, drop, retry
from ._streams import AsyncStream

if TYPE_CHECKING:
    from typing_extensions import Concatenate, ParamSpec

    P = ParamSpec("P")
T = TypeVar("T")
SEND_TIME = 300.0


class BlockingConnection:
    """A connection of the blocking client: its coroutines never wait."""

    def __init__(self, path: str) -> None:
        self.pid = os.getpid()
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            # A connection to a Unix socket is made immediately, or the backlog is full.
            self.socket.setblocking(False)
            self.socket.connect(path)
        except BaseException:
            self.socket.close()
            raise

    async def send(self, data: bytes) -> None:
        self.socket.settimeout(SEND_TIME)
        self.socket.sendall(data)

    async def receive(self, timeout: Optional[float]) -> bytes:
        if self.pid != os.getpid():
            return b""  # The connection belongs to the parent of a fork.
        self.socket.settimeout(timeout)
        try:
            return self.socket.recv(1 << 16)
        except socket.timeout as error:
            raise TimeoutError from error

    def is_usable(self) -> bool:
        poll = select.poll()
        poll.register(self.socket, select.POLLIN)
        return not poll.poll(0)

    def interrupt(self) -> None:
        """Ends a call of `receive` in another thread or task."""
        try:
            if self.pid == os.getpid():
                self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    def close(self) -> None:
        self.socket.close()


class LoopConnection(BlockingConnection):
    """A connection of the asyncio client; it belongs to one event loop."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.loop = asyncio.get_running_loop()
        self.is_reading = self.is_closing = False

    async def send(self, data: bytes) -> None:
        await self.loop.sock_sendall(self.socket, data)

    async def receive(self, timeout: Optional[float]) -> bytes:
        if self.pid != os.getpid() or self.is_closing:
            return b""
        self.is_reading = True
        try:
            return await asyncio.wait_for(self.loop.sock_recv(self.socket, 1 << 16), timeout)
        except asyncio.TimeoutError as error:
            raise TimeoutError from error
        finally:
            self.is_reading = False
            if self.is_closing:
                self.close()

    def is_usable(self) -> bool:
        return self.loop is asyncio.get_running_loop() and super().is_usable()

    def close(self) -> None:
        self.is_closing = True
        self.interrupt()
        if self.loop.is_closed():
            self.socket.close()
        elif not self.is_reading and self.socket.fileno() >= 0:
            # The loop still has to forget the descriptor of a cancelled call.
            self.loop.call_soon_threadsafe(self.socket.close)


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that never waits."""
    try:
        coroutine.send(None)
    except StopIteration as stop:
        return cast(T, stop.value)
    raise RuntimeError("a coroutine of the blocking client waits")


def blocking(
    method: Callable[Concatenate[Any, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[Any, P], T]:
    @functools.wraps(method)
    def call(self: Any, *args: P.args, **kwargs: P.kwargs) -> T:
        return run(method(self, *args, **kwargs))

    return cast("Callable[Concatenate[Any, P], T]", call)


class Stream(Generic[T]):
    """The items of a stream. The connection closes with the loop's end, or with `close`."""

    def __init__(self, items: AsyncStream[T]) -> None:
        self._items = items

    def __iter__(self) -> Stream[T]:
        return self

    def __next__(self) -> T:
        try:
            return run(self._items.__anext__())
        except StopAsyncIteration:
            raise StopIteration from None

    def close(self) -> None:
        """Ends the iteration, also that of another thread."""
        self._items.close()

    __del__ = close


def streaming(
    method: Callable[Concatenate[Any, P], AsyncStream[T]],
) -> Callable[Concatenate[Any, P], Stream[T]]:
    @functools.wraps(method)
    def call(self: Any, *args: P.args, **kwargs: P.kwargs) -> Stream[T]:
        return Stream(method(self, *args, **kwargs))

    return cast("Callable[Concatenate[Any, P], Stream[T]]", call)


class AsyncWrite(WriteState):
    """A write of the asyncio client."""

    refresh, wait, cancel = WriteState._refresh, WriteState._wait, cancel
    retry, drop, discard, resolve = retry, drop, discard, WriteState._resolve


class AsyncItem(ItemState, AsyncWrite):
    """A created thing, and the write that creates it."""


class Write(WriteState):
    """A write of the blocking client."""

    refresh, wait = blocking(WriteState._refresh), blocking(WriteState._wait)
    cancel, retry, drop, discard = map(blocking, (cancel, retry, drop, discard))
    resolve = blocking(WriteState._resolve)


class Item(ItemState, Write):
    """A created thing, and the write that creates it."""


_Awaited, _Blocking = Operations[AsyncWrite, AsyncItem], Operations[Write, Item]


class AsyncClient(Operations[AsyncWrite, AsyncItem]):
    """A client for asyncio. Each method that is not a stream is awaited."""

    _write_type, _item_type = AsyncWrite, AsyncItem
    get, fetch, follow = _Awaited._get, _Awaited._fetch, _Awaited._follow
    watch, save, put, delete = _Awaited._watch, _Awaited._save, _Awaited._put, _Awaited._delete
    entries, pin, unpin = _Awaited._entries, _Awaited._pin, _Awaited._unpin
    pins, modify, write = _Awaited._pins, _Awaited._modify, _Awaited._write
    create, writes, conflicts = _Awaited._create, _Awaited._writes, _Awaited._conflicts
    credential, set_credential = _Awaited._credential, _Awaited._set_credential
    status = _Awaited._status

    async def provide_credential(self, origin: str, renew: Callable[[str], Any]) -> AsyncClient:
        """Calls `renew` with the reason each time that the daemon asks for a new credential.

        It may be a coroutine function, and has 30 s. A task calls it, until the returned client
        or this one is closed. The daemon asks one program at a time.
        """
        client = AsyncClient(self._paths[0], self.account)
        task = asyncio.ensure_future(client._renew(origin, renew))
        self._at_close.append(client._close)
        client._at_close.append(task.cancel)
        return client

    async def close(self) -> None:
        """Closes all connections, and ends all streams."""
        self._close()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._close()

    def _connect(self, path: str) -> LoopConnection:
        return LoopConnection(path)

    async def _pause(self, time: float) -> None:
        await asyncio.sleep(time)

    async def _call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        if inspect.iscoroutinefunction(function):
            return await function(*arguments)
        return await asyncio.get_running_loop().run_in_executor(None, function, *arguments)


class Client(Operations[Write, Item]):
    """A client of the daemon; one per program is enough, and any thread may use it."""

    _write_type, _item_type = Write, Item
    fetch, follow = streaming(_Blocking._fetch), streaming(_Blocking._follow)
    watch = streaming(_Blocking._watch)
    get, save = blocking(_Blocking._get), blocking(_Blocking._save)
    put, delete = blocking(_Blocking._put), blocking(_Blocking._delete)
    entries, pin = blocking(_Blocking._entries), blocking(_Blocking._pin)
    unpin, pins = blocking(_Blocking._unpin), blocking(_Blocking._pins)
    modify, write = blocking(_Blocking._modify), blocking(_Blocking._write)
    create, writes = blocking(_Blocking._create), blocking(_Blocking._writes)
    conflicts, credential = blocking(_Blocking._conflicts), blocking(_Blocking._credential)
    set_credential, status = blocking(_Blocking._set_credential), blocking(_Blocking._status)

    def provide_credential(self, origin: str, renew: Callable[[str], Credential]) -> Client:
        """Calls `renew` with the reason each time that the daemon asks for a new credential.

        It has 30 s. A thread calls it, until the returned client or this one is closed. The
        daemon asks one program at a time.
        """
        client = Client(self._paths[0], self.account)
        work = client._renew(origin, renew)
        threading.Thread(target=run, args=(work,), name="larder-credential", daemon=True).start()
        self._at_close.append(client._close)
        return client

    def close(self) -> None:
        """Closes all connections, and ends all streams."""
        self._close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def _connect(self, path: str) -> BlockingConnection:
        return BlockingConnection(path)

    async def _pause(self, time: float) -> None:
        self._closed.wait(time)

    async def _call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return function(*arguments)
