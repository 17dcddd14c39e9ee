"""Where replies are heard: a sound device, or only the clock where there is none.

Both lay sounds back to back, know when each is heard, fall silent within a block, and tell the
recording and the echo canceller what was really played.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from assistant.audio import devices, files
from assistant.audio.playhead import Held, Playhead, Sink
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
    """Implements stages.Speaker on the clock alone.

    While it is held, `play` tells places as if the time had stood still since; see Playhead.
    """

    def __init__(
        self,
        clock: Clock,
        recording: Sink | None = None,
        volume: float = 1.0,
        reference: Sink | None = None,
    ) -> None:
        self._clock = clock
        self._sinks = [sink for sink in (recording, reference) if sink is not None]
        self._volume = np.float32(volume)
        self._until = 0.0
        self._queue: list[tuple[Audio, float]] = []
        self._held: Held | None = None
        self._generation = Generation()
        self._lock = Lock()

    def play(self, audio: Audio) -> float:
        token = self._generation.current
        while (over := self.busy_until - self._clock.now() - QUEUE_SECONDS) > 0:
            self._clock.sleep(min(over, 0.1))
            if token.cancelled:
                return self._until
        with self._lock:
            if token.cancelled:
                return self._until
            sound = Audio(audio.samples * self._volume, audio.rate)
            now = self._clock.now()
            return self._put(sound, now) if self._held is None else self._held.push(sound, now)

    @property
    def busy_until(self) -> float:
        with self._lock:
            if self._held is None or not self._held.sounds:
                return self._until
            return self._clock.now() + self._held.seconds

    def hold(self) -> float:
        with self._lock:
            if self._held is None:
                self._held = self._silence(self._clock.now())
            return self._until

    def resume(self) -> float:
        with self._lock:
            held, self._held = self._held, None
            if held is None or not held.sounds:
                return 0.0
            now = self._clock.now()
            for sound in held.sounds:
                self._put(sound, now)
            return held.later(now)

    def stop(self) -> float:
        with self._lock:
            self._generation.advance()
            self.hold()
            self._held = None
            return self._until

    def close(self) -> None:
        self.stop()

    def _put(self, sound: Audio, now: float) -> float:
        """Lay it behind what is there; returns its begin."""
        begin = max(now, self._until)
        self._until = begin + sound.seconds
        self._queue = [one for one in self._queue if one[1] + one[0].seconds > now]
        self._queue.append((sound, begin))
        for sink in self._sinks:
            sink.played(sound, begin)
        return begin

    def _silence(self, now: float) -> Held:
        """Take what is still to be heard out of the queue."""
        held = Held(now)
        for sound, begin in self._queue:
            heard = round((now - begin) * sound.rate)
            if 0 < heard < len(sound.samples):
                held.keep_rest(sound, heard)
            elif heard <= 0 < len(sound.samples):
                held.sounds.append(sound)
        self._queue = []
        self._until = min(self._until, now)
        for sink in self._sinks:
            sink.cut(self._until)
        return held


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
        recording: Sink | None = None,
        on_trouble: Callable[[Failed], None] = lambda failed: None,
        reference: Sink | None = None,
    ) -> None:
        self._device = device
        self._volume = volume
        self._clock = clock
        self._sinks = [sink for sink in (reference, recording) if sink is not None]
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

    def hold(self) -> float:
        with self._lock:
            return self._head.hold()

    def resume(self) -> float:
        with self._lock:
            return self._head.resume()

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
        if self._sinks:
            self._told.offer((audio, at))

    def _tend(self) -> None:
        """Tell the sinks, and see to it that the device runs."""
        checked, wait = time.monotonic(), _CHECK_SECONDS
        while True:
            try:
                self._pass_on(*self._told.get(_CHECK_SECONDS))
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

    def _pass_on(self, audio: Audio | None, at: float) -> None:
        for sink in self._sinks:
            if audio is None:
                sink.cut(at)
            else:
                sink.played(audio, at)

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
