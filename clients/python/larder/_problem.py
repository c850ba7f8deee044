"""Errors: one class with a subclass for each group of problem types."""

from __future__ import annotations

from typing import Any, Dict, Mapping, Optional, Tuple, Type

from ._wire import PROBLEMS

START = (
    "Begin in one of two ways: `sudo adduser NAME larder-clients` (log in again), or "
    "`systemctl --user enable --now larder.socket` (works immediately)."
)


class Problem(Exception):
    """An error of the daemon, or of the way to it. Its text has `detail` and `hint`.

    `type` is for programs; a type of a newer daemon is kept as text. `members` has all members.
    """

    def __init__(
        self, type: str, detail: str = "", title: str = "", status: int = 0, hint: str = "",
        request_id: str = "", retryable: Optional[bool] = None, origin_status: Optional[int] = None,
        body: Any = None, members: Optional[Mapping[str, Any]] = None,
    ) -> None:  # fmt: skip
        text = (detail or title or type).rstrip(".")
        super().__init__(f"{text}. {hint}" if hint else text)
        known = PROBLEMS.get(type, (status, False))
        self.type, self.title, self.detail, self.hint = type, title, detail, hint
        self.status, self.request_id = status or known[0], request_id
        self.retryable = known[1] if retryable is None else retryable
        self.origin_status, self.body = origin_status, body
        self.members: Dict[str, Any] = dict(members or {})

    @staticmethod
    def of(members: Mapping[str, Any]) -> Problem:
        """The problem as the daemon sent it, in the class of its type."""
        names = "detail title status hint request_id retryable origin_status body".split()
        given = {name: members[name] for name in names if members.get(name) is not None}
        type = str(members.get("type"))
        return _class_of(type)(type, members=members, **given)


# fmt: off
class NoDaemon(Problem): "No daemon answers, or the user may not open its socket."
class Miss(Problem): "Nothing is cached under the id, or there is no such write."
class Gone(Problem): "The origin says that the thing is gone."
class UnknownOrigin(Problem): "The URL belongs to no origin, or there is no origin of the name."
class NotPermitted(Problem): "Only an administrator may do this."
class Offline(Problem): "The origin cannot be reached now."
class OriginFailed(Problem): "The origin refused (`origin_status`, `body`), or its answer is unusable."
class TooLarge(Problem): "A body or a head is above a limit."
class Invalid(Problem): "The daemon does not take the request as it is."
class TooLate(Problem): "The write was sent or settled before, or the lease is over."
class Unavailable(Problem): "No room, too much to do, or an error of the daemon's storage."
class CutOff(Unavailable): "The connection to the daemon ended within an answer."
# fmt: on

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
    if type not in PROBLEMS:
        return Problem
    for cls, names in _CLASSES:
        if type.rpartition(":")[2] in names.split():
            return cls
    return Invalid if PROBLEMS[type][0] < 500 else Unavailable


def cut_off(detail: str) -> CutOff:
    return CutOff("urn:larder:cut-off", detail, retryable=True, hint="Try again.")


def bad_answer(detail: str) -> OriginFailed:
    return OriginFailed("urn:larder:bad-answer", detail)


def no_daemon(failures: str) -> NoDaemon:
    detail = f"No larderd answers at {failures}"
    return NoDaemon("urn:larder:no-daemon", detail, retryable=True, hint=START)
