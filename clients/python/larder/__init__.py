"""Client of larderd, an offline-first cache daemon: `larder.Client` and `larder.AsyncClient`.

`larder.requests` and `larder.httpx` connect existing programs; docs/clients.md is the manual.
"""

from __future__ import annotations

import importlib
from typing import Any

from ._clients import *
from ._model import *
from ._problem import *
from ._wire import *


def __getattr__(name: str) -> Any:
    if name in ("requests", "httpx"):
        return importlib.import_module(f"larder.{name}")
    raise AttributeError(f"module 'larder' has no attribute {name!r}")
