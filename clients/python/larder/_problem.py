"""Errors: one class with a subclass for each group of problem types."""

from __future__ import annotations

from typing import Any, Mapping

from ._wire import PROBLEMS

__all__ = [
    "CutOff", "Gone", "Invalid", "Miss", "NoDaemon", "NotPermitted", "Offline", "OriginFailed",
    "Problem", "TooLarge", "TooLate", "Unavailable", "UnknownOrigin",
]  # fmt: skip
START = (
    "Begin in one of two ways: `sudo adduser NAME larder-clients` (log in again), or "
    "`systemctl --user enable --now larder.socket` (works immediately)."
)


class Problem(Exception):
    """An error of the daemon, or of the way to it. Its text has `detail` and `hint`.

    `type` is for programs; a type of a newer daemon is kept as text. `members` has all members.
    """

    def __init__(self, type: str, detail: str = "", members: Mapping[str, Any] = {}) -> None:
        given = {name: value for name, value in members.items() if value is not None}
        status, retryable = PROBLEMS.get(type, (0, False))
        self.type, self.detail, self.members = type, detail, dict(members)
        self.title: str = given.get("title", "")
        self.status: int = given.get("status", status)
        self.hint: str = given.get("hint", "")
        self.request_id: str = given.get("request_id", "")
        self.retryable: bool = given.get("retryable", retryable)
        self.origin_status: int | None = given.get("origin_status")
        self.body: Any = given.get("body")
        text = (detail or self.title or type).rstrip(".")
        super().__init__(f"{text}. {self.hint}" if self.hint else text)

    @staticmethod
    def of(members: Mapping[str, Any]) -> Problem:
        """The problem as the daemon sent it, in the class of its type."""
        type = str(members.get("type"))
        return _class_of(type)(type, members.get("detail") or "", members)


# fmt: off
class NoDaemon(Problem): "No daemon answers, or the user may not open its socket."
class Miss(Problem): "Nothing is cached under the id, or there is no such write."
class Gone(Problem): "The origin says that the thing is gone."
class UnknownOrigin(Problem): "The URL belongs to no origin, or there is no origin of the name."
class NotPermitted(Problem): "Only an administrator may do this."
class Offline(Problem): "The origin cannot be reached now."
class OriginFailed(Problem): "The origin refused (`origin_status`, `body`); or its answer is unusable."
class TooLarge(Problem): "A body or a head is above a limit."
class Invalid(Problem): "The daemon does not take the request as it is."
class TooLate(Problem): "The write was sent or settled before, or the lease is over."
class Unavailable(Problem): "No room, too much to do, or an error of the daemon's storage."
class CutOff(Unavailable): "The connection to the daemon ended within an answer."
# fmt: on

_CLASSES: tuple[tuple[type[Problem], str], ...] = (
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


def _class_of(type: str) -> type[Problem]:
    if type not in PROBLEMS:
        return Problem
    for cls, names in _CLASSES:
        if type.rpartition(":")[2] in names.split():
            return cls
    return Invalid if PROBLEMS[type][0] < 500 else Unavailable


def cut_off(detail: str) -> CutOff:
    return CutOff("urn:larder:cut-off", detail, {"retryable": True, "hint": "Try again."})


def bad_answer(detail: str) -> OriginFailed:
    return OriginFailed("urn:larder:bad-answer", detail)


def no_daemon(failures: str) -> NoDaemon:
    detail = f"No larderd answers at {failures}"
    return NoDaemon("urn:larder:no-daemon", detail, {"retryable": True, "hint": START})
