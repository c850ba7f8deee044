"""What the adapters for requests and httpx share."""

from __future__ import annotations

import json
import socket
import warnings
from typing import Any, Mapping, TypedDict

from ._clients import Client
from ._connections import SEND_TIME, run
from ._core import CONNECT_TIME, given
from ._model import CacheAnswer
from ._problem import Problem, fault

READS = ("GET", "HEAD", "OPTIONS", "QUERY")


class Options(TypedDict, total=False):
    socket: str | None
    policy: str | None
    account: str | None
    offline_writes: bool


class Route:
    """The way of requests to the daemon: its socket, and the fields that the daemon reads."""

    def __init__(
        self, socket: str | None = None, policy: str | None = None, account: str | None = None,
        offline_writes: bool = False,
    ) -> None:  # fmt: skip
        self._client, self._accepts, self._has_warned = Client(socket), offline_writes, False
        self._fields = given({"Larder-Policy": policy, "Larder-Account": account})

    def waits(self, method: str) -> bool:
        """Whether the daemon accepts the request as a write, to send it later."""
        return self._accepts and method.upper() not in READS

    def fields(self, method: str, headers: Mapping[str, str]) -> dict[str, str]:
        """The further header fields of a request."""
        # A child of a fork has another name.
        fields = {"Larder-Client": self._client.name, **self._fields}
        if not self.waits(method):
            return fields
        if "authorization" in headers or "cookie" in headers:
            detail = "A write that is sent later has no Authorization and no Cookie."
            hint = "Set the credential once: cachectl origin login NAME"
            raise fault("bad-request", detail, hint=hint)
        return {**fields, "Prefer": "respond-async"}

    def connect(self, patience: float = CONNECT_TIME) -> socket.socket:
        connection, _ = run(self._client._open(patience=patience))
        connection.socket.settimeout(SEND_TIME)
        return connection.socket

    @property
    def path(self) -> str:
        """The path of the socket."""
        return self._client._paths[0]

    def warn(self, reason: object) -> None:
        if not self._has_warned:
            self._has_warned = True
            warnings.warn(f"{reason} The requests go directly to their origins.", stacklevel=5)


def _own_member(headers: Mapping[str, str]) -> str:
    """The daemon's member of `Cache-Status`."""
    return headers.get("cache-status", "").rpartition("larder;")[2]


def is_own(status: int, headers: Mapping[str, str]) -> bool:
    """Whether the daemon itself has answered: with a problem, or with a write that it accepted."""
    # An origin may answer with a problem, too. The daemon's member says that it has answered.
    if "fwd-status=" in _own_member(headers):
        return False
    if status < 400:
        return status == 202 and "preference-applied" in headers
    is_problem = headers.get("content-type", "").startswith("application/problem+json")
    # 404 and 410 are what the origin has answered.
    return is_problem and status not in (404, 410)


def told(
    status: int, headers: Mapping[str, str], own: bytes | None
) -> tuple[CacheAnswer, Problem | None]:
    """Where an answer came from; and the problem, if the daemon has refused the request.

    `own` is the body of an answer of the daemon itself; the body of an origin is not read here.
    """
    answer = CacheAnswer(headers)
    if own is None:
        return answer, None
    try:
        members: Any = json.loads(own)
    except ValueError:
        members = None
    if status < 400:
        answer.modifier = members.get("id") if isinstance(members, dict) else None
        return answer, None
    if not isinstance(members, dict):
        # The answer to a HEAD has no body.
        kind = _own_member(headers).rpartition("detail=")[2]
        detail = f"larderd refused a HEAD with the status {status}; a GET tells why."
        members = {"type": f"urn:larder:{kind}" if kind else "about:blank", "detail": detail}
    return answer, Problem.of({"status": status, **members})
