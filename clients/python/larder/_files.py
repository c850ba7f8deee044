"""Files that are sent and saved."""

from __future__ import annotations

import os
import tempfile
from typing import IO, Any, Iterable, Union

Content = Union[bytes, str, IO[bytes], Iterable[bytes]]
Path = Union[str, "os.PathLike[str]"]
BLOCK = 1 << 18


def blocks(file: Any) -> Iterable[bytes]:
    return iter(lambda: file.read(BLOCK), b"")


class Download:
    """A temporary file that gets its name when it is complete."""

    def __init__(self, path: Path) -> None:
        self.path = os.path.abspath(path)
        handle, self.temporary = tempfile.mkstemp(prefix=".larder-", dir=os.path.dirname(self.path))
        mask = os.umask(0)
        os.umask(mask)
        os.fchmod(handle, 0o666 & ~mask)
        self.file = os.fdopen(handle, "wb")

    def finish(self) -> None:
        self.file.flush()
        os.fsync(self.file.fileno())
        os.replace(self.temporary, self.path)
        self.temporary = ""

    def close(self) -> None:
        self.file.close()
        if self.temporary:
            os.unlink(self.temporary)
