"""The weights under models/: what models/catalog.toml knows, what lies there, whether it is whole.

Nothing here touches the network (`weights_pull` does, when asked) or loads an engine.
"""

from __future__ import annotations

import difflib
import json
import os
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from assistant.config import ROOT
from assistant.errors import InputError, ModelError

CATALOG = ROOT / "models" / "catalog.toml"
SETS = ("default", "small", "memory", "all")
State = Literal["ready", "missing", "damaged"]
Tick = Callable[[int], None]
"""called with the bytes that were done since the last call"""

KINDS = {
    "asr": ("recognition model", "a CTranslate2 Whisper folder", ""),
    "llm": ("language model", "a GGUF file", ".gguf"),
    "tts": ("voice", "a Piper voice (.onnx and .onnx.json)", ".onnx"),
    "vad": ("speech detector", "a Silero .onnx file", ".onnx"),
    "emb": ("text encoder", "a folder with encoder.onnx and tokenizer.json", ""),
}
"""kind: what a person calls it, what may be dropped into models/, the file ending"""


@dataclass(frozen=True, slots=True)
class Entry:
    """A finished file under models/."""

    path: str
    size: int
    """bytes"""
    sha256: str


@dataclass(frozen=True, slots=True)
class Member:
    """A file, or a part of one, inside a package."""

    path: str
    into: str
    """the Entry it becomes, or is appended to"""
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Source:
    """A package that carries weights."""

    package: str
    version: str
    size: int
    """bytes of the wheel"""
    sha256: str
    """of the wheel"""
    members: tuple[Member, ...]


@dataclass(frozen=True, slots=True)
class Weight:
    """One model: its files, and the packages they are made from, in order."""

    name: str
    kind: str
    about: str
    licence: str
    origin: str
    sets: tuple[str, ...]
    files: tuple[Entry, ...]
    sources: tuple[Source, ...]

    @property
    def size(self) -> int:
        return sum(entry.size for entry in self.files)


@dataclass(frozen=True, slots=True)
class Item:
    """A line of `models list`."""

    name: str
    kind: str
    state: State
    yours: bool
    """not in the catalog: put there by a person"""
    size: int
    about: str
    licence: str
    sets: tuple[str, ...]
    path: str
    fault: str = ""


def models_dir() -> Path:
    """models/ of the checkout, or $ASSISTANT_MODELS."""
    return Path(os.environ.get("ASSISTANT_MODELS") or ROOT / "models").expanduser()


def _source(data: dict[str, Any]) -> Source:
    members = tuple(Member(**member) for member in data["members"])
    return Source(**{**data, "members": members})


def read_catalog(path: Path) -> tuple[Weight, ...]:
    """Every [[weight]] of a catalog file. Raises ModelError when the file is damaged."""
    try:
        data = tomllib.loads(path.read_text("utf-8"))
        return tuple(
            Weight(
                **{
                    **weight,
                    "sets": tuple(weight["sets"]),
                    "files": tuple(Entry(**entry) for entry in weight["files"]),
                    "sources": tuple(_source(source) for source in weight["sources"]),
                }
            )
            for weight in data["weight"]
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelError(f"{path} cannot be read ({error}); get a fresh copy of it.") from error


@cache
def catalog() -> tuple[Weight, ...]:
    """The weights this program can fetch by itself."""
    return read_catalog(CATALOG)


def select(names: Sequence[str]) -> list[Weight]:
    """Weights for set names ("default", "small", "all") and single names, in catalog order.

    Raises InputError for a name that is neither.
    """
    chosen: set[str] = set()
    for name in names:
        matches = {
            weight.name
            for weight in catalog()
            if name == "all" or name in weight.sets or name in (weight.name, weight.files[0].path)
        }
        if not matches:
            known = [*SETS, *(weight.name for weight in catalog())]
            near = difflib.get_close_matches(name, known, 1, 0.5)
            hint = f"did you mean {near[0]}?" if near else "known: " + ", ".join(known)
            raise InputError(f"There is nothing to fetch called {name}; {hint}")
        chosen |= matches
    return [weight for weight in catalog() if weight.name in chosen]


def _read(path: Path, count: int) -> bytes:
    with path.open("rb") as file:
        return file.read(count)


def _json_fault(path: Path) -> str:
    try:
        return "" if isinstance(json.loads(path.read_bytes()), dict) else f"{path} is not right"
    except FileNotFoundError:
        return f"{path} is missing"
    except ValueError:
        return f"{path} is not JSON"


def _asr_fault(path: Path) -> str:
    if not path.is_dir():
        return f"{path} is not a folder"
    if not (path / "model.bin").is_file():
        return f"{path / 'model.bin'} is missing"
    # CTranslate2 begins with a version number and the name of the architecture.
    if b"WhisperSpec" not in _read(path / "model.bin", 64):
        return f"{path / 'model.bin'} is not a CTranslate2 Whisper"
    if not any((path / name).is_file() for name in ("vocabulary.txt", "vocabulary.json")):
        return f"{path / 'vocabulary.txt'} is missing"
    # Without this file the recognition library would ask the network for it.
    return _json_fault(path / "tokenizer.json") or _json_fault(path / "config.json")


def _onnx_fault(path: Path) -> str:
    if not path.is_file():
        return f"{path} is not a file"
    # A serialised ONNX model opens with field 1 (ir_version), a varint: byte 0x08.
    return "" if _read(path, 1) == b"\x08" else f"{path} is not an ONNX model"


def _tts_fault(path: Path) -> str:
    return _onnx_fault(path) or _json_fault(path.with_name(path.name + ".json"))


def _llm_fault(path: Path) -> str:
    if not path.is_file():
        return f"{path} is not a file"
    return "" if _read(path, 4) == b"GGUF" else f"{path} is not a GGUF model"


def _embed_fault(path: Path) -> str:
    packed = path / "encoder.bin"
    if packed.is_file():
        return "" if _read(packed, 4) == b"E5S1" else f"{packed} is not a packed encoder"
    return _onnx_fault(path / "encoder.onnx") or _json_fault(path / "tokenizer.json")


_FAULTS = {
    "emb": _embed_fault,
    "asr": _asr_fault,
    "llm": _llm_fault,
    "tts": _tts_fault,
    "vad": _onnx_fault,
}


def _short(weight: Weight, folder: Path) -> str:
    """The first file of a catalog weight that is absent or cut short, as a clause."""
    for entry in weight.files:
        path = folder / entry.path
        if not path.is_file():
            return f"{path} is missing"
        if path.stat().st_size < entry.size:
            return f"{path} is cut short ({path.stat().st_size:,} of {entry.size:,} bytes)"
    return ""


def fault_of(path: Path, kind: str) -> str:
    """What is wrong with the weights at a path, "" when they look right. Reads a few bytes only."""
    known = _known(path)
    try:
        return (_short(known, models_dir()) if known else "") or _FAULTS[kind](path)
    except OSError as error:
        return f"{path} cannot be read ({error.strerror})"


def _known(path: Path) -> Weight | None:
    """The catalog's weight that lies at this path."""
    for weight in catalog():
        first = models_dir() / weight.files[0].path
        if path in (first, first.parent) and path != models_dir():
            return weight
    return None


def find(name: str, kind: str) -> Path:
    """Where the weights of this name are: a folder for "asr", otherwise the file to load.

    `name` is a file or folder under models/ (its ending may be left out) or a path.
    Raises ModelError in one sentence when they are absent, cut short or of another kind.
    """
    what, wanted, ending = KINDS[kind]
    folder = models_dir()
    base = folder / Path(name).expanduser()
    options = [base]
    if ending and not name.endswith(ending):
        options.append(base.with_name(base.name + ending))
    path = next((option for option in options if option.exists()), None)
    if path is not None and ending and path.is_dir():
        path = _only_file(path, ending)
    known = next((w for w in catalog() if name in (w.name, w.files[0].path)), None)
    remedy = (
        f"run: run.py models pull {known.name}"
        if known and known.kind == kind
        else f"drop {wanted} into {folder} and name it in config.toml{_others(kind)}"
    )
    if path is None:
        raise ModelError(f"The {what} {name} is missing ({base} does not exist); {remedy}.")
    if fault := fault_of(path, kind):
        raise ModelError(f"The {what} {name} cannot be used: {fault}; {remedy}.")
    return path


def _only_file(folder: Path, ending: str) -> Path:
    files = sorted(folder.glob("*" + ending))
    if len(files) != 1:
        raise ModelError(
            f"{folder} must hold one {ending} file, not {len(files)}; "
            "name the file itself in config.toml."
        )
    return files[0]


def _others(kind: str) -> str:
    names = [item.name for item in items() if item.kind == kind and item.state == "ready"]
    return f" (there are: {', '.join(names)})" if names else ""


def items() -> list[Item]:
    """The catalog's weights, then what a person dropped into models/."""
    return [_catalog_item(weight) for weight in catalog()] + _own_items()


def location(weight: Weight) -> Path:
    """What `find` returns for a catalog weight, whether or not it is there."""
    path = models_dir() / weight.files[0].path
    return path.parent if weight.kind in ("asr", "emb") else path


def _catalog_item(weight: Weight) -> Item:
    path = location(weight)
    present = any((models_dir() / entry.path).exists() for entry in weight.files)
    fault = fault_of(path, weight.kind) if present else ""
    state: State = "damaged" if fault else "ready" if present else "missing"
    return Item(
        weight.name,
        weight.kind,
        state,
        False,
        weight.size,
        weight.about,
        weight.licence,
        weight.sets,
        str(path),
        fault,
    )


def _own_items() -> list[Item]:
    folder = models_dir()
    if not folder.is_dir():
        return []
    known = {location(weight) for weight in catalog()}
    found = [(path, "llm") for path in folder.rglob("*.gguf")]
    found += [(path, "tts") for path in folder.rglob("*.onnx") if path.parent == folder]
    found += [(path.parent, "asr") for path in folder.rglob("model.bin")]
    return [
        _own_item(path, kind)
        for path, kind in sorted(found)
        if path not in known and not path.relative_to(folder).parts[0].startswith(".")
    ]


def _own_item(path: Path, kind: str) -> Item:
    fault = fault_of(path, kind)
    files = path.glob("*") if path.is_dir() else [path]
    return Item(
        name=path.relative_to(models_dir()).as_posix(),
        kind=kind,
        state="damaged" if fault else "ready",
        yours=True,
        size=sum(file.stat().st_size for file in files),
        about=KINDS[kind][0] + " of your own",
        licence="yours",
        sets=(),
        path=str(path),
        fault=fault,
    )
