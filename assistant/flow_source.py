"""A flow file's text and data, and where in it something is wrong."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_TABLE = re.compile(r"^(\[\[?)\s*([^\[\]]+?)\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(r"""^((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"))*)\s*=""")

Path_ = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong in a flow file."""

    file: Path
    line: int
    reason: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.reason}"


@dataclass(slots=True)
class Source:
    """A file's text and data, and what was found wrong in it."""

    file: Path
    text: str
    data: dict[str, Any]
    faults: list[Fault] = field(default_factory=list)

    @classmethod
    def open(cls, path: Path) -> tuple[Source | None, list[Fault]]:
        try:
            text = path.read_text(encoding="utf-8-sig")
            return cls(path, text, tomllib.loads(text)), []
        except UnicodeDecodeError:
            return None, [Fault(path, 1, "not UTF-8 text; save it as such.")]
        except OSError as error:
            return None, [Fault(path, 1, f"cannot be read ({error.strerror}).")]
        except tomllib.TOMLDecodeError as error:
            line = re.search(r"at line (\d+)", str(error))
            number = int(line.group(1)) if line else max(text.count("\n"), 1)
            return None, [Fault(path, number, f"not valid TOML: {error}.")]

    def fault(self, path: Path_, reason: str) -> None:
        self.faults.append(Fault(self.file, line_of(self.text, path), f"{_dotted(path)}{reason}"))


def _dotted(path: Path_) -> str:
    return (".".join(str(part) for part in path) + ": ") if path else ""


def line_of(text: str, path: Path_) -> int:
    """1-based line of a key, or of the nearest thing around it; tomllib keeps no positions."""
    table: Path_ = ()
    arrays: dict[Path_, int] = {}
    best = (0, 1)
    for number, line in enumerate(text.splitlines(), 1):
        if match := _TABLE.match(line.strip()):
            table = _parts(match.group(2))
            if match.group(1) == "[[":
                arrays[table] = arrays.get(table, -1) + 1
                table = (*table, arrays[table])
            here = table
        elif match := _KEY.match(line.strip()):
            here = (*table, *_parts(match.group(1)))
        else:
            continue
        if path[: len(here)] == here and len(here) > best[0]:
            best = (len(here), number)
    return best[1]


def _parts(dotted: str) -> Path_:
    return tuple(part.strip().strip("\"'") for part in dotted.split("."))
