"""The processes of `bench latency`, seen from the one that measures: started, asked, ended.

Each has one system under test. They end with us, however we end.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from assistant.bench.latency_stand import Setup
from assistant.config import ROOT
from assistant.errors import AssistantError, ModelError
from assistant.workers import Closed, Inbox, Worker

LOAD_SECONDS = 300.0
"""longest wait for engines to be loaded and prompts evaluated"""
ANSWER_SECONDS = 240.0
"""longest wait for an utterance to be answered"""
END_SECONDS = 15.0
LAST_LINES = 400
"""characters of a broken process's last words that are told"""

BUSY = """
import os
parent = os.getppid()
while os.getppid() == parent:
    for _ in range(1_000_000):
        pass
"""
"""keeps one core busy until whoever started it has ended"""


class Child:
    """A process with one system in it. Raises ModelError where that breaks."""

    def __init__(self, setup: Setup) -> None:
        self.name = setup.system
        self.recording = setup.recording
        self.peak_memory_mb = 0.0
        self.load_seconds = 0.0
        self._log = setup.recording.with_suffix(".log")
        paths = [str(ROOT), os.environ.get("PYTHONPATH", "")]
        with self._log.open("w", encoding="utf-8") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "assistant.bench.latency_child"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                encoding="utf-8",
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
            )
        self._lines: Inbox[dict[str, Any]] = Inbox(64)
        Worker(f"{self.name} pipe", self._read).start()
        self._write(setup.to_dict())

    def load(self) -> None:
        """Wait until its engines are loaded and warm."""
        self.load_seconds = self._next("loaded", LOAD_SECONDS)["seconds"]
        self._next("ready", LOAD_SECONDS)

    def ask(self, path: Path) -> dict[str, Any]:
        """Have it hear a recording; what it did, when it is idle again."""
        self._write({"order": "hear", "path": str(path)})
        return self._next("result", ANSWER_SECONDS)

    def end(self) -> None:
        """Let it finish its recording."""
        self._write({"order": "end"})
        self._next("bye", END_SECONDS)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(END_SECONDS)

    def kill(self) -> None:
        """At once."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            with suppress(ValueError, Closed):  # lines that are none come from an engine
                self._lines.put(json.loads(line))
        self._lines.close()

    def _write(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(message) + "\n")
            self._process.stdin.flush()
        except OSError:
            self._broken("ended by itself")

    def _next(self, event: str, seconds: float) -> dict[str, Any]:
        while True:
            try:
                message = self._lines.get(seconds)
            except TimeoutError:
                self._broken(f"gave no answer for {seconds:.0f} s")
            except Closed:
                self._broken("ended by itself")
            self.peak_memory_mb = max(self.peak_memory_mb, message["peak_memory_mb"])
            if message["event"] == event:
                return message
            if message["event"] == "error":
                raise ModelError(message["error"])
            if message["event"] == "bye":
                self._broken("; ".join(message["failed"]) or "ended by itself")

    def _broken(self, why: str) -> None:
        with suppress(OSError):
            last = self._log.read_text("utf-8", "replace").strip()[-LAST_LINES:]
            why = f"{why}; it said: {last}" if last else why
        raise ModelError(f"The process that runs {self.name} {why}.")


@contextmanager
def crew(setups: list[Setup]) -> Iterator[list[Child]]:
    """All of them, loaded one after another; killed at the end, if they have not ended."""
    children: list[Child] = []
    try:
        for setup in setups:
            children.append(Child(setup))
            children[-1].load()
        yield children
        for child in children:
            child.end()
    finally:
        for child in children:
            child.kill()


@contextmanager
def loaded(cores: int) -> Iterator[None]:
    """So many cores are kept busy by other processes."""
    busy = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(cores)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


def limit_cores(most: int) -> None:
    """This process and those it starts use at most so many cores. Raises AssistantError."""
    if not hasattr(os, "sched_setaffinity"):
        raise AssistantError(
            "This system cannot limit the cores of a program; leave out --profile."
        )
    allowed = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, allowed[:most])
