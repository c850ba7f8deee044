"""Client of larderd, an offline-first cache daemon: `larder.Client` and `larder.AsyncClient`.

`larder.requests` and `larder.httpx` connect existing programs; docs/clients.md is the manual.
"""

from __future__ import annotations

import importlib
from typing import Any

from ._clients import AsyncClient, AsyncItem, AsyncWrite, Client, Item, Stream, Write
from ._model import (
    Auth, Bookmark, CacheAnswer, Credential, Deleted, Entry, Event, Evicted, Failure, Mark, Origin,
    Other, Put, Receipt, Remapped, Reset, Snapshot, Unchanged, View, WriteChanged,
)  # fmt: skip
from ._problem import (
    CutOff, Gone, Invalid, Miss, NoDaemon, NotPermitted, Offline, OriginFailed, Problem, TooLarge,
    TooLate, Unavailable, UnknownOrigin,
)  # fmt: skip
from ._streams import AsyncStream

__all__ = [
    "AsyncClient", "AsyncItem", "AsyncStream", "AsyncWrite", "Auth", "Bookmark", "CacheAnswer", "Client",
    "Credential", "CutOff", "Deleted", "Entry", "Event", "Evicted", "Failure", "Gone", "Invalid", "Item",
    "Mark", "Miss", "NoDaemon", "NotPermitted", "Offline", "Origin", "OriginFailed", "Other", "Problem",
    "Put", "Receipt", "Remapped", "Reset", "Snapshot", "Stream", "TooLarge", "TooLate", "Unavailable",
    "Unchanged", "UnknownOrigin", "View", "Write", "WriteChanged",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in ("requests", "httpx"):
        return importlib.import_module(f"larder.{name}")
    raise AttributeError(f"module 'larder' has no attribute {name!r}")
