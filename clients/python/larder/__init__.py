"""Client of larderd, an offline-first cache daemon: `larder.Client` and `larder.AsyncClient`.

`larder.requests` and `larder.httpx` connect existing programs; docs/clients.md is the manual.
"""

import importlib as _importlib
import typing as _typing

from ._clients import *
from ._model import *
from ._problem import *
from ._wire import *


def __getattr__(name: str) -> _typing.Any:
    if name in ("requests", "httpx"):
        return _importlib.import_module(f"larder.{name}")
    raise AttributeError(f"module 'larder' has no attribute {name!r}")
