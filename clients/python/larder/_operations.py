"""The operations of both clients, as coroutines."""

from __future__ import annotations

import logging
import os
import time
import uuid
from contextlib import closing, contextmanager, suppress
from functools import partial
from typing import (
    IO, TYPE_CHECKING, Any, Callable, Coroutine, Dict, Generic, Iterable, Iterator, List, Mapping,
    Optional, Sequence, Type, TypedDict, TypeVar, Union,
)  # fmt: skip

from ._core import Core, Duration, Members, Resumption
from ._core import duration, given, path_of, seconds
from ._model import Credential, Deleted, Entry, Failure, Receipt, entry_of_headers
from ._problem import CutOff, Invalid, OriginFailed, Problem, TooLate, bad_answer
from ._streams import FetchStream, FollowStream, WatchStream
from ._wire import CredentialReport, ModifierConflict, ModifierReport, PinItem

if TYPE_CHECKING:
    from typing_extensions import Unpack

Content = Union[bytes, str, IO[bytes], Iterable[bytes]]
Path = Union[str, "os.PathLike[str]"]
BLOCK = 1 << 18
SETTLED = ("confirmed", "failed", "cancelled", "dropped")


class FetchOptions(TypedDict, total=False):
    policy: Optional[str]
    network_wait: Duration
    timeout: Duration
    headers: Mapping[str, str]
    partial: bool


class WriteOptions(TypedDict, total=False):
    request: Members
    id: str
    lane: str
    depends_on: Sequence[str]
    hold: Duration
    expires: Duration
    max_attempts: int
    after_unknown: str
    if_match: str
    on_conflict: str


@contextmanager
def download(path: Path) -> Iterator[IO[bytes]]:
    """A file that gets its name when it is complete."""
    temporary = os.path.join(os.path.dirname(os.path.abspath(path)), f".larder-{uuid.uuid4()}")
    try:
        with open(temporary, "xb") as file:
            yield file
        os.replace(temporary, path)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(temporary)


class WriteState:
    """A write: its `state` and its `report`, as last heard.

    `state` is such as `queued`, `confirmed`, `failed`; a state of a newer daemon is kept as text.
    `answer` is the last answer of the origin: `status`, `headers`, `body`. `conflict` is what
    another device has changed too: `base`, `mine` and `theirs` of each target.
    """

    def __init__(self, core: Core, receipt: Members) -> None:
        self._core = core
        self.write_id: str = receipt["id"]
        self.state: str = receipt["state"]
        self.report: Optional[ModifierReport] = None

    @property
    def id(self) -> str:
        return self.write_id

    @property
    def is_settled(self) -> bool:
        return self.state in SETTLED

    @property
    def answer(self) -> Optional[Members]:
        return self.report.get("answer") if self.report else None

    @property
    def conflict(self) -> List[ModifierConflict]:
        return self.report.get("conflict", []) if self.report else []

    @property
    def problem(self) -> Optional[Problem]:
        """Why it failed; None in other states."""
        if self.state != "failed":
            return None
        answer, reason = self.answer or {}, self.report and self.report["reason"]
        return OriginFailed(
            "urn:larder:origin-status", f"The write {self.write_id} failed ({reason})",
            hint="Retry it, or drop it.", origin_status=answer.get("status"), body=answer.get("body"),
        )  # fmt: skip

    async def _refresh(self, wait: Duration = None) -> None:
        """Asks for the state, with `wait` after it is settled or the time is over."""
        path, query = path_of("modifiers", self.write_id), {"wait": duration(wait)}
        report = await self._core.report("GET", path, query, timeout=seconds(wait) + 60)
        self.report, self.state = report, report["state"]

    async def _wait(self, timeout: Optional[float] = None) -> bool:
        """Waits until it is settled, also over restarts of the daemon; returns whether it is."""
        end = None if timeout is None else time.monotonic() + timeout
        resumption = Resumption(self._core, was_connected=True)
        while True:
            rest = 60.0 if end is None else max(0.0, end - time.monotonic())
            try:
                await self._refresh(min(rest, 60.0))
                resumption.spoke()
                if self.is_settled or not rest:
                    return self.is_settled
            except Problem as error:
                resumption.check(error)
                if not rest:
                    raise
                await resumption.wait()

    async def _act(self, action: str) -> None:
        members = {"action": action, "ids": [self.write_id], "account": self._core.account}
        page = await (await self._core.command("POST", "/v1/modifiers/actions", members)).json()
        result = page["items"][0]
        if result.get("problem"):
            raise Problem.of(result["problem"])
        self.state = result.get("state") or "dropped"

    def _resolve(self, keep: str) -> Coroutine[Any, Any, None]:
        """Ends a conflict: `mine` sends it over the value of the origin, `theirs` cancels it."""
        return self._act({"mine": "retry", "theirs": "cancel"}[keep])


def act(action: str, does: str) -> Callable[[WriteState], Coroutine[Any, Any, None]]:
    async def method(self: WriteState) -> None:
        await self._act(action)

    method.__name__, method.__doc__ = action, does
    return method


cancel = act("cancel", "Takes it back; raises TooLate if the origin may have applied it.")
retry = act("retry", "Sends it again.")
drop = act("drop", "Forgets it after it has failed, or takes it back.")
discard = act("discard", "Gives it up, although the origin may have applied it.")


class ItemState(WriteState):
    """A created thing, and the write that creates it."""

    name = ""

    @property
    def id(self) -> str:
        """The id of the thing: temporary, and real after the origin gave one. Both can be used."""
        return self.report["targets"][-1]["id"] if self.report else self.name

    @property
    def placeholder(self) -> str:
        """Text for the real id in URLs and JSON bodies of other writes."""
        return "{{id:" + self.name + "}}"


W = TypeVar("W", bound=WriteState)
I = TypeVar("I", bound=ItemState)


class Operations(Core, Generic[W, I]):
    """Reads and writes of the daemon."""

    _write_type: Type[W]
    _item_type: Type[I]

    def _members(self, members: Members) -> Dict[str, Any]:
        members = {"account": self.account, **members}
        for name in ("network_wait", "timeout", "heartbeat", "hold", "expires"):
            if name in members:
                members[name] = duration(members[name])
        return members

    def _fetch(self, url: str, **options: Unpack[FetchOptions]) -> FetchStream:
        """The views of a URL: the cached entry, then the network's word."""
        return FetchStream(self, self._members({"url": url, **options}))

    def _follow(
        self, url: str, *, heartbeat: Duration = None, **options: Unpack[FetchOptions]
    ) -> FollowStream:
        """The views of a URL, now and after each change; it goes on over restarts of the daemon."""
        members = {"url": url, "follow": True, "heartbeat": heartbeat, **options}
        return FollowStream(self, self._members(members))

    def _watch(
        self, *, prefix: Union[str, Sequence[str], None] = None, ids: Optional[Sequence[str]] = None,
        types: Optional[Sequence[str]] = None, since: Optional[int] = None, initial: bool = False,
        heartbeat: Duration = None,
    ) -> WatchStream:  # fmt: skip
        """The changes of entries, entities, writes and origins; it goes on over restarts."""
        members = {"ids": ids, "types": types, "since": since, "heartbeat": heartbeat}
        members["prefixes"] = [prefix] if isinstance(prefix, str) else prefix
        return WatchStream(self, self._members({**members, "initial": initial or None}))

    async def _get(self, url: str, **options: Unpack[FetchOptions]) -> Entry:
        """The entry of a URL with its body, or what is stored under another id.

        Without an entry to return, raises the problem. The default policy is `network-first`.
        """
        if not _is_url(url):
            answer = await self.request("GET", path_of("entries", url), {"account": self.account})
            return entry_of_headers(url, answer.headers, await answer.body())
        options["policy"] = policy = options.get("policy") or "network-first"
        takes_first = policy != "cache-then-network" and options.get("network_wait")
        stream = self._fetch(url, **options)
        entry: Optional[Entry] = None
        problem: Problem = bad_answer("A fetch has no snapshot.")
        try:
            async for view in stream:
                if isinstance(view, Entry):
                    entry = view
                    if takes_first and view.source == "cache":
                        break
                elif isinstance(view, Failure):
                    problem = view.problem
                elif isinstance(view, Deleted):
                    members = {**view.frame, "type": "urn:larder:deleted", "detail": f"{url} is gone."}
                    entry, problem = None, Problem.of(members)
        finally:
            stream.close()
        if entry is None:
            raise problem
        return entry

    async def _save(self, url: str, path: Path, *, policy: Optional[str] = None) -> int:
        """Writes the exact bytes of a URL or of a stored id to a file, and returns their number.

        The file gets its name when all bytes are on disk.
        """
        target, query = path_of("entries", url), {"account": self.account}
        if _is_url(url):
            target, query = "/v1/get", {"url": url, "policy": policy, **query}
        try:
            answer = await self.request("GET", target, query, timeout=None)
        except Problem as problem:
            if "raw_href" not in problem.members:
                raise
            # The daemon refuses to store the answer, and passes it through.
            fields = {"Cache-Control": "no-store", "Larder-Account": self.account}
            href = problem.members["raw_href"]
            answer = await self.request("GET", href, headers=fields, timeout=None)
        size = 0
        with closing(answer), download(path) as file:
            while data := await answer.chunk():
                await self._call(file.write, data)
                size += len(data)
            file.flush()
            await self._call(os.fsync, file.fileno())
        return size

    async def _put(
        self, id: str, content: Content, *, content_type: str = "application/octet-stream",
        ttl: Duration = None, pin: bool = False, if_match: Optional[str] = None,
        only_new: bool = False,
    ) -> Receipt:  # fmt: skip
        """Stores bytes, a file or chunks under an id; they are on disk when it returns."""
        if isinstance(content, str):
            content = content.encode()
        elif hasattr(content, "read"):
            content = iter(partial(content.read, BLOCK), b"")
        new = "*" if only_new else None
        fields = {"Content-Type": content_type, "If-Match": if_match, "If-None-Match": new}
        query = {"ttl": duration(ttl), "pin": "true" if pin else None, "account": self.account}
        return await self._stored("PUT", id, query, content, fields)

    async def _delete(self, id: str, *, if_match: Optional[str] = None) -> Receipt:
        """Removes stored bytes, or forgets an origin's answer."""
        fields = {"If-Match": if_match}
        return await self._stored("DELETE", id, {"account": self.account}, None, fields)

    async def _stored(
        self, method: str, id: str, query: Members, body: Any, fields: Members
    ) -> Receipt:
        answer = await self.request(method, path_of("entries", id), query, body, fields, None)
        await answer.body()
        rev = answer.headers.get("larder-rev")
        is_new = answer.status == 201
        return Receipt(is_new, answer.headers.get("etag"), int(rev) if rev else None)

    async def _entries(
        self, prefix: Optional[str] = None, *, origin: Optional[str] = None
    ) -> List[Dict[str, Any]]:
        """Entries without their bytes."""
        return await self.pages("/v1/entries", {"prefix": prefix, "origin": origin})

    async def _pin(self, id: str, *, wait: Duration = None) -> Optional[PinItem]:
        """Pins an entry, which is then never evicted. None: it was pinned before."""
        query = {"wait": duration(wait), "account": self.account}
        time = seconds(wait) + 60
        pin: Optional[PinItem] = await self.report("PUT", path_of("pins", id), query, timeout=time)
        return pin

    async def _unpin(self, id: str) -> None:
        """Makes a pinned entry an ordinary one."""
        await self.report("DELETE", path_of("pins", id), {"account": self.account})

    async def _pins(self) -> List[PinItem]:
        """The pins."""
        return await self.pages("/v1/pins", {})

    async def _modify(
        self, target: str, *, merge: Optional[Members] = None, put: Any = None,
        patch: Optional[Sequence[Members]] = None, set: Optional[Members] = None,
        add: Optional[Members] = None, list_add: Optional[Members] = None,
        list_remove: Optional[Members] = None, delete: bool = False,
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

    async def _accept(self, changes: Sequence[Members], options: Members) -> Any:
        # The same id makes a repeated request the same write.
        members = self._members({"id": str(uuid.uuid4()), "changes": changes, **options})
        try:
            return await (await self.command("POST", "/v1/modifiers", members)).json()
        except CutOff:
            return await (await self.command("POST", "/v1/modifiers", members)).json()

    async def _create(
        self, url: str, value: Members, *, into: Optional[str] = None, key: str = "id",
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
        item.name = name
        await item._refresh()
        return item

    async def _writes(self, state: Optional[str] = None) -> List[W]:
        """The writes that wait and those that failed; or those in a state."""
        writes = []
        for report in await self.pages("/v1/modifiers", {"state": state}):
            writes.append(self._write_type(self, report))
            writes[-1].report = report
        return writes

    async def _conflicts(self) -> List[W]:
        """The writes that wait because another device has changed the same."""
        writes = await self._writes("conflict")
        for write in writes:
            await write._refresh()
        return [write for write in writes if write.state == "conflict"]

    async def _credential(self, origin: str) -> CredentialReport:
        """The credential of this client's account at an origin, without its value."""
        query = {"account": self.account}
        report: CredentialReport = await self.report("GET", _credential_path(origin), query)
        return report

    async def _set_credential(
        self, origin: str, credential: Credential, *, lease: Optional[str] = None
    ) -> CredentialReport:
        """Sets the credential of this client's account at an origin."""
        members = {**credential.members(), "account": self.account, "lease": lease}
        answer = await self.command("PUT", _credential_path(origin), members)
        report: CredentialReport = await answer.json()
        return report

    async def _renew(self, origin: str, renew: Callable[[str], Any]) -> None:
        """Renews the credential each time that the daemon asks, until the client is closed."""
        resumption = Resumption(self, was_connected=True)
        while not self.is_closed:
            try:
                await self._renew_once(origin, renew)
                resumption.spoke()
            except Problem as error:
                if not self.is_closed:
                    resumption.check(error)
                    await resumption.wait()

    async def _renew_once(self, origin: str, renew: Callable[[str], Any]) -> None:
        path, query = _credential_path(origin) + "/renewal", {"account": self.account}
        answer = await self.request("POST", path, query, timeout=None)
        try:
            order, _ = await answer.frame()
            try:
                credential = await self._call(renew, order["reason"])
            except Exception as error:
                # The connection closes, and the daemon asks the next program.
                logging.getLogger("larder").exception("renewal of a credential failed")
                raise Problem("urn:larder:not-renewed", repr(error), retryable=True) from error
            try:
                await self._set_credential(origin, credential, lease=order["lease"])
            except TooLate:
                pass  # Another program was asked meanwhile, or the user has logged in.
            await answer.drain()
        finally:
            answer.close()

    async def _status(self) -> Dict[str, Any]:
        """The state of the daemon."""
        status: Dict[str, Any] = await self.report("GET", "/v1/status")
        return status


def _is_url(text: str) -> bool:
    return text.startswith(("http://", "https://"))


def _credential_path(origin: str) -> str:
    return path_of("origins", origin) + "/credential"
