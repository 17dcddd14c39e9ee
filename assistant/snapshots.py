"""Prompt beginnings that never change, evaluated once for all starts and kept as files.

They hold instructions and worked examples only, nothing a person said. A file that is damaged,
or belongs to other weights, is simply computed anew.
"""

from __future__ import annotations

import hashlib
import logging
import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from assistant.llm import Context, Stats
from assistant.mind.prompt import opening
from assistant.stages import Cancel, Message

log = logging.getLogger(__name__)

KEEP = 12
"""files; the least recently used beyond that are deleted"""

ABANDONED_SECONDS = 3600
"""a file that is half written for so long belongs to a process that was killed"""


class Primed:
    """Implements stages.LanguageModel: a context that begins with an evaluated prompt beginning."""

    def __init__(
        self,
        context: Context,
        folder: Path,
        weights: Path,
        beginning: Callable[[Sequence[Message]], Sequence[Message]],
    ) -> None:
        """`beginning` picks the messages that are the same in every prompt of a kind."""
        self._context = context
        self._folder = folder
        status = weights.stat()
        self._identity = f"{weights.resolve()}:{status.st_size}:{status.st_mtime_ns}"
        self._beginning = beginning

    @property
    def stats(self) -> Stats:
        """What the last call cost."""
        return self._context.stats

    def prepare(self, messages: Sequence[Message], cancel: Cancel, *, words: bool = False) -> None:
        self._prime(messages, cancel)
        self._context.prepare(messages, cancel, words=words)

    def interrupt(self) -> None:
        """Leave the step in progress: what asked for it has become old."""
        self._context.interrupt()

    def stream(
        self, messages: Sequence[Message], cancel: Cancel, *, max_tokens: int
    ) -> Iterator[str]:
        self._prime(messages, cancel)
        return self._context.stream(messages, cancel, max_tokens=max_tokens)

    def _prime(self, messages: Sequence[Message], cancel: Cancel) -> None:
        """Have the beginning in the cache: kept, from its file, or computed."""
        beginning = self._beginning(messages)
        tokens = self._context.stable(beginning)
        if self._context.holds(tokens):
            return
        path = self._path(tokens)
        try:
            if path.is_file() and self._context.load(path, tokens):
                os.utime(path)
            else:
                self._context.prepare(beginning, cancel)
                if self._context.holds(tokens) and not cancel.cancelled:
                    self._keep(path)
        except OSError as error:  # no room for a shortcut is no reason to stop
            log.warning("prompt snapshot: %s", error)

    def _path(self, tokens: Sequence[int]) -> Path:
        import llama_cpp

        text = f"{llama_cpp.__version__}:{self._identity}:{list(tokens)}"
        return self._folder / f"{hashlib.sha256(text.encode()).hexdigest()[:24]}.kv"

    def _keep(self, path: Path) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(f".{os.getpid()}.part")
        try:
            if self._context.save(part):
                part.replace(path)
        finally:
            part.unlink(missing_ok=True)
        files = sorted(self._folder.glob("*.kv"), key=lambda item: item.stat().st_mtime)
        for old in files[:-KEEP]:
            old.unlink(missing_ok=True)
        for left in self._folder.glob("*.part"):
            if time.time() - left.stat().st_mtime > ABANDONED_SECONDS:
                left.unlink(missing_ok=True)


def rules_alone(messages: Sequence[Message]) -> list[Message]:
    """The beginning of a reply's prompt: rules and worked examples; all else changes.

    It ends with an example, for what comes next may be of any role.
    """
    return opening()


def without_words(messages: Sequence[Message]) -> list[Message]:
    """The beginning of a notes prompt: all but the words to take notes of."""
    return [*messages[:-1], {**messages[-1], "content": ""}]
