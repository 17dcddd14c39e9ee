"""Where replies are heard: a sound device, or only the clock where there is none.

Both lay sounds back to back, know when each is heard, stop within a block, and tell the recording
what was really played.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from assistant.audio import devices, files
from assistant.audio.recording import Recording
from assistant.errors import DeviceError
from assistant.events import Audio, Failed, Samples
from assistant.stages import Clock
from assistant.workers import CancelToken, Closed, Generation, Inbox, Lock, Worker

QUEUE_SECONDS = 30.0
"""Sound that may wait; whoever brings more waits for room."""
FADE_SECONDS = 0.005
"""of a sound that is stopped, so that it does not click"""
_SLIP_SECONDS = 0.03
"""A block that far from where counting puts it means the device paused."""
_CHECK_SECONDS = 1.0
"""between two looks at whether the device still runs"""
_LONGEST_CHECK_SECONDS = 32.0
"""the same, when it has been gone for long: looking interrupts the microphone"""

Played = Callable[[Audio, float], None]
Cut = Callable[[float], None]


class SilentSpeaker:
    """Implements stages.Speaker on the clock alone."""

    def __init__(
        self, clock: Clock, recording: Recording | None = None, volume: float = 1.0
    ) -> None:
        self._clock = clock
        self._recording = recording
        self._volume = volume
        self._until = 0.0
        self._generation = Generation()
        self._lock = Lock()

    def play(self, audio: Audio) -> float:
        token = self._generation.current
        while (over := self._until - self._clock.now() - QUEUE_SECONDS) > 0:
            self._clock.sleep(min(over, 0.1))
            if token.cancelled:
                return self._until
        with self._lock:
            if token.cancelled:
                return self._until
            begin = max(self._clock.now(), self._until)
            self._until = begin + audio.seconds
            if self._recording is not None:
                self._recording.played(Audio(audio.samples * self._volume, audio.rate), begin)
        return begin

    @property
    def busy_until(self) -> float:
        return self._until

    def stop(self) -> float:
        with self._lock:
            self._generation.advance()
            self._until = min(self._until, self._clock.now())
            if self._recording is not None:
                self._recording.cut(self._until)
            return self._until

    def close(self) -> None:
        self.stop()


class Playhead:
    """The queue of a sound device: fills its blocks and knows the time of every sample.

    Times are seconds on the session clock. `on_begin` and `on_cut` are called while a block is
    being filled or playback stopped, with what was heard and when; they must not wait.
    """

    def __init__(self, rate: int, on_begin: Played, on_cut: Cut) -> None:
        self._rate = rate
        self._on_begin = on_begin
        self._on_cut = on_cut
        self._queue: deque[Samples] = deque()
        self._offset = 0
        self._waiting = 0
        self._running = False
        self._next = 0.0
        self._last = 0.0
        self._lock = Lock()

    def push(self, samples: Samples, earliest: float) -> float:
        """Queue samples (at the device's rate); returns when they begin, not before `earliest`."""
        with self._lock:
            begin = self.end if self._waiting else max(self._next, earliest)
            if len(samples):
                self._queue.append(samples)
                self._waiting += len(samples)
            return begin

    @property
    def rate(self) -> int:
        """Hertz"""
        return self._rate

    @property
    def waiting(self) -> float:
        """seconds of sound not yet handed to the device"""
        return self._waiting / self._rate

    @property
    def end(self) -> float:
        """when the last queued sample will have been heard"""
        with self._lock:
            return self._next + self._waiting / self._rate if self._waiting else self._last

    def fill(self, out: Samples, heard_at: float) -> None:
        """Write the next block, shape (n,), whose first sample is heard at `heard_at`."""
        with self._lock:
            if not self._running or abs(heard_at - self._next) > _SLIP_SECONDS:
                self._next = heard_at
            done = 0
            while done < len(out) and self._queue:
                sound = self._queue[0]
                if self._offset == 0:
                    self._on_begin(Audio(sound, self._rate), self._next + done / self._rate)
                part = sound[self._offset : self._offset + len(out) - done]
                out[done : done + len(part)] = part
                done += len(part)
                self._offset += len(part)
                if self._offset == len(sound):
                    self._queue.popleft()
                    self._offset = 0
            out[done:] = 0
            self._running = done == len(out)
            self._waiting -= done
            if done:
                self._last = self._next + done / self._rate
            self._next += len(out) / self._rate

    def stop(self) -> float:
        """Drop everything but a short fade; returns when the last sample is heard."""
        with self._lock:
            tail = self._queue[0][self._offset :] if self._offset else np.zeros(0, np.float32)
            tail = tail[: int(FADE_SECONDS * self._rate)]
            was_playing = bool(self._queue)
            self._queue.clear()
            self._waiting = len(tail)
            if len(tail):
                fade = np.linspace(1, 0, len(tail), dtype=np.float32)
                # one sample in front keeps _offset above 0: the tail is no new sound
                self._queue.append(np.concatenate([tail[:1], tail * fade]))
                self._offset = 1
                self._last = self._next + len(tail) / self._rate
            if was_playing:
                self._on_cut(self._last)
            return self._last


class DeviceSpeaker:
    """Implements stages.Speaker on a sound device. DeviceError when there is none.

    A device that is unplugged is reported once and opened again as soon as it is back; what was
    waiting then is dropped, for nobody wants a late answer.
    """

    def __init__(
        self,
        device: str,
        volume: float,
        clock: Clock,
        recording: Recording | None = None,
        on_trouble: Callable[[Failed], None] = lambda failed: None,
    ) -> None:
        self._device = device
        self._volume = volume
        self._clock = clock
        self._recording = recording
        self._on_trouble = on_trouble
        self._generation = Generation()
        self._closing = CancelToken()
        self._lock = Lock()
        self._told: Inbox[tuple[Audio | None, float]] = Inbox(256)
        self._blocks = 0
        self._told_gone = False
        self.underruns = 0
        """times the device had to wait for sound"""
        self._open: devices.OpenStream | None = None
        self._open_device()
        devices.register(self._release, self._playing)
        self._worker = Worker("speaker", self._tend).start()

    def play(self, audio: Audio) -> float:
        """Waits for room when 30 s are queued. DeviceError while the device is gone."""
        token = self._generation.current
        while (over := self._head.waiting - QUEUE_SECONDS) > 0:
            if token.wait(over):
                return self.busy_until
        with self._lock:
            if self._open is None:
                self._open_device()
            rate = self._head.rate
        samples = files.resample(audio, rate).samples * np.float32(self._volume)
        with self._lock:
            if token.cancelled:
                return self.busy_until
            return self._head.push(samples, self._clock.now())

    @property
    def busy_until(self) -> float:
        return self._head.end

    def stop(self) -> float:
        with self._lock:
            self._generation.advance()
            return self._head.stop()

    def close(self) -> None:
        if self._closing.cancelled:
            return
        self.stop()
        self._closing.cancel()
        self._told.close()
        devices.forget(self._release)
        self._release()
        self._worker.join()

    def _playing(self) -> bool:
        return self._open is not None and self._head.waiting > 0

    def _open_device(self) -> None:
        opened = devices.open_stream(self._device, "output", (), self._fill)
        self._head = Playhead(opened.rate, self._tell, lambda at: self._tell(None, at))
        self._latency = opened.latency
        opened.start()
        self._open = opened

    def _release(self) -> None:
        opened, self._open = self._open, None
        if opened is not None:
            opened.close()

    def _fill(self, out: Samples, count: int, times: Any, status: Any) -> None:
        """PortAudio's callback."""
        if status.output_underflow:
            self.underruns += 1
        ahead = times.outputBufferDacTime - times.currentTime
        ahead = ahead if 0 < ahead < 1 else self._latency
        self._blocks += 1
        self._head.fill(out[:, 0], self._clock.now() + ahead)
        out[:, 1:] = out[:, :1]

    def _tell(self, audio: Audio | None, at: float) -> None:
        if self._recording is not None:
            self._told.offer((audio, at))

    def _tend(self) -> None:
        """Tell the recording, and see to it that the device runs."""
        checked, seen, wait = time.monotonic(), -1, _CHECK_SECONDS
        while True:
            try:
                self._record(*self._told.get(_CHECK_SECONDS))
            except TimeoutError:
                pass
            except Closed:
                return
            if time.monotonic() - checked < wait:
                continue
            if self._open is not None and self._blocks != seen:
                seen, wait, self._told_gone = self._blocks, _CHECK_SECONDS, False
            elif self._revive():
                wait = _CHECK_SECONDS
            else:
                wait = min(2 * wait, _LONGEST_CHECK_SECONDS)
            checked = time.monotonic()

    def _record(self, audio: Audio | None, at: float) -> None:
        if self._recording is None:
            return
        if audio is None:
            self._recording.cut(at)
        else:
            self._recording.played(audio, at)

    def _revive(self) -> bool:
        """Open the device again; True when that worked."""
        with self._lock:
            self._head.stop()
            self._release()
            if self._told_gone:
                devices.rescan()
            try:
                self._open_device()
            except DeviceError:
                if not self._told_gone:
                    self._told_gone = True
                    text = "The speaker is gone; plug it in again. Until then replies are shown."
                    self._on_trouble(Failed("speaker", DeviceError(text)))
                return False
            return True
