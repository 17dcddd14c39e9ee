"""A session as a two-channel WAV on one clock: left what was heard, right what was played.

Sounds are announced before they are heard, and may be cut; so a few seconds stay in memory and
everything older is on disk, under a header that is true at any moment.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import numpy as np

from assistant.errors import StorageError
from assistant.events import Audio, Failed, Frame, Samples
from assistant.workers import Lock

RATE = 16000
LAG = 3 * RATE
"""Samples kept in memory behind the microphone, for sounds that are reported or cut late."""
BLOCK = RATE
"""Samples written at once."""
AHEAD = 60 * RATE
"""Samples a sound may lie ahead of the file when no microphone moves it on."""
FADE = RATE // 200
"""Samples of the fade-out where a sound is cut: 5 ms, as the speaker does."""


class Recording:
    """Writes a session. Thread-safe. StorageError where the file cannot be made."""

    def __init__(self, path: Path, on_trouble: Callable[[Failed], None] | None = None) -> None:
        self.path = Path(path)
        self._on_trouble = on_trouble
        self._lock = Lock()
        self._left = _Channel()
        self._right = _Channel()
        self._written = 0
        try:
            self._file: BinaryIO | None = self.path.open("wb")
            self._file.write(_header(0))
            self._file.flush()
        except OSError as error:
            raise StorageError(
                f"{self.path}: the recording cannot be written ({error.strerror}); "
                "choose another place with --record."
            ) from None

    def heard(self, frame: Frame) -> None:
        """What the microphone delivered (16 kHz)."""
        with self._lock:
            if self._file is None:
                return
            self._left.put(frame.samples, round(frame.at * RATE), over=True)
            self._write(self._ready())

    def played(self, audio: Audio, at: float) -> None:
        """A sound that is heard from session time `at` on; it may lie in the future."""
        import soxr

        samples = audio.samples
        if audio.rate != RATE:
            samples = soxr.resample(samples, audio.rate, RATE).astype(np.float32, copy=False)
        with self._lock:
            if self._file is None:
                return
            self._right.put(samples, round(at * RATE), over=False)
            self._write(self._ready())

    def cut(self, at: float) -> None:
        """Playback ended at `at`: what was announced beyond it was never heard."""
        with self._lock:
            self._right.cut(round(at * RATE))

    def close(self) -> None:
        """Write what is left. More calls do nothing."""
        with self._lock:
            self._write(max(self._left.end, self._right.end))
            file, self._file = self._file, None
            if file is not None:
                file.close()

    def _ready(self) -> int:
        """Everything before this sample can no longer change; 0 until a block is worth writing."""
        until = max(self._left.end - LAG, self._right.end - AHEAD)
        return until if until - self._written >= BLOCK else 0

    def _write(self, until: int) -> None:
        if self._file is None or until <= self._written:
            return
        pair = np.stack([self._left.take(until), self._right.take(until)], axis=1)
        self._written = until
        try:
            self._file.write((np.clip(pair, -1.0, 1.0) * 32767).round().astype("<i2").tobytes())
            self._file.seek(0)
            self._file.write(_header(until * 4))
            self._file.seek(0, 2)
            self._file.flush()
        except OSError as error:
            self._fail(error)

    def _fail(self, error: OSError) -> None:
        file, self._file = self._file, None
        if file is not None:
            try:
                file.close()
            except OSError:
                file = None  # closing flushes once more; the first error is the one to tell
        trouble = StorageError(
            f"{self.path}: the recording ends here ({error.strerror}); the talk goes on."
        )
        if self._on_trouble is None:
            raise trouble from None
        self._on_trouble(Failed("recording", trouble))


class _Channel:
    """Samples from `start` on that are not yet on disk; gaps are silence."""

    def __init__(self) -> None:
        self.start = 0
        self._samples: Samples = np.zeros(0, np.float32)
        self._used = 0

    @property
    def end(self) -> int:
        return self.start + self._used

    def put(self, samples: Samples, at: int, *, over: bool) -> None:
        """Lay sound at a place: over what is there, or mixed with it. The past is left as it is."""
        skip = max(0, self.start - at)
        samples = samples[skip:]
        begin = at + skip - self.start
        stop = begin + len(samples)
        if not len(samples):
            return
        if stop > len(self._samples):
            grown = np.zeros(max(stop, 2 * len(self._samples), 2 * BLOCK), np.float32)
            grown[: self._used] = self._samples[: self._used]
            self._samples = grown
        if over:
            self._samples[begin:stop] = samples
        else:
            self._samples[begin:stop] += samples
        self._used = max(self._used, stop)

    def cut(self, at: int) -> None:
        keep = max(0, at - self.start)
        if keep >= self._used:
            return
        fade = min(FADE, keep)
        if fade:
            self._samples[keep - fade : keep] *= np.linspace(1, 0, fade, dtype=np.float32)
        self._samples[keep : self._used] = 0
        self._used = keep

    def take(self, until: int) -> Samples:
        """Hand out what lies before `until`, silence where there is nothing, and forget it."""
        length = until - self.start
        out = np.zeros(length, np.float32)
        have = min(length, self._used)
        out[:have] = self._samples[:have]
        rest = self._samples[have : self._used].copy()
        self._samples = np.zeros(max(2 * BLOCK, 2 * len(rest)), np.float32)
        self._samples[: len(rest)] = rest
        self._used = len(rest)
        self.start = until
        return out


def _header(size: int) -> bytes:
    """RIFF WAVE header, PCM 16 bit, 2 channels, for `size` bytes of samples."""
    size = min(size, 0xFFFFFFFF - 36)  # longer than 18 hours: players read on to the end
    return struct.pack(
        "<4sI4s4sIHHIIHH4sI",
        b"RIFF", size + 36, b"WAVE",
        b"fmt ", 16, 1, 2, RATE, RATE * 4, 4, 16,
        b"data", size,
    )  # fmt: skip
