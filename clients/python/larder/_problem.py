"""Errors: one class with a subclass for each group of problem types."""

from __future__ import annotations

from typing import Any, Dict, Mapping, Optional, Tuple, Type

from ._wire import PROBLEMS

START = (
    "Begin in one of two ways: "
    "`sudo adduser NAME larder-clients` (log in again), or "
    "`systemctl --user enable --now larder.socket` (works immediately)"
)


class Problem(Exception):
    """An error of the daemon, or of the way to it.

    `type` is for programs; a type of a newer daemon is kept as text. The text of the error
    has `detail` and `hint`.
    """

    def __init__(
        self,
        type: str,
        detail: str,
        *,
        title: str = "",
        status: int = 0,
        hint: str = "",
        request_id: str = "",
        retryable: Optional[bool] = None,
        origin_status: Optional[int] = None,
        body: Any = None,
        members: Optional[Mapping[str, Any]] = None,
    ) -> None:
        super().__init__(" ".join(text for text in (detail or title or type, hint) if text))
        known = PROBLEMS.get(type, (status, False))
        self.type, self.title, self.detail, self.hint = type, title, detail, hint
        self.status = status or known[0]
        self.request_id = request_id
        self.retryable = known[1] if retryable is None else retryable
        self.origin_status, self.body = origin_status, body
        self.members: Dict[str, Any] = dict(members or {})
        """All members of the problem, also those that only a newer daemon knows."""

    @staticmethod
    def of(members: Mapping[str, Any]) -> Problem:
        """The problem as the daemon sent it, in the class of its type."""
        given = {name: members[name] for name in _MEMBERS if members.get(name) is not None}
        type = str(given.pop("type", "about:blank"))
        detail = str(given.pop("detail", ""))
        return _class_of(type)(type, detail, members=members, **given)


class NoDaemon(Problem):
    """No daemon answers, or the user may not open its socket."""


class Miss(Problem):
    """Nothing is cached under the id, or there is no such write."""


class Gone(Problem):
    """The origin says that the thing is gone."""


class UnknownOrigin(Problem):
    """The URL belongs to no origin, or there is no origin of the name."""


class NotPermitted(Problem):
    """Only an administrator may do this."""


class Offline(Problem):
    """The origin cannot be reached now."""


class OriginFailed(Problem):
    """The origin refused, or its answer cannot be used; see `origin_status` and `body`."""


class TooLarge(Problem):
    """A body or a head is above a limit."""


class Invalid(Problem):
    """The daemon does not take the request as it is."""


class TooLate(Problem):
    """The write was sent or settled before."""


class Unavailable(Problem):
    """The daemon cannot do it now: no room, too much to do, an error of its storage."""


class CutOff(Unavailable):
    """The connection to the daemon ended within an answer."""


_MEMBERS = (
    "type", "detail", "title", "status", "hint", "request_id", "retryable", "origin_status", "body"
)  # fmt: skip
_CLASSES: Tuple[Tuple[Type[Problem], str], ...] = (
    (Miss, "miss no-such-modifier"),
    (Gone, "deleted"),
    (UnknownOrigin, "unknown-origin no-such-origin"),
    (NotPermitted, "not-permitted"),
    (Offline, "unreachable captive offline timeout"),
    (OriginFailed, "origin-status redirect-refused address-refused bad-answer not-applied"),
    (TooLarge, "body-too-large head-too-large entry-too-large"),
    (TooLate, "already-sent already-settled lease-over"),
    (Unavailable, "in-use"),
)


def _class_of(type: str) -> Type[Problem]:
    name = type.rpartition(":")[2]
    for cls, names in _CLASSES:
        if type in PROBLEMS and name in names.split():
            return cls
    if type not in PROBLEMS:
        return Problem
    return Invalid if PROBLEMS[type][0] < 500 else Unavailable


def cut_off(detail: str) -> CutOff:
    return CutOff("urn:larder:cut-off", detail, retryable=True, hint="Try again.")


def no_daemon(failures: str) -> NoDaemon:
    detail = f"no larderd answers at {failures}."
    return NoDaemon("urn:larder:no-daemon", detail, retryable=True, hint=START)
