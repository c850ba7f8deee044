"""Errors: one class with a subclass for each group of problem types, which `_wire` has."""

from __future__ import annotations

from typing import Any, Mapping

__all__ = ["Problem"]
START = (
    "Begin in one of three ways: `sudo adduser NAME larder-clients` (log in again), "
    "`systemctl --user enable --now larder.socket`, or `larderd &` and its socket in LARDER_SOCKET."
)
# The class of each known type, its status, and whether it may be retried.
PROBLEMS: dict[str, tuple[type[Problem], int, bool]] = {}


class Problem(Exception):
    """An error of the daemon, or of the way to it. Its text has `detail` and `hint`.

    `type` is for programs; a type of a newer daemon is kept as text. `members` has all members.
    """

    def __init__(self, type: str, detail: str = "", members: Mapping[str, Any] = {}) -> None:
        given = {name: value for name, value in members.items() if value is not None}
        _, status, retryable = PROBLEMS.get(type, (Problem, 0, False))
        self.type, self.detail, self.members = type, detail, dict(members)
        self.title: str = given.get("title", "")
        self.status: int = given.get("status", status)
        self.hint: str = given.get("hint", "")
        self.request_id: str = given.get("request_id", "")
        self.retryable: bool = given.get("retryable", retryable)
        self.origin_status: int | None = given.get("origin_status")
        self.body: Any = given.get("body")
        text = (detail or self.title or type).rstrip(".")
        stop = "" if text.endswith("?") else "."
        super().__init__(f"{text}{stop} {self.hint}" if self.hint else text)

    @staticmethod
    def of(members: Mapping[str, Any]) -> Problem:
        """The problem as the daemon sent it, in the class of its type."""
        type = str(members.get("type"))
        cls, _, _ = PROBLEMS.get(type, (Problem, 0, False))
        return cls(type, members.get("detail") or "", members)


def fault(name: str, detail: str, **members: Any) -> Problem:
    """A problem that the client itself has found."""
    return Problem.of({**members, "type": f"urn:larder:{name}", "detail": detail})


def cut_off(detail: str) -> Problem:
    return fault("cut-off", detail, hint="Try again.")


def no_daemon(failures: str) -> Problem:
    return fault("no-daemon", f"No larderd answers at {failures}", hint=START)
