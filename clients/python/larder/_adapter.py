"""What the adapters for requests and httpx share."""

from __future__ import annotations

import json
import socket
import warnings
from typing import Any, Dict, Mapping, Optional, Tuple

from ._clients import BlockingConnection
from ._core import given, socket_paths
from ._model import CacheAnswer
from ._problem import Problem, no_daemon

READS = ("GET", "HEAD", "OPTIONS", "QUERY")


class Route:
    """The way of requests to the daemon: its socket, and the fields that the daemon reads."""

    def __init__(
        self, socket: Optional[str], policy: Optional[str], account: Optional[str],
        offline_writes: bool,
    ) -> None:  # fmt: skip
        self.paths = socket_paths(socket)
        self._fields = given({"Larder-Policy": policy, "Larder-Account": account})
        self._is_async, self._has_warned = offline_writes, False

    def waits(self, method: str) -> bool:
        """Whether the daemon accepts the request as a write, to send it later."""
        return self._is_async and method.upper() not in READS

    def fields(self, method: str, headers: Mapping[str, str]) -> Dict[str, str]:
        """The further header fields of a request."""
        if not self.waits(method):
            return self._fields
        if "authorization" in headers or "cookie" in headers:
            raise Problem(
                "urn:larder:bad-request",
                "A write that is sent later has no Authorization and no Cookie.",
                hint="Set the credential once: cachectl origin login NAME",
            )
        return {**self._fields, "Prefer": "respond-async"}

    def connect(self) -> socket.socket:
        failures = []
        for path in self.paths:
            try:
                made = BlockingConnection(path).socket
            except BlockingIOError:
                raise Problem("urn:larder:overloaded", "Too many connections wait.") from None
            except OSError as error:
                failures.append(f"{path} ({error.strerror or error})")
                continue
            self.paths = [path]
            return made
        raise no_daemon(", ".join(failures))

    def path(self) -> str:
        """The path of the socket on which a daemon listens."""
        self.connect().close()
        return self.paths[0]

    def warn(self, reason: object) -> None:
        if not self._has_warned:
            self._has_warned = True
            warnings.warn(f"{reason} The requests go directly to their origins.", stacklevel=5)


def told(status: int, headers: Mapping[str, str], body: bytes) -> Tuple[CacheAnswer, Optional[Problem]]:
    """Where an answer came from; and its problem, if the daemon itself has refused the request."""
    answer = CacheAnswer(headers)
    if status < 400 and "preference-applied" not in headers:
        return answer, None
    try:
        members: Any = json.loads(body)
    except ValueError:
        return answer, None
    if status == 202 and isinstance(members, dict):
        answer.modifier = members.get("id")
    kind = headers.get("content-type", "")
    if kind.startswith("application/problem+json") and headers.get("server", "").startswith("larderd/"):
        problem = Problem.of(members)
        # 404 and 410 are what the origin has answered.
        return answer, None if problem.type == "urn:larder:deleted" else problem
    return answer, None
