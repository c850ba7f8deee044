"""What the clients return: entries, views, events, marks and credentials."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any, Mapping, NamedTuple, Union

from ._problem import Problem
from ._wire import (
    Auth, Bookmark, Deleted, Evicted, FailedRow, Frame, Origin, Prefetch, Put, Remapped, Unchanged,
    WriteChanged,
)  # fmt: skip

__all__ = [
    "CacheAnswer", "Credential", "Entry", "Event", "Failure", "Mark", "Other", "Receipt", "Reset",
    "Snapshot", "View",
]  # fmt: skip


class Mark(NamedTuple):
    """Ids of the writes of a row that wait or failed. `id` is its entity; None: it has no mark."""

    id: str | None
    pending: list[str]
    failed: list[str]


@dataclass(frozen=True)
class Entry:
    """An entry at one moment, with its body.

    `source` is `cache`, `network`, or `modifier` if only writes made it. `age` is the seconds
    since the origin gave or confirmed it. If it is not `complete`, parts were evicted, and
    `missing` has JSON pointers to them. `content` is the body; JSON of a view has spaces in place
    of line breaks, and `save` has the exact bytes. `marks` are by JSON pointer. `failed_rows` are
    rows that refused writes would have added, as they were written.
    """

    id: str
    status: int
    media_type: str | None
    etag: str | None
    rev: int
    source: str
    stale: bool
    age: float
    pending: int
    failed: int
    complete: bool
    content: bytes = field(repr=False)
    pending_ids: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    marks: dict[str, Mark] = field(default_factory=dict, repr=False)
    failed_rows: list[FailedRow] = field(default_factory=list, repr=False)

    @property
    def text(self) -> str:
        charset = (self.media_type or "").lower().partition("charset=")[2].strip('" ;')
        try:
            return self.content.decode(charset or "utf-8", "replace")
        except (LookupError, ValueError):  # "undefined" is a codec that refuses everything.
            return self.content.decode("utf-8", "replace")

    def json(self) -> Any:
        return json.loads(self.content)

    def rows(self, pointer: str = "") -> list[tuple[Any, Mark]]:
        """The rows of the list at a JSON pointer, each with its mark."""
        value = self.json()
        for part in pointer.split("/")[1:]:
            name = part.replace("~1", "/").replace("~0", "~")
            value = value[int(name)] if isinstance(value, list) else value[name]
        if not isinstance(value, list):
            raise TypeError(f"{pointer!r} is not a list")
        none = Mark(None, [], [])
        return [(row, self.marks.get(f"{pointer}/{i}", none)) for i, row in enumerate(value)]


Snapshot = Entry


def entry_of_frame(frame: Mapping[str, Any], line: bytes, body: bytes | None) -> Entry:
    """The entry of a snapshot frame; `body` if it did not fit into the frame."""
    entry, rows = frame["entry"], frame.get("rows", [])
    if body is None and "body_b64" in entry:
        body = base64.b64decode(entry["body_b64"])
    if body is None:
        body = _raw_member(_raw_member(line.decode(), "entry"), "body").encode()
    marks = {row["pointer"]: Mark(row["id"], row["pending"], row["failed"]) for row in rows}
    names = "rev source stale pending pending_ids failed complete missing failed_rows".split()
    members = {name: frame[name] for name in names if name in frame}
    members.update({name: entry.get(name) for name in ("id", "status", "media_type", "etag")})
    return Entry(**members, age=frame["age_ms"] / 1000, content=body, marks=marks)


def frame_of_body(frame: dict[str, Any], headers: Mapping[str, str]) -> dict[str, Any]:
    """The frame of a snapshot, with the revision of its body, which was read after the frame.

    JSON pointers of the frame do not fit another body. The frame of that body has its own.
    """
    rev, etag = int(headers.get("larder-rev") or frame["rev"]), headers.get("etag")
    # With the same strong tag, only marks may have changed: the body is that of the frame.
    is_same = etag == frame["entry"].get("etag") and (etag or "").startswith('"')
    if rev == frame["rev"] or is_same:
        return frame
    entry = {**frame["entry"], "etag": etag}
    return {**frame, "rev": rev, "entry": entry, "rows": [], "missing": []}


def entry_of_headers(id: str, headers: Mapping[str, str], body: bytes) -> Entry:
    """An entry that was read by its id."""
    told = CacheAnswer(headers, is_own=True)
    rev, failed = (int(headers.get(name) or 0) for name in ("larder-rev", "larder-failed"))
    return Entry(
        id, 200, headers.get("content-type"), headers.get("etag"), rev, told.source,
        told.stale, told.age, told.pending, failed, headers.get("larder-complete") != "false", body,
    )  # fmt: skip


class CacheAnswer:
    """Where an answer came from, by its headers: `response.larder` of the adapters.

    `modifier` is the id of the write that the daemon has accepted (202).
    """

    def __init__(self, headers: Mapping[str, str], is_own: bool = False) -> None:
        status = headers.get("cache-status", "").rpartition("larder;")[2]
        parts = [part.strip() for part in status.split(";")]
        passed = any(part.startswith("fwd-status=") and part != "fwd-status=304" for part in parts)
        self.source = "network" if passed or not status else "cache"
        # An answer of an origin that has no lifetime is stale; a program's own bytes are not.
        lifetimes = [part[4:] for part in parts if part.startswith("ttl=")]
        is_late = lifetimes[0].startswith("-") if lifetimes else not is_own
        self.stale = is_late and self.source == "cache" and "fwd-status=304" not in parts
        self.age = float(headers.get("age") or 0)
        self.pending = int(headers.get("larder-pending") or 0)
        self.modifier: str | None = None

    def __repr__(self) -> str:
        return f"CacheAnswer({vars(self)})"


def _raw_member(text: str, name: str) -> str:
    """The text of an object's member, as it came."""
    decode, between, at = json.JSONDecoder().raw_decode, re.compile(r"[\s,:]*"), text.index("{") + 1
    while True:
        found, at = decode(text, next(between.finditer(text, at)).end())
        start = next(between.finditer(text, at)).end()
        at = decode(text, start)[1]
        if found == name:
            return text[start:at]


class Failure(NamedTuple):
    """View: the network or the daemon fails; the last snapshot stays valid."""

    problem: Problem


class Reset(Frame):
    """The changes since the last event are not known; the entries that exist follow."""


class Other(Frame):
    """A frame that only a newer daemon knows."""


View = Union[Entry, Unchanged, Deleted, Failure]
Event = Union[
    Put, Deleted, Evicted, WriteChanged, Remapped, Origin, Auth, Prefetch, Bookmark, Reset, Other,
]  # fmt: skip


class Credential(NamedTuple):
    """A credential: the whole value of the header field, and when it expires."""

    value: str
    expires: Union[datetime, str, None] = None
    header: str = "Authorization"

    def members(self) -> dict[str, str | None]:
        expires = self.expires
        if isinstance(expires, datetime):
            expires = expires.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        return {"value": self.value, "header": self.header, "expires": expires}


class Receipt(NamedTuple):
    """The answer to a write of an entry."""

    is_new: bool
    etag: str | None
    rev: int | None
