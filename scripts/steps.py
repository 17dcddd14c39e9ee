"""What a person sees of the set-up: one line a step with its time; noisy tools write to a log."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

COUNT = re.compile(rb"\[(\d+)/(\d+)\]")
"""how ninja counts compiled files"""
QUIET_SECONDS = 30.0
"""without a terminal, a sign of life after so long"""


class Failed(Exception):
    """A step that could not be done; the message is one sentence for the person."""


class Steps:
    """Runs child processes, shows one line for each step on stderr, keeps their output in a log."""

    def __init__(self, log: Path) -> None:
        self.log = log
        self._live = sys.stderr.isatty()
        log.touch()

    @contextmanager
    def step(self, title: str, *, shares: bool = False) -> Iterator[None]:
        """One step: its line is complete when the block ends. `shares`: children print, too."""
        start = time.monotonic()
        self._title = title
        self._start = start
        self._mark = "✓"
        self._line(f"• {title} …", end=shares)
        try:
            yield
        except BaseException:
            self._line(f"✗ {title} ({time.monotonic() - start:.0f} s)", end=True)
            raise
        self._line(f"{self._mark} {title} ({time.monotonic() - start:.1f} s)", end=True)

    def miss(self) -> None:
        """The running step did not do what it should, though the set-up goes on."""
        self._mark = "✗"

    def run(
        self,
        command: Sequence[str | Path],
        *,
        env: Mapping[str, str] | None = None,
        limit: float = float("inf"),
    ) -> int:
        """Exit status of a child whose output goes to the log; -SIGALRM after `limit` seconds.

        An interruption ends the child first.
        """
        with self.log.open("ab") as out:
            out.write(("\n$ " + " ".join(map(str, command)) + "\n").encode())
            out.flush()
            begin = out.tell()
            child = subprocess.Popen(
                [str(part) for part in command],
                env=None if env is None else dict(env),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                process_group=0,
            )
            try:
                return self._wait(child, begin, time.monotonic() + limit)
            except BaseException:
                _end(child)
                raise

    def tail(self, lines: int = 15) -> str:
        """The last lines of the log, and where all of it is."""
        text = self.log.read_text("utf-8", "replace").rstrip().splitlines()[-lines:]
        return "\n".join(["", *(f"    {line}" for line in text), f"  All of it: {self.log}"])

    def since(self, position: int) -> str:
        with self.log.open("rb") as file:
            file.seek(position)
            return file.read().decode("utf-8", "replace")

    def position(self) -> int:
        return self.log.stat().st_size

    def _wait(self, child: subprocess.Popen[bytes], begin: int, latest: float) -> int:
        while time.monotonic() < latest:
            try:
                return child.wait(1.0 if self._live else QUIET_SECONDS)
            except subprocess.TimeoutExpired:
                self._show(self._progress(begin))
        _end(child)
        return -signal.SIGALRM

    def _progress(self, begin: int) -> str:
        with self.log.open("rb") as file:
            file.seek(max(begin, self.position() - 4096))
            counts = COUNT.findall(file.read())
        return f"{counts[-1][0].decode()} of {counts[-1][1].decode()}" if counts else "…"

    def _show(self, what: str) -> None:
        self._line(f"• {self._title}, {time.monotonic() - self._start:.0f} s, {what}")

    def _line(self, text: str, *, end: bool = False) -> None:
        if self._live:
            sys.stderr.write("\r\033[K" + text + ("\n" if end else ""))
        else:
            sys.stderr.write(text + "\n")
        sys.stderr.flush()

    def note(self, text: str) -> None:
        """A line of its own between steps."""
        sys.stderr.write(text + "\n")


def _end(child: subprocess.Popen[bytes]) -> None:
    """Interrupt a child and all it started; kill what is still there after a moment."""
    for sign in (signal.SIGINT, signal.SIGKILL):
        try:
            os.killpg(child.pid, sign)
            child.wait(1.5)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            continue
