"""The two clients, whose methods are written once: `Client` blocks, `AsyncClient` is awaited."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import time
import uuid
from contextlib import closing, contextmanager, suppress
from functools import partial
from typing import (
    IO, TYPE_CHECKING, Any, Callable, Coroutine, Generic, Iterable, Iterator, Sequence, TypeVar,
    Union,
)  # fmt: skip

from ._connections import BlockingConnection, LoopConnection, run
from ._core import Answer, Core, Members, duration, given, path_of, seconds
from ._model import Credential, Entry, Failure, Receipt, entry_of_headers
from ._problem import Problem, cut_off, fault
from ._streams import (
    AsyncStream, Awaiting, Blocking, FetchStream, FollowStream, Resumption, Stream, WatchStream,
    operation,
)  # fmt: skip
from ._wire import (
    CredentialReport, CutOff, Deleted, Duration, FetchOptions, Invalid, ModifierConflict,
    ModifierReport, PinItem, PrefetchReport, TooLate, WriteOptions,
)  # fmt: skip

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = [
    "AsyncClient", "AsyncItem", "AsyncStream", "AsyncWrite", "Client", "Item", "Stream", "Write",
]  # fmt: skip
Content = Union[bytes, bytearray, memoryview, str, IO[bytes], Iterable[bytes]]
Path = Union[str, "os.PathLike[str]"]
BLOCK = 1 << 18
LOG = logging.getLogger("larder")
# Tries of `save` in a row that get no further: about 15 s with the pauses.
SAVE_TRIES_MAX = 10
SETTLED = ("confirmed", "failed", "cancelled", "dropped")


@contextmanager
def download(path: Path) -> Iterator[IO[bytes]]:
    """A file that gets its name when it is complete."""
    temporary = os.path.join(os.path.dirname(os.path.abspath(path)), f".larder-{uuid.uuid4()}")
    rights = 0o666
    with suppress(FileNotFoundError):  # The rights of the file that it replaces.
        rights = os.stat(path).st_mode & 0o777
    try:
        with open(temporary, "xb", opener=partial(os.open, mode=rights)) as file:
            yield file
        os.replace(temporary, path)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(temporary)


class PartialBody:
    """The first `size` bytes of a body in a file, and the strong ETag of that body."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file, self.size, self.tag = file, 0, ""

    def missing_part(self) -> Members:
        """The fields that ask for the bytes after these."""
        if not (self.size and self.tag):
            return {}
        return {"Range": f"bytes={self.size}-", "If-Range": self.tag}

    def begin(self, answer: Answer) -> None:
        """Keeps the bytes if the answer goes on after them; a whole answer begins again."""
        etag = answer.headers.get("etag", "")
        if answer.status != 206:
            self.size = self.file.seek(0)
            self.file.truncate()
            self.tag = etag if etag.startswith('"') else ""
            return
        start = answer.headers.get("content-range", "").partition("-")[0]
        if start != f"bytes {self.size}" or etag not in ("", self.tag):
            self.tag = ""
            raise cut_off("The answer of larderd is another part of the body.")


def action(name: str, does: str) -> operation[[], Coroutine[Any, Any, None]]:
    async def method(self: WriteState) -> None:
        await self._act(name)

    method.__name__, method.__doc__ = name, does
    return operation(method)


class WriteState:
    """A write: its `state` and its `report`, as last heard.

    `state` is such as `queued`, `confirmed`, `failed`; a state of a newer daemon is kept as text.
    `answer` is the last answer of the origin: `status`, `headers`, `body`. `conflict` is what
    another device has changed too: `base`, `mine` and `theirs` of each target.
    """

    def __init__(self, core: Core, receipt: Members) -> None:
        self._core = core
        self.id: str = receipt["id"]
        self.write_id, self.state = self.id, str(receipt["state"])
        self.report: ModifierReport | None = None
        self.answer: Members | None = None
        self.conflict: list[ModifierConflict] = []

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id} {self.state}>"

    def _heard(self, report: ModifierReport) -> None:
        self.report, self.state, self.answer = report, report["state"], report.get("answer")
        self.conflict = report.get("conflict", [])

    @property
    def is_settled(self) -> bool:
        return self.state in SETTLED

    @property
    def problem(self) -> Problem | None:
        """Why it failed; None in other states."""
        if self.state != "failed":
            return None
        answer, reason = self.answer or {}, self.report and self.report["reason"]
        told = {"origin_status": answer.get("status"), "body": answer.get("body")}
        why = f"{reason}, status {answer['status']}" if "status" in answer else reason
        detail = f"The write {self.write_id} failed ({why})"
        return fault("origin-status", detail, hint="Retry it, or drop it.", **told)

    async def _refresh(self, wait: Duration = None) -> None:
        """Asks for the state, with `wait` after it is settled or the time is over."""
        path, query = path_of("modifiers", self.write_id), {"wait": duration(wait)}
        self._heard(await self._core.report("GET", path, query, seconds(wait) + 60))

    async def _act(self, action: str) -> None:
        members = {"action": action, "ids": [self.write_id]}
        page = await (await self._core.command("POST", "/v1/modifiers/actions", members)).json()
        result = page["items"][0]
        if result.get("problem"):
            raise Problem.of(result["problem"])
        self.state = result.get("state") or "dropped"

    refresh = operation(_refresh)
    cancel = action("cancel", "Takes it back; raises TooLate if the origin may have applied it.")
    retry = action("retry", "Sends it again.")
    drop = action("drop", "Forgets it after it has failed.")
    discard = action("discard", "Gives it up, although the origin may have applied it.")

    @operation
    async def edit(self, changes: Sequence[Members], request: Members | None = None) -> None:
        """Replaces its changes and its request; a write that has failed then needs `retry`.

        Without `request` it follows from the changes, as in a new write. The write keeps its id,
        and the temporary ids of its targets if these are in the changes.
        """
        path = path_of("modifiers", self.write_id)
        members = {"changes": changes, "request": request}
        answer = await self._core.command("PATCH", path, members, query={})
        self.state = (await answer.json())["state"]

    @operation
    async def resolve(self, keep: str) -> None:
        """Ends a conflict: `mine` sends it over the value of the origin, `theirs` gives it up."""
        if keep not in ("mine", "theirs"):
            raise ValueError(f"a conflict is resolved by 'mine' or 'theirs', not {keep!r}")
        await self._act("retry" if keep == "mine" else "discard")

    @operation
    async def wait(self, timeout: Duration = None) -> bool:
        """Waits until it is settled, also over restarts of the daemon; returns whether it is."""
        end = None if timeout is None else time.monotonic() + seconds(timeout)
        resumption = Resumption(self._core, was_connected=True)
        while True:
            rest = 60.0 if end is None else max(0.0, end - time.monotonic())
            try:
                await self._refresh(min(rest, 60.0))
                resumption.spoke()
                if self.is_settled or not rest:
                    return self.is_settled
            except Problem as error:
                if not rest:
                    raise
                await resumption.after(error)


class ItemState(WriteState):
    """A created thing, and the write that creates it.

    `id` is the id of the thing: temporary, and real after the origin gave one. Both can be used.
    `placeholder` is a text for the real id in URLs and JSON bodies of other writes.
    """

    placeholder = ""

    def _heard(self, report: ModifierReport) -> None:
        super()._heard(report)
        self.id = report["targets"][-1]["id"]


class AsyncWrite(Awaiting, WriteState):
    """A write of the asyncio client."""


class Write(Blocking, WriteState):
    """A write of the blocking client."""


class AsyncItem(ItemState, AsyncWrite):
    """A created thing, and the write that creates it."""


class Item(ItemState, Write):
    """A created thing, and the write that creates it."""


W = TypeVar("W", bound=WriteState)
I = TypeVar("I", bound=ItemState)


class Operations(Core, Generic[W, I]):
    """Reads and writes of the daemon."""

    _write_type: type[W]
    _item_type: type[I]

    @operation
    def fetch(self, url: str, **options: Unpack[FetchOptions]) -> FetchStream:
        """The views of a URL: the cached entry, then the network's word."""
        return FetchStream(self, {"url": url, **options})

    @operation
    def follow(
        self, url: str, *, heartbeat: Duration = None, refresh: Duration = None,
        **options: Unpack[FetchOptions],
    ) -> FollowStream:  # fmt: skip
        """The views of a URL, now and after each change; it goes on over restarts of the daemon.

        With `refresh` the daemon asks the origin again at that interval.
        """
        members = {"url": url, "follow": True, "heartbeat": heartbeat, "refresh": refresh}
        return FollowStream(self, {**members, **options})

    @operation
    def watch(
        self, *, prefix: str | Sequence[str] | None = None, ids: Sequence[str] | None = None,
        types: Sequence[str] | None = None, since: int | None = None, initial: bool = False,
        heartbeat: Duration = None,
    ) -> WatchStream:  # fmt: skip
        """The changes of entries, entities, writes, origins and sets; it goes on over restarts."""
        prefixes = [prefix] if isinstance(prefix, str) else prefix
        members = {"prefixes": prefixes, "ids": ids, "types": types, "since": since}
        more = {"heartbeat": heartbeat, "initial": initial or None}
        return WatchStream(self, {**members, **more})

    @operation
    async def get(self, url: str, **options: Unpack[FetchOptions]) -> Entry:
        """The entry of a URL with its body, or what is stored under another id.

        With `method="POST"` the read has the body `json`, also called `body`. The path must be one
        of the origin's `post_reads`.

        Without an entry to return, raises the problem. The default policy is `network-first`: the
        cached entry is the answer if the network fails, or is slower than `network_wait`. With
        `cache-then-network` the cached entry is the answer only if the network fails.
        """
        if not _is_url(url):
            answer = await self.request("GET", path_of("entries", url), {})
            return entry_of_headers(url, answer.headers, await answer.body())
        options["policy"] = policy = options.get("policy") or "network-first"
        # Here the stream ends with the answer: the network's, or the cached one.
        takes_last = policy in ("cache-then-network", "cache-only")
        entry: Entry | None = None
        problem = fault("bad-answer", "A fetch has no snapshot.")
        with closing(FetchStream(self, {"url": url, **options})) as stream:
            async for view in stream:
                if isinstance(view, Entry):
                    entry = view
                elif isinstance(view, Deleted):
                    entry, problem = None, fault("deleted", f"{url} is gone.", **view.frame)
                elif isinstance(view, Failure):
                    problem = view.problem
                # The network's answer may still follow, up to `timeout` later.
                is_answer = isinstance(view, (Entry, Deleted)) and view.source != "network"
                if is_answer and not takes_last:
                    break
        if entry is None:
            raise fault("client-closed", "The client is closed.") if self.is_closed else problem
        return entry

    @operation
    async def save(self, url: str, path: Path, *, policy: str | None = None) -> int:
        """Writes the exact bytes of a URL or of a stored id to a file, and returns their number.

        The file gets its name when all bytes are on disk. After a cut the client asks for the
        bytes that are missing, or for all if the body has no strong ETag.
        """
        resumption, longest = Resumption(self), 0
        with download(path) as file:
            body = PartialBody(file)
            while True:
                try:
                    await self._receive(body, url, policy)
                    break
                except Problem as error:
                    if body.size > longest:
                        longest = body.size
                        resumption.spoke()
                    # A refusal before the first cut is the answer to the call.
                    is_refusal = not (isinstance(error, CutOff) or resumption.was_connected)
                    if is_refusal or resumption.failures >= SAVE_TRIES_MAX:
                        raise
                    await resumption.after(error)
            file.flush()
            await self._io.call(os.fsync, file.fileno())
        return body.size

    async def _receive(self, body: PartialBody, url: str, policy: str | None) -> None:
        """Writes the bytes that the body does not have yet."""
        part = body.missing_part()
        try:
            answer = await self._bytes(url, policy, part)
        except Problem as error:
            if not part or 416 not in (error.status, error.origin_status):
                raise
            body.tag = ""
            raise cut_off("The body is shorter than its first part.") from error
        with closing(answer):
            body.begin(answer)
            while data := await answer.chunk():
                await self._io.call(body.file.write, data)
                body.size += len(data)
        # A server may send less than it was asked for.
        whole = answer.headers.get("content-range", "").rpartition("/")[2]
        if answer.status == 206 and whole not in ("*", str(body.size)):
            raise cut_off("The answer of larderd ends before the body does.")

    async def _bytes(self, url: str, policy: str | None, part: Members) -> Answer:
        """The exact bytes of a URL or of a stored id, or a part of them."""
        target, query = path_of("entries", url), {}
        if _is_url(url):
            target, query = "/v1/get", {"url": url, "policy": policy}
        try:
            return await self.request("GET", target, query, headers=part, timeout=None)
        except Problem as problem:
            if "raw_href" not in problem.members:
                raise
            # The daemon refuses to store the answer, and passes it through.
            fields = {"Cache-Control": "no-store", "Larder-Account": self.account, **part}
            href = problem.members["raw_href"]
            return await self.request("GET", href, headers=fields, timeout=None)

    @operation
    async def put(
        self, id: str, content: Content, *, content_type: str = "application/octet-stream",
        ttl: Duration = None, pin: bool = False, if_match: str | None = None,
        only_new: bool = False,
    ) -> Receipt:  # fmt: skip
        """Stores bytes, a file or chunks under an id; they are on disk when it returns."""
        if isinstance(content, str):
            content = content.encode()
        elif isinstance(content, (bytearray, memoryview)):
            content = bytes(content)
        elif hasattr(content, "read"):
            content = iter(partial(content.read, BLOCK), b"")
        elif isinstance(content, dict) or not hasattr(content, "__iter__"):
            raise TypeError(f"the content is {type(content).__name__}: give bytes, text or a file")
        new = "*" if only_new else None
        fields = {"Content-Type": content_type, "If-Match": if_match, "If-None-Match": new}
        query = {"ttl": duration(ttl), "pin": "true" if pin else None}
        return await self._stored("PUT", id, query, content, fields)

    @operation
    async def delete(self, id: str, *, if_match: str | None = None) -> Receipt:
        """Removes stored bytes, or forgets an origin's answer."""
        return await self._stored("DELETE", id, {}, None, {"If-Match": if_match})

    async def _stored(
        self, method: str, id: str, query: Members, body: Any, fields: Members
    ) -> Receipt:
        answer = await self.request(method, path_of("entries", id), query, body, fields, None)
        await answer.body()
        rev = answer.headers.get("larder-rev")
        return Receipt(answer.status == 201, answer.headers.get("etag"), int(rev) if rev else None)

    @operation
    async def entries(
        self, prefix: str | None = None, *, origin: str | None = None
    ) -> list[dict[str, Any]]:
        """Entries without their bytes."""
        return await self.pages("/v1/entries", {"prefix": prefix, "origin": origin})

    @operation
    async def pin(
        self, id: str, *, wait: Duration = None, refresh: Duration = None
    ) -> PinItem | None:
        """Pins an entry, which is then never evicted. None: it was pinned before.

        With `refresh` the daemon asks the origin again at that interval, also without a client.
        """
        query = {"wait": duration(wait), "refresh": duration(refresh)}
        path, limit = path_of("pins", id), seconds(wait) + 60
        pin: PinItem | None = await self.report("PUT", path, query, limit)
        return pin

    @operation
    async def unpin(self, id: str) -> None:
        """Makes a pinned entry an ordinary one."""
        await self.report("DELETE", path_of("pins", id), {})

    @operation
    async def pins(self) -> list[PinItem]:
        """The pins."""
        return await self.pages("/v1/pins", {})

    @operation
    async def prefetch(
        self, name: str, urls: Iterable[str | Members], *, expires: Duration = None,
        refresh: Duration = None, dry_run: bool = False, wait: Duration = None,
    ) -> PrefetchReport:  # fmt: skip
        """Has URLs fetched in advance and pinned, as one set; a set of that name is replaced.

        An item may also be a query, as `{"entities": {"origin": "books", "type": "Book"}}`. With
        `dry_run` the daemon only looks up sizes. With `wait` it answers when the set is no longer
        `filling`, or the time is over. It raises Unavailable if the set has no room.
        """
        items = [{"url": url} if isinstance(url, str) else url for url in urls]
        members = {"items": items, "expires": expires, "refresh": refresh}
        query = {"wait": duration(wait), "dry_run": "true" if dry_run else None}
        # The daemon looks up sizes for at most 60 s, and then waits.
        path, limit = path_of("prefetch", name), seconds(wait) + 120
        answer = await self.command("PUT", path, members, limit, query)
        report: PrefetchReport = await answer.json()
        return report

    @operation
    async def prefetched(self, name: str) -> PrefetchReport:
        """What there is of a set, with each missing entry and its problem."""
        report: PrefetchReport = await self.report("GET", path_of("prefetch", name), {})
        return report

    @operation
    async def prefetches(self) -> list[PrefetchReport]:
        """The sets, without their missing entries."""
        return await self.pages("/v1/prefetch", {"limit": None})

    @operation
    async def remove_prefetch(self, name: str) -> None:
        """Removes a set; its entries become ordinary ones, unless something else keeps them."""
        await self.report("DELETE", path_of("prefetch", name), {})

    @operation
    async def modify(
        self, target: str, *, merge: Members | None = None, put: Any = None,
        patch: Sequence[Members] | None = None, set: Members | None = None,
        add: Members | None = None, list_add: Members | None = None,
        list_remove: Members | None = None, delete: bool = False,
        **options: Unpack[WriteOptions],
    ) -> W:  # fmt: skip
        """Changes a URL, an entity or a stored id: here now, at its origin as soon as possible.

        Effects other than one of put, merge, patch and delete need the option `request`.
        """
        values = {"put": put, "merge": merge, "patch": patch, "set": set and {"set": set}}
        values.update({"add": add, "list_add": list_add, "list_remove": list_remove})
        effects = [{"type": name, "value": value} for name, value in given(values).items()]
        if delete or not effects:
            effects.append({"type": "delete" if delete else "none"})
        one = {"effect": effects[0]} if len(effects) == 1 else {"effects": effects}
        return await self._write([{"target": {"id": target}, **one}], **options)

    async def _write(self, changes: Sequence[Members], **options: Unpack[WriteOptions]) -> W:
        """Changes several targets in one write, as `POST /v1/modifiers` has it."""
        return self._write_type(self, await self._accept(changes, options))

    write = operation(_write)

    async def _accept(self, changes: Sequence[Members], options: Members) -> Any:
        # The same id makes a repeated request the same write.
        members = {"id": str(uuid.uuid4()), "changes": changes, **options}
        try:
            return await (await self.command("POST", "/v1/modifiers", members)).json()
        except CutOff:
            return await (await self.command("POST", "/v1/modifiers", members)).json()

    @operation
    async def create(
        self, url: str, value: Members, *, into: str | None = None, key: str = "id",
        **options: Unpack[WriteOptions],
    ) -> I:  # fmt: skip
        """Creates a thing with a POST to a URL. It shows now, in the list at the pointer `into`.

        `key` is the member that has the id of a row.
        """
        name = f"tmp:{uuid.uuid4()}"
        more = {"request": {"method": "POST", "url": url, "body": value}, **options}
        effect = {"type": "list_add", "value": {into or "": [{**value, key: name}]}}
        row = {"target": {"id": url}, "effect": effect}
        thing = {"target": {"id": name}, "effect": {"type": "put", "value": value}}
        try:
            receipt = await self._accept([thing if into is None else row], more)
        except Invalid as problem:
            if into is None or name not in problem.detail:
                raise
            # Without rules that make the row an entity, the thing is what Location names.
            receipt = await self._accept([row, thing], more)
        item = self._item_type(self, receipt)
        item.placeholder = "{{id:" + name + "}}"
        await item._refresh()
        return item

    async def _writes(self, state: str | None = None) -> list[W]:
        """The writes that wait and those that failed; or those in a state."""
        reports = await self.pages("/v1/modifiers", {"state": state})
        writes = [self._write_type(self, report) for report in reports]
        for write, report in zip(writes, reports):
            write._heard(report)
        return writes

    writes = operation(_writes)

    @operation
    async def conflicts(self) -> list[W]:
        """The writes that wait because another device has changed the same."""
        writes = await self._writes("conflict")
        for write in writes:
            await write._refresh()
        return [write for write in writes if write.state == "conflict"]

    @operation
    async def credential(self, origin: str) -> CredentialReport:
        """The credential of this client's account at an origin, without its value."""
        report: CredentialReport = await self.report("GET", _credential_path(origin), {})
        return report

    async def _set_credential(
        self, origin: str, credential: Credential | str, *, lease: str | None = None
    ) -> CredentialReport:
        """Sets the credential of this client's account at an origin; a text is its value."""
        if isinstance(credential, str):
            credential = Credential(credential)
        if not isinstance(credential, Credential):
            raise TypeError(f"{type(credential).__name__} is neither larder.Credential nor a text")
        members = {**credential.members(), "lease": lease}
        answer = await self.command("PUT", _credential_path(origin), members)
        report: CredentialReport = await answer.json()
        return report

    set_credential = operation(_set_credential)

    async def _renew(self, origin: str, renew: Callable[[str], Any]) -> None:
        """Renews the credential each time that the daemon asks, until the client is closed."""
        resumption = Resumption(self, was_connected=True)
        try:
            while not self.is_closed:
                try:
                    await self._renew_once(origin, renew)
                    resumption.spoke()
                except Problem as error:
                    if not self.is_closed:
                        await resumption.after(error)
        except Problem as refusal:
            LOG.error("no credential of %s is renewed: %s", origin, refusal)

    async def _renew_once(self, origin: str, renew: Callable[[str], Any]) -> None:
        path = f"{_credential_path(origin)}/renewal"
        with closing(await self.request("POST", path, {}, timeout=None)) as answer:
            order, _ = await answer.frame()
            try:
                credential = await self._io.call(renew, order["reason"])
                # TooLate: another program was asked meanwhile, or the user has logged in.
                with suppress(TooLate):
                    await self._set_credential(origin, credential, lease=order["lease"])
            except Exception as error:
                # The connection closes, and the daemon asks the next program.
                if not self.is_closed:
                    LOG.exception("renewal of a credential failed")
                raise fault("not-renewed", repr(error), retryable=True) from error
            with suppress(Problem):
                await answer.body()

    @operation
    async def status(self) -> dict[str, Any]:
        """The state of the daemon."""
        status: dict[str, Any] = await self.report("GET", "/v1/status")
        return status

    @operation
    async def close(self) -> None:
        """Closes all connections, and ends all streams."""
        self._close()


class AsyncClient(Awaiting, Operations[AsyncWrite, AsyncItem]):
    """A client for asyncio. Each method that is not a stream is awaited."""

    _io, _write_type, _item_type = LoopConnection, AsyncWrite, AsyncItem

    async def provide_credential(self, origin: str, renew: Callable[[str], Any]) -> AsyncClient:
        """Calls `renew` with the reason each time that the daemon asks for a new credential.

        It may be a coroutine function, and has 30 s. A task calls it, until the returned client
        or this one is closed. The daemon asks one program at a time.
        """
        client = AsyncClient(account=self.account)
        client._paths = self._paths
        task = asyncio.ensure_future(client._renew(origin, renew))
        client._at_close.append(task.cancel)
        self._at_close.append(client._close)
        return client

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._close()


class Client(Blocking, Operations[Write, Item]):
    """A client of the daemon; one per program is enough, and any thread may use it."""

    _io, _write_type, _item_type = BlockingConnection, Write, Item

    def provide_credential(self, origin: str, renew: Callable[[str], Credential]) -> Client:
        """Calls `renew` with the reason each time that the daemon asks for a new credential.

        It has 30 s. A thread calls it, until the returned client or this one is closed. The
        daemon asks one program at a time.
        """
        client = Client(account=self.account)
        client._paths = self._paths
        work = client._renew(origin, renew)
        threading.Thread(target=run, args=(work,), name="larder-credential", daemon=True).start()
        self._at_close.append(client._close)
        return client

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()


def _is_url(text: str) -> bool:
    return text.startswith(("http://", "https://"))


def _credential_path(origin: str) -> str:
    return path_of("origins", origin) + "/credential"
