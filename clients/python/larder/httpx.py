"""httpx over Larder: `httpx.Client(transport=larder.httpx.Transport())`, or `AsyncTransport`."""

from __future__ import annotations

import inspect
import os
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import httpx

from ._adapter import Options, Route, is_own, told
from ._connections import run
from ._problem import Problem, no_daemon

if TYPE_CHECKING:
    from typing_extensions import Unpack


async def _settled(result: Any) -> Any:
    return await result if inspect.isawaitable(result) else result


class _Moved(httpx.Response):
    """An answer to which the daemon has followed redirects."""

    @property
    def url(self) -> httpx.URL:
        return httpx.URL(self.headers["larder-source"])


class _Common:
    """`offline_writes`: writes are accepted without a network (202).

    If no daemon answers, requests go directly to the origin by the transport `fallback`, with one
    warning; None: they fail.
    """

    _kind: Any
    _handle, _read = "handle_request", "read"

    def __init__(self, *, fallback: Any = "direct", **options: Unpack[Options]) -> None:
        self._route = Route(**options)
        self._fallback = self._kind() if fallback == "direct" else fallback
        self._inner: Any = None
        self._process = os.getpid()

    @property
    def _own(self) -> Any:
        """The transport to the daemon; None: this process has not made it yet."""
        if self._process != os.getpid():
            # The connections belong to the parent of a fork, so they are not closed here.
            self._inner, self._process = None, os.getpid()
        return self._inner

    async def _send(self, transport: Any, request: Any) -> httpx.Response:
        response: httpx.Response = await _settled(getattr(transport, self._handle)(request))
        return response

    async def _answer(self, request: httpx.Request) -> httpx.Response:
        sent = self._sent(request)
        try:
            inner = self._own
            if inner is None:
                # An event loop does not wait for a busy daemon.
                self._route.connect(patience=0.02).close()
                inner = self._inner = self._kind(uds=self._route.path)
            response = await self._send(inner, sent)
        except (Problem, httpx.ConnectError) as error:
            problem = error if isinstance(error, Problem) else no_daemon(self._route.path)
            if self._fallback is None or self._route.waits(request.method):
                raise httpx.ConnectError(str(problem), request=request) from error
            self._route.warn(problem)
            return await self._send(self._fallback, request)
        status, headers, own = response.status_code, response.headers, None
        if is_own(status, headers):
            own = await _settled(getattr(response, self._read)())
            # The library reads it as any answer, and then sets `elapsed`.
            response = httpx.Response(status, headers=headers, stream=httpx.ByteStream(own))
        elif "larder-source" in headers:
            # The library takes the URL of the request as that of the answer.
            response.__class__ = _Moved
        larder, refusal = told(status, headers, own)
        setattr(response, "larder", larder)
        if refusal:
            is_late = refusal.type == "urn:larder:timeout"
            kind = httpx.ReadTimeout if is_late else httpx.ConnectError
            raise kind(str(refusal), request=request) from refusal
        return response

    def _sent(self, request: httpx.Request) -> Any:
        """The request with the URL as its target (RFC 9112 3.2.2)."""
        headers, url = httpx.Headers(request.headers), request.url
        try:
            headers.update(self._route.fields(request.method, request.headers))
        except Problem as problem:
            raise httpx.UnsupportedProtocol(str(problem), request=request) from problem
        target = b"%b://%b%b" % (url.raw_scheme, url.netloc, url.raw_path)
        place = SimpleNamespace(raw_scheme=b"http", raw_host=b"larder", port=None, raw_path=target)
        same = {name: getattr(request, name) for name in ("method", "stream", "extensions")}
        return SimpleNamespace(url=place, headers=headers, **same)


class Transport(_Common, httpx.BaseTransport):
    __doc__, _kind = _Common.__doc__, httpx.HTTPTransport

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return run(self._answer(request))

    def close(self) -> None:
        for transport in filter(None, (self._own, self._fallback)):
            transport.close()


class AsyncTransport(_Common, httpx.AsyncBaseTransport):
    __doc__, _kind = _Common.__doc__, httpx.AsyncHTTPTransport
    _handle, _read = "handle_async_request", "aread"

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        return await self._answer(request)

    async def aclose(self) -> None:
        for transport in filter(None, (self._own, self._fallback)):
            await transport.aclose()
