"""Where replies are heard: a sound device, or only the clock where there is none.

Both lay sounds back to back, know when each is heard, stop within a block, and tell the recording
what was really played.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from assistant.audio import devices, files
from assistant.audio.playhead import Playhead
from assistant.audio.recording import Recording
from assistant.errors import DeviceError
from assistant.events import Audio, Failed, Samples
from assistant.stages import Clock
from assistant.workers import CancelToken, Closed, Generation, Inbox, Lock, Worker

log = logging.getLogger(__name__)

QUEUE_SECONDS = 30.0
"""Sound that may wait; whoever brings more waits for room."""
_CHECK_SECONDS = 1.0
"""between two looks at whether the device still runs"""
_PATIENT_CHECKS = 3
"""looks at a device that asks for nothing: a sound server that wakes up was seen to need 1.6 s"""
_LONGEST_CHECK_SECONDS = 32.0
"""the same, when it has been gone for long: looking interrupts the microphone"""


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
        self._blocks = self._seen = self._still = 0
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
            if self._open is None:  # nobody speaks now, so looking for it disturbs no one
                devices.rescan()
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
        try:
            opened.start()
        except DeviceError:
            opened.close()
            raise
        self._still = 0
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
        checked, wait = time.monotonic(), _CHECK_SECONDS
        while True:
            try:
                self._record(*self._told.get(_CHECK_SECONDS))
            except TimeoutError:
                pass
            except Closed:
                return
            if time.monotonic() - checked < wait:
                continue
            if self._runs():
                wait, self._told_gone = _CHECK_SECONDS, False
            elif self._revive():
                wait = _CHECK_SECONDS
            else:
                wait = min(2 * wait, _LONGEST_CHECK_SECONDS)
            checked = time.monotonic()

    def _runs(self) -> bool:
        """The device asks for blocks, or did so not long ago."""
        opened, self._seen, before = self._open, self._blocks, self._seen
        if opened is None:
            return False
        self._still = 0 if self._seen != before else self._still + 1
        try:
            active = bool(opened.stream.active)
        except Exception as error:  # PortAudio's own: it was closed while we looked
            log.debug("the speaker's stream: %s", error)
            return False
        return active and self._still < _PATIENT_CHECKS

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
