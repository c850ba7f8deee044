"""The streams of fetch, follow and watch, and when they connect again."""

from __future__ import annotations

from typing import Any, Dict, Generic, List, Optional, TypeVar

from ._core import PAUSE_MAX, Answer, Core, Members, Resumption, given, seconds
from ._model import EVENTS, Deleted, Event, Failure, Other, Reset, Unchanged, View, entry_of_frame
from ._problem import Gone, Problem, cut_off

T = TypeVar("T")
HEARTBEAT = 15.0


class AsyncStream(Generic[T]):
    """The items of a stream. The connection closes with the loop's end, or with `close`."""

    path = "/v1/fetch"

    def __init__(self, core: Core, command: Members) -> None:
        self.core, self.command, self.is_closed = core, given(command), False
        self.resumption = Resumption(core)
        self.answer: Optional[Answer] = None
        self.items: List[T] = []
        # The daemon limits the time of a fetch.
        limit = command.get("timeout")
        self.head_time: Optional[float] = None if limit is None else seconds(limit) + 10
        # Without a frame for three heartbeats, the connection is lost.
        self.silence: Optional[float] = 3 * seconds(command.get("heartbeat"), HEARTBEAT)

    def __aiter__(self) -> AsyncStream[T]:
        return self

    async def __anext__(self) -> T:
        while not self.items and not self.is_closed and not self.core.is_closed:
            try:
                answer = self.answer
                if answer is None:
                    answer = await self.core.command("POST", self.path, self.command, self.head_time)
                    self.answer, answer.timeout = answer, self.silence
                    if self.is_closed:
                        break  # `close` did not see the connection.
                frame, line = await answer.frame()
                self.resumption.spoke()
                await self.take(frame, line)
            except Problem as error:
                self.disconnect()
                if self.is_closed or self.core.is_closed:
                    break
                await self.failed(error)
        if not self.items:
            self.disconnect()
            raise StopAsyncIteration
        return self.items.pop(0)

    async def take(self, frame: Dict[str, Any], line: bytes) -> None:
        raise NotImplementedError

    async def failed(self, error: Problem) -> None:
        """After a break: raises, or waits before the next connection."""
        self.resumption.check(error)
        await self.resumption.wait()

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

    async def take(self, frame: Dict[str, Any], line: bytes) -> None:
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
            self.items.append(EVENTS.get(kind, Other)(frame))

    async def failed(self, error: Problem) -> None:
        if error.type == "urn:larder:since-too-old" and self.command.get("since") is not None:
            self.command.update(since=None, initial=True)
            self.items.append(Reset({}))
        else:
            await super().failed(error)


class FetchStream(AsyncStream[View]):
    def __init__(self, core: Core, command: Members) -> None:
        super().__init__(core, command)
        if not command.get("follow"):
            self.silence = self.head_time

    async def take(self, frame: Dict[str, Any], line: bytes) -> None:
        kind = frame.get("type")
        if kind == "snapshot":
            body: Optional[bytes] = None
            path = frame["entry"].get("body_href")
            if path:
                query = None if "?" in path else {"account": self.core.account}
                body = await (await self.core.request("GET", path, query)).body()
            self.items.append(entry_of_frame(frame, line, body))
        elif kind == "unchanged":
            self.items.append(Unchanged(frame))
        elif kind == "deleted":
            self.items.append(Deleted(frame))
        elif kind == "problem":
            self.items.append(Failure(Problem.of(frame["problem"])))
        elif kind == "end":
            await self.ended(frame)

    async def ended(self, frame: Members) -> None:
        self.is_closed = True
        if self.answer:
            await self.answer.drain()
        if frame.get("outcome") == "shutdown":
            detail = "larderd ended before the network's answer."
            problem = Problem.of({"type": "urn:larder:shutting-down", "detail": detail})
            self.items.append(Failure(problem))

    async def failed(self, error: Problem) -> None:
        self.is_closed = True
        raise error


class FollowStream(FetchStream):
    shown, is_deleted, is_outage_told = -1, False, False

    async def take(self, frame: Dict[str, Any], line: bytes) -> None:
        self.is_outage_told = False
        kind, revision = frame.get("type"), frame.get("rev", 0)
        if kind == "snapshot":
            # An older cached view: the program has a newer one, which is no longer cached.
            is_older = revision < self.shown and frame.get("source") != "network"
            if is_older or revision == self.shown:
                return
            self.shown, self.is_deleted = revision, False
        elif kind == "deleted":
            if self.is_deleted:
                return
            self.is_deleted = True
        await super().take(frame, line)

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
            self.resumption.check(error)
            is_first = self.resumption.was_connected and self.resumption.failures == 0
            if not is_first and not self.is_outage_told:
                self.is_outage_told = True
                self.items.append(Failure(error))
            await self.resumption.wait()
