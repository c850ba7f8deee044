"""requests over Larder: `larder.requests.install("https://api.example.com/")`, or an adapter."""

from __future__ import annotations

import os
import re
import threading
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import requests
from requests.adapters import BaseAdapter, HTTPAdapter
from urllib3.connection import HTTPConnection
from urllib3.connectionpool import HTTPConnectionPool
from urllib3.exceptions import NewConnectionError

from ._adapter import Options, Route, is_own, told
from ._problem import Problem

if TYPE_CHECKING:
    from typing_extensions import Unpack

# The URL of the request with each byte as it is: urllib3 spells it in its own way before it calls
# `putrequest`. requests calls `request_url` for each request, on the thread that sends it.
_target = threading.local()


class _Unreached(NewConnectionError):
    """No daemon answers."""


class _Connection(HTTPConnection):
    route: Route

    def __init__(self, *args: Any, route: Route, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.route = route

    def _new_conn(self) -> Any:
        try:
            return self.route.connect()
        except Problem as problem:
            raise _Unreached(self, str(problem)) from problem

    def putrequest(self, method: str, url: str, *args: Any, **kwargs: Any) -> None:
        super().putrequest(method, _target.url, *args, **kwargs)


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Connection


class Adapter(HTTPAdapter):
    """Sends the requests of a session to the daemon: `session.mount(PREFIX, Adapter())`.

    `offline_writes`: writes are accepted without a network (202). If no daemon answers, requests
    go directly to the origin by the adapter `fallback`, with one warning; None: they fail.
    """

    def __init__(
        self, *, fallback: BaseAdapter | None = HTTPAdapter(), **options: Unpack[Options]
    ) -> None:
        super().__init__()
        self._route, self._fallback, self._options = Route(**options), fallback, options
        self._begin()

    def __reduce__(self) -> tuple[Any, ...]:
        """A session can be pickled, as the workers of a pool need it."""
        return partial(type(self), fallback=self._fallback, **self._options), ()

    def _begin(self) -> None:
        """Begins with an empty pool."""
        pool = _Pool("larder", maxsize=16, route=self._route)
        # In this order: a thread that finds its process here takes the pool without a lock.
        self._pool, self._process = pool, os.getpid()

    def get_connection(self, *_: Any, **__: Any) -> Any:
        if self._process != os.getpid():
            self._begin()  # The connections belong to the parent of a fork.
        return self._pool

    get_connection_with_tls_context = get_connection

    def cert_verify(self, *_: Any) -> None:
        """The daemon checks certificates."""

    def request_url(self, request: Any, proxies: Any) -> str:
        # A target has no user name (RFC 9110 4.2.4): requests makes a header field of it.
        url = re.sub(r"^(\w+://)[^/?#]*@", r"\1", request.url.partition("#")[0])
        _target.url = url
        return url

    def send(
        self, request: requests.PreparedRequest, *arguments: Any, **options: Any
    ) -> requests.Response:
        method, sent = request.method or "GET", request.copy()
        try:
            sent.headers.update(self._route.fields(method, request.headers))
        except Problem as problem:
            raise requests.exceptions.InvalidHeader(str(problem)) from problem
        try:
            return super().send(sent, *arguments, **options)
        except (requests.ConnectionError, _Unreached) as error:
            # requests 2.28 passes on the error of urllib3 if the body has no length.
            cause = error.args[0] if error.args else None
            reason = error if isinstance(error, _Unreached) else getattr(cause, "reason", None)
            if not isinstance(reason, _Unreached):
                raise
            if self._fallback is None or self._route.waits(method):
                raise requests.ConnectionError(str(reason), request=request) from error
            self._route.warn(reason.__cause__)
        return self._fallback.send(request, *arguments, **options)

    def build_response(self, request: Any, answer: Any) -> requests.Response:
        # urllib3 1.26 takes a body whose connection ended early for a whole one.
        answer.enforce_content_length = True
        response = super().build_response(request, answer)
        status, headers = response.status_code, response.headers
        own = response.content if is_own(status, headers) else None
        # The daemon has followed redirects: relative links are those of the last URL.
        response.url = headers.get("larder-source", response.url)
        larder, problem = told(status, headers, own)
        response.larder = larder  # type: ignore[attr-defined]
        if problem:
            is_late = problem.type == "urn:larder:timeout"
            error = requests.ReadTimeout if is_late else requests.ConnectionError
            raise error(problem, request=request)
        return response

    def close(self) -> None:
        super().close()
        pool = self._pool
        # A session may be used after its `close`.
        self._begin()
        pool.close()
        if self._fallback:
            self._fallback.close()


def _place(url: str) -> tuple[object, list[str]]:
    """The origin of a URL, and the segments of its path."""
    parts = urlsplit(url)
    port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    return (parts.scheme, parts.hostname, port), parts.path.rstrip("/").split("/")


def install(*urls: str, **options: Any) -> Adapter:
    """All sessions of the process send requests of these URLs, and of those below, to the daemon.

    `options` are those of the adapter.
    """
    if not urls or not all(urlsplit(url).hostname for url in urls):
        raise ValueError("give URLs with a host to send: install('https://api.example.com/')")
    places = [_place(url) for url in urls]
    adapter = Adapter(**options)
    get_adapter = requests.Session.get_adapter

    def chosen(self: requests.Session, url: Any) -> Any:
        try:
            origin, path = _place(str(url))
        except ValueError:  # An adapter of the session may take it.
            return get_adapter(self, url)
        is_below = any(base == origin and path[: len(top)] == top for base, top in places)
        return adapter if is_below else get_adapter(self, url)

    requests.Session.get_adapter = chosen  # type: ignore[method-assign]
    return adapter
