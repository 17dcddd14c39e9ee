"""Where frames come from: a microphone, or sound files that stand in for one."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

import numpy as np

from assistant.audio import devices, files
from assistant.clock import FrameClock, RealClock
from assistant.errors import DeviceError
from assistant.events import Audio, Failed, Frame, Samples
from assistant.workers import CancelToken, Closed, Inbox

RATE = 16000
"""Hertz, of every frame"""
FRAME = 512
"""samples of every frame"""
FRAME_SECONDS = FRAME / RATE

_INBOX_BLOCKS = 2048
"""Blocks a busy listener may lag behind (10 s and more) before sound is lost."""
_STALL_SECONDS = 2.0
"""A microphone that gives nothing for so long is gone."""
_START_SECONDS = 5.0
"""The same before its first block: a sound server that wakes up was seen to need 1.6."""
_RETRY_SECONDS = 1.0
_SETTLE_SECONDS = 0.1
"""The first blocks of a stream come at odd times and may hold a click; they are not used."""
_TELL_LOSS_EVERY = 60.0
"""Seconds between two reports of lost sound."""


class Timeline:
    """Gives counted samples their place on the session clock.

    Blocks arrive late but never early, so the earliest of the recent ones tells the true offset
    between counting and clock; it is followed when samples were lost or the card's clock drifts.
    """

    WINDOW = 64
    """blocks"""
    TOLERANCE = 0.02
    """seconds; less than a frame, so that no frame ever begins before the one in front of it"""

    def __init__(self, rate: int) -> None:
        self._rate = rate
        self._count = 0
        self._offset: float | None = None
        self._recent: deque[float] = deque(maxlen=self.WINDOW)

    def arrived(self, samples: int, end: float) -> float:
        """A block whose last sample was taken at `end`; returns the time of sample 0."""
        self._count += samples
        self._recent.append(end - self._count / self._rate)
        earliest = min(self._recent)
        if self._offset is None:
            self._offset = earliest
        elif len(self._recent) == self.WINDOW and abs(earliest - self._offset) > self.TOLERANCE:
            self._offset = max(earliest, self._offset - self.TOLERANCE)
        return self._offset


class DeviceMicrophone:
    """Implements stages.Microphone on a sound device. DeviceError when there is none.

    A device that is unplugged is reported once and opened again as soon as it is back.
    """

    def __init__(
        self,
        device: str,
        clock: RealClock,
        on_trouble: Callable[[Failed], None] = lambda failed: None,
    ) -> None:
        self._device = device
        self._clock = clock
        self._on_trouble = on_trouble
        self._closing = CancelToken()
        self._inbox: Inbox[tuple[Samples, float] | None] = Inbox(_INBOX_BLOCKS)
        self._stalls = 0
        self._worked = False
        self._told_gone = False
        self._told_loss = -_TELL_LOSS_EVERY
        self._lost_told = 0.0
        self._offset = 0.0
        self._rate = RATE
        self._settling = 0
        self.lost_seconds = 0.0
        """sound that came faster than it was taken"""
        self.overflows = 0
        """times the device itself lost sound"""
        self._open: devices.OpenStream | None = None
        self._open_device()
        devices.register(self._release, lambda: False)

    def frames(self) -> Iterator[Frame]:
        while not self._closing.cancelled:
            opened = self._open
            if opened is not None:
                for frame in files.frames(self._listen(opened)):
                    yield Frame(frame.samples, self._offset + frame.at)
            if not self._closing.cancelled:
                self._revive()

    def close(self) -> None:
        self._closing.cancel()
        self._inbox.close()
        devices.forget(self._release)
        self._release()

    def _listen(self, opened: devices.OpenStream) -> Iterator[Audio]:
        """Blocks at 16 kHz until the device gives nothing more, is released or closed."""
        import soxr

        timeline = Timeline(opened.rate)
        convert = soxr.ResampleStream(opened.rate, RATE, 1, dtype="float32")
        try:
            opened.start()
        except DeviceError:
            if not self._worked:
                raise
            self._stalls += 1  # it has just come back, or was released for a scan
            return
        patience = _START_SECONDS
        while self._open is opened:
            try:
                item = self._inbox.get(patience)
            except (TimeoutError, Closed):
                self._stalls += 1
                return
            if item is None:  # woken to see whether the stream is still ours
                continue
            block, end = item
            patience, self._stalls, self._worked = _STALL_SECONDS, 0, True
            self._offset = timeline.arrived(len(block), end)
            self._tell_loss()
            yield Audio(block if opened.rate == RATE else convert.resample_chunk(block), RATE)

    def _take(self, data: Samples, count: int, times: Any, status: Any) -> None:
        """PortAudio's callback: copy and leave.

        A block's last sample is taken when the block arrives; `times` is not used, because sound
        servers report capture times that are off by a third of a second.
        """
        if self._settling > 0:
            self._settling -= count
            return
        self._clock.start(ago=count / self._rate)
        if status.input_overflow:
            self.overflows += 1
        if not self._inbox.offer((data[:, 0].copy(), self._clock.now())):
            self.lost_seconds += count / self._rate

    def _open_device(self) -> None:
        opened = devices.open_stream(self._device, "input", (RATE,), self._take)
        self._rate = opened.rate
        self._settling = int(_SETTLE_SECONDS * opened.rate)
        self._open = opened
        if self._closing.cancelled:  # closed while it was being opened
            self._release()

    def _release(self) -> None:
        opened, self._open = self._open, None
        if opened is not None:
            opened.close()
            self._inbox.offer(None)

    def _revive(self) -> None:
        """Open the device again, at once and then every second, until it is back."""
        self._release()
        if self._stalls > 1:
            self._tell_gone()
            self._closing.wait(_RETRY_SECONDS)
        while not self._closing.cancelled:
            try:
                self._open_device()
            except DeviceError:
                self._tell_gone()
                self._closing.wait(_RETRY_SECONDS)
                devices.rescan()
            else:
                return

    def _tell_gone(self) -> None:
        if not self._told_gone:
            self._told_gone = True
            text = "The microphone is gone; plug it in again and the talk goes on."
            self._on_trouble(Failed("microphone", DeviceError(text)))

    def _tell_loss(self) -> None:
        """Also: the microphone works again, so the next time it goes is told again."""
        self._told_gone = False
        now = self._clock.now()
        if self.lost_seconds > self._lost_told and now - self._told_loss > _TELL_LOSS_EVERY:
            lost = self.lost_seconds - self._lost_told
            self._lost_told, self._told_loss = self.lost_seconds, now
            text = f"{lost:.1f} s of sound were lost because this computer is too busy."
            self._on_trouble(Failed("microphone", DeviceError(text)))


class FileMicrophone:
    """Implements stages.Microphone: sound files are heard one after another, silence between them.

    The next one begins when the assistant has been idle for `gap` seconds of session time, and the
    microphone ends when it is idle after the last. In real time frames come as from a device; fast
    skips the waiting, except while something is being computed, so that computing takes its time
    on the clock and the results are the same.
    """

    def __init__(
        self,
        segments: Iterator[Iterator[Audio] | Audio],
        clock: FrameClock,
        *,
        fast: bool = False,
        idle: Callable[[], bool] = lambda: True,
        busy: Callable[[], bool] = lambda: False,
        gap: float = 0.8,
    ) -> None:
        """`idle`: nothing is being answered or played. `busy`: something is being computed.

        Segments are mono at 16 kHz, whole or in blocks; each is asked for when its turn comes.
        """
        self._segments = segments
        self._clock = clock
        self._fast = fast
        self._idle = idle
        self._busy = busy
        self._gap = gap
        self._closing = CancelToken()
        self._count = 0
        self._due = 0.0

    def frames(self) -> Iterator[Frame]:
        """Errors of a segment (InputError, AudioFormatError) leave here."""
        self._clock.start()
        self._due = time.monotonic()
        for segment in self._segments:
            blocks = iter((segment,)) if isinstance(segment, Audio) else segment
            for frame in chain(files.frames(blocks), self._silence()):
                self._wait()
                if self._closing.cancelled:
                    return
                at = self._count * FRAME_SECONDS
                self._count += 1
                self._clock.advance(FRAME_SECONDS)
                yield Frame(frame.samples, at)

    def close(self) -> None:
        self._closing.cancel()

    def _silence(self) -> Iterator[Frame]:
        """Until idle for `gap` seconds without a break."""
        quiet = 0.0
        while quiet < self._gap:
            yield Frame(np.zeros(FRAME, np.float32), 0.0)
            quiet = quiet + FRAME_SECONDS if self._idle() else 0.0

    def _wait(self) -> None:
        """Until the frame's last sample would have been spoken."""
        if self._fast and not self._busy():
            self._due = time.monotonic()
            return
        self._due += FRAME_SECONDS
        late = time.monotonic() - self._due
        if late < 0:
            self._closing.wait(-late)
