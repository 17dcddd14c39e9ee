"""A backup as a file: written whole or not at all, for its owner only; read line by line."""

from __future__ import annotations

import json
import os
import sys
import uuid
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from assistant.errors import InputError, StorageError

STANDARD = Path("-")
"""in place of a file: standard input or output"""


def write(path: Path, rows: Iterable[dict[str, Any]], *, force: bool) -> int:
    """One JSON object a line; how many rows came after the first line.

    Nothing is left of a file that could not be finished. Raises InputError, StorageError.
    """
    if path == STANDARD:
        return _lines(sys.stdout, rows)
    if path.exists() and not force:
        raise InputError(f"{path} is there already; take another name, or add --force.")
    part = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}")
    try:
        handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(handle, "w", encoding="utf-8", newline="\n") as file:
            count = _lines(file, rows)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        why = error.strerror or error
        raise StorageError(f"{path}: the backup cannot be written ({why}).") from None
    finally:
        with suppress(OSError):  # it is gone when all went well
            part.unlink(missing_ok=True)
    return count


def read(path: Path) -> Iterator[str]:
    """The lines of a backup. Raises InputError."""
    try:
        if path == STANDARD:
            yield from sys.stdin
        else:
            with path.open(encoding="utf-8-sig") as file:
                yield from file
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error}).") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: is no text in UTF-8, so it is no backup of a memory.") from None


def _lines(file: Any, rows: Iterable[dict[str, Any]]) -> int:
    written = 0
    for row in rows:
        file.write(json.dumps(row, ensure_ascii=False) + "\n")
        written += 1
    return max(0, written - 1)
