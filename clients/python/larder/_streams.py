"""The streams of fetch, follow and watch, and the methods that both clients have."""

from __future__ import annotations

import functools
import inspect
import random
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Callable, Coroutine, Generic, Mapping, TypeVar, overload

from ._connections import run
from ._core import Answer, Core, Members, given, seconds
from ._model import Event, Failure, Other, Reset, View, entry_of_frame, frame_of_body
from ._problem import Problem, cut_off, fault
from ._wire import EVENTS, Deleted, Gone, Miss, NoDaemon, Offline, OriginFailed, Unchanged

if TYPE_CHECKING:
    from typing_extensions import Concatenate, ParamSpec

    P = ParamSpec("P")
else:
    P = TypeVar("P")
R = TypeVar("R")
T = TypeVar("T")
HEARTBEAT, PAUSE_MIN, PAUSE_MAX = 15.0, 0.1, 5.0


class Resumption:
    """When to try again after a break."""

    def __init__(self, core: Core, was_connected: bool = False) -> None:
        self._core, self.was_connected, self.failures = core, was_connected, 0
        # Whether the program has heard of this outage.
        self.is_told = False

    def spoke(self) -> None:
        self.failures, self.was_connected, self.is_told = 0, True, False

    async def after(
        self, error: Problem, most: float = PAUSE_MAX, stream: AsyncStream[Any] | None = None
    ) -> None:
        """Waits with backoff and jitter; raises an error after which no try makes sense."""
        self.was_connected = self.was_connected or not isinstance(error, NoDaemon)
        # Without a daemon from the start, the text tells how to begin.
        if not (self.was_connected and error.retryable):
            raise error
        longest = min(most, PAUSE_MIN * 2 ** min(self.failures, 10))
        self.failures += 1
        rest = random.uniform(PAUSE_MIN, longest)
        # Nothing wakes the pause of a stream that another thread or task closes.
        while rest > 0 and not (self._core.is_closed or (stream and stream.is_closed)):
            await self._core._pause(min(rest, 1.0))
            rest -= 1.0


class AsyncStream(Generic[T]):
    """The items of a stream. The connection closes with the loop's end, or with `close`."""

    path = "/v1/fetch"
    answer: Answer | None = None

    def __init__(self, core: Core, command: Members) -> None:
        self.core, self.command, self.is_closed = core, given(command), False
        self.resumption = Resumption(core)
        self.items: list[T] = []
        # The daemon limits the time of a fetch.
        limit = command.get("timeout")
        self.head_time: float | None = None if limit is None else seconds(limit) + 10
        # Without a frame for three heartbeats, the connection is lost.
        self.silence: float | None = 3 * seconds(command.get("heartbeat"), HEARTBEAT)

    def __aiter__(self) -> AsyncStream[T]:
        return self

    async def __anext__(self) -> T:
        while not self.items and not self.is_closed and not self.core.is_closed:
            try:
                answer = self.answer or await self.connect()
                if self.is_closed:
                    break  # `close` did not see the connection.
                frame, line = await answer.frame()
                await self.take(frame, line)
                self.resumption.spoke()
            except BaseException as error:
                self.disconnect()
                if not isinstance(error, Problem):
                    raise  # Of a call that was cancelled, a frame is lost: the next asks again.
                if self.is_closed or self.core.is_closed:
                    break
                await self.failed(error)
        if not self.items:
            self.disconnect()
            raise StopAsyncIteration
        return self.items.pop(0)

    async def connect(self) -> Answer:
        answer = await self.core.command("POST", self.path, self.command, self.head_time)
        self.answer, answer.timeout = answer, self.silence
        return answer

    async def take(self, frame: dict[str, Any], line: bytes) -> None:
        raise NotImplementedError

    async def failed(self, error: Problem) -> None:
        """After a break: raises, or waits before the next connection."""
        await self.resumption.after(error, stream=self)

    def close(self) -> None:
        """Ends the iteration, also that of another thread or task."""
        self.is_closed = True
        self.disconnect()

    def disconnect(self) -> None:
        answer, self.answer = self.answer, None
        if answer:
            answer.close()

    __del__ = close


class WatchStream(AsyncStream[Event]):
    path = "/v1/watch"
    # Whether the program has a part of the initial list.
    is_listing = False

    async def connect(self) -> Answer:
        if self.is_listing:
            # The list was cut off, and entries of it may be gone.
            self.is_listing = False
            self.items.append(Reset({}))
        return await super().connect()

    async def take(self, frame: dict[str, Any], line: bytes) -> None:
        kind = str(frame.get("type"))
        if frame.get("initial_done"):
            self.command["initial"] = None
        revision = frame.get("dropped_after") if kind == "lagged" else frame.get("rev")
        # A list that is cut off is asked again, so it has no revision before its end.
        if not (revision is None or self.command.get("initial") or frame.get("more")):
            self.command["since"] = revision
        if kind == "lagged":
            self.disconnect()
        elif kind == "end":
            raise cut_off("larderd has ended the watch.")
        elif kind != "heartbeat":
            self.is_listing = bool(self.command.get("initial"))
            self.items.append(EVENTS.get(kind, Other)(frame))

    async def failed(self, error: Problem) -> None:
        if error.type == "urn:larder:since-too-old" and self.command.get("since") is not None:
            self.command.update(since=None, initial=True)
            self.items.append(Reset({}))
        else:
            await super().failed(error)


def fetch_members(command: Members) -> Members:
    """The command as the daemon reads it: `json` is its `body`."""
    body = command.get("json")
    if body is not None and command.get("body") is not None:
        raise TypeError("give the body as json or as body")
    members = {name: value for name, value in command.items() if name != "json"}
    return members if body is None else {**members, "body": body}


class FetchStream(AsyncStream[View]):
    def __init__(self, core: Core, command: Members) -> None:
        super().__init__(core, fetch_members(command))
        if not command.get("follow"):
            self.silence = self.head_time

    async def take(self, frame: dict[str, Any], line: bytes) -> None:
        kind = frame.get("type")
        if kind == "snapshot":
            path, body = frame["entry"].get("body_href"), None
            if path:
                headers, body = await self.body(path)
                frame = frame_of_body(frame, headers)
            self.items.append(entry_of_frame(frame, line, body))
        elif kind in ("unchanged", "deleted"):
            self.items.append(Deleted(frame) if kind == "deleted" else Unchanged(frame))
        elif kind == "problem":
            self.items.append(Failure(Problem.of(frame["problem"])))
        elif kind == "end":
            await self.ended(frame)

    async def body(self, path: str) -> tuple[Mapping[str, str], bytes]:
        """The body of a snapshot that did not fit into its frame, and its header fields."""
        try:
            answer = await self.core.request("GET", path, None if "?" in path else {})
            return answer.headers, await answer.body()
        except (Gone, Miss) as error:
            raise cut_off("The body of a snapshot was removed before it was read.") from error

    async def ended(self, frame: Members) -> None:
        self.is_closed = True
        if self.answer:
            with suppress(Problem):
                await self.answer.body()
        if frame.get("outcome") == "shutdown":
            detail = "larderd ended before the network's answer."
            self.items.append(Failure(fault("shutting-down", detail)))

    async def failed(self, error: Problem) -> None:
        self.is_closed = True
        raise error


class FollowStream(FetchStream):
    shown, is_deleted = -1, False

    async def take(self, frame: dict[str, Any], line: bytes) -> None:
        kind, revision = frame.get("type"), frame.get("rev", 0)
        if kind == "snapshot":
            # An older cached view: the program has a newer one, which is no longer cached.
            is_older = revision < self.shown and frame.get("source") != "network"
            if is_older or revision == self.shown:
                return
        elif kind == "deleted" and self.is_deleted:
            return
        await super().take(frame, line)
        # Reading the body may have failed: then the program has not seen the revision. A body of a
        # later revision came without its marks, which the next frame has.
        if kind == "snapshot":
            self.shown, self.is_deleted = revision, False
        elif kind == "deleted":
            self.is_deleted = True

    async def ended(self, frame: Members) -> None:
        raise cut_off("larderd has ended the stream.")

    async def failed(self, error: Problem) -> None:
        if isinstance(error, Gone) and self.is_deleted:
            await self.core._pause(PAUSE_MAX)
        elif isinstance(error, Gone):
            # The daemon answers, and the thing may come back.
            self.is_deleted = True
            self.items.append(Deleted({"type": "deleted", **error.members}))
        else:
            is_first = self.resumption.was_connected and self.resumption.failures == 0
            # The daemon itself asks an origin that fails no more often than each 30 s.
            is_origins = isinstance(error, (Offline, OriginFailed))
            await self.resumption.after(error, 30.0 if is_origins else PAUSE_MAX, self)
            if not is_first and not self.resumption.is_told:
                self.resumption.is_told = True
                self.items.append(Failure(error))


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


class Blocking:
    """Its operations are functions."""


class Awaiting:
    """Its operations are coroutine functions."""


class operation(Generic[P, R]):
    """A method that is written once, for asyncio; it also blocks, or gives a stream that does."""

    def __init__(self, method: Callable[Concatenate[Any, P], R]) -> None:
        @functools.wraps(method)
        def call(*args: Any, **kwargs: Any) -> Any:
            result: Any = method(*args, **kwargs)
            return run(result) if inspect.iscoroutine(result) else Stream(result)

        self._method, self._call = method, call

    @overload
    def __get__(
        self: operation[P, Coroutine[Any, Any, T]], owner: Blocking, cls: Any = None
    ) -> Callable[P, T]: ...
    @overload
    def __get__(
        self: operation[P, AsyncStream[T]], owner: Blocking, cls: Any = None
    ) -> Callable[P, Stream[T]]: ...
    @overload
    def __get__(self, owner: Awaiting, cls: Any = None) -> Callable[P, R]: ...
    def __get__(self, owner: Any, cls: Any = None) -> Any:
        function: Any = self._call if issubclass(cls, Blocking) else self._method
        return function.__get__(owner, cls)
