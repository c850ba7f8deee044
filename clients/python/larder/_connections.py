"""The connections of both clients to the daemon's socket."""

from __future__ import annotations

import asyncio
import inspect
import os
import select
import socket
import threading
from typing import Any, Callable, Coroutine, TypeVar, cast

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

    async def receive(self, timeout: float | None) -> bytes:
        if self.pid != os.getpid():
            return b""  # The connection belongs to the parent of a fork.
        self.socket.settimeout(timeout)
        return self.socket.recv(1 << 16)

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

    @staticmethod
    async def pause(time: float, closed: threading.Event) -> None:
        closed.wait(time)

    @staticmethod
    async def call(function: Callable[..., Any], *arguments: Any) -> Any:
        """What a function of the program returns; a coroutine function, too, for asyncio."""
        return function(*arguments)


class LoopConnection(BlockingConnection):
    """A connection of the asyncio client; it belongs to one event loop."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.loop = asyncio.get_running_loop()
        self.is_reading = self.is_closing = self.is_late = False

    async def send(self, data: bytes) -> None:
        await self.loop.sock_sendall(self.socket, data)

    async def receive(self, timeout: float | None) -> bytes:
        if self.pid != os.getpid() or self.is_closing:
            return b""
        self.is_reading = True
        # Up to Python 3.11, `wait_for` loses a cancellation that comes with the data.
        timer = self.loop.call_later(timeout, self._expire) if timeout is not None else None
        try:
            data = await self.loop.sock_recv(self.socket, 1 << 16)
        finally:
            self.is_reading = False
            if timer:
                timer.cancel()
            if self.is_closing:
                self.close()
        if self.is_late:
            raise socket.timeout
        return data

    def _expire(self) -> None:
        self.is_late = True
        self.interrupt()

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

    @staticmethod
    async def pause(time: float, closed: threading.Event) -> None:
        await asyncio.sleep(time)

    @staticmethod
    async def call(function: Callable[..., Any], *arguments: Any) -> Any:
        if inspect.iscoroutinefunction(function):
            return await function(*arguments)
        return await asyncio.get_running_loop().run_in_executor(None, function, *arguments)


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that never waits."""
    try:
        coroutine.send(None)
    except StopIteration as stop:
        return cast(T, stop.value)
    raise RuntimeError("a coroutine of the blocking client waits")
