"""Microphones and speakers as PortAudio sees them: list, choose, open, scan again.

PortAudio reads the list of devices once; only starting it anew finds what was plugged in later,
and that ends every open stream. So each stream is registered here and its owner opens it again.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from assistant.errors import DeviceError
from assistant.workers import Lock

Kind = Literal["input", "output"]

LATENCY_SECONDS = 0.06
"""Asked of PortAudio. At 0.04 a busy computer was heard to stutter; stopping takes as long."""

_COMMON_RATES = (48000, 44100, 16000)

_lock = Lock()
_owners: list[tuple[Callable[[], None], Callable[[], bool]]] = []


@dataclass(frozen=True, slots=True)
class Device:
    """One entry of the list that `run.py devices` prints."""

    number: int
    name: str
    kind: Kind
    channels: int
    rate: int
    """the device's own rate, Hertz"""
    default: bool


@dataclass(frozen=True, slots=True)
class OpenStream:
    """A PortAudio stream that is open and not yet started."""

    stream: Any
    rate: int
    """Hertz"""
    latency: float
    """seconds, as PortAudio reports it"""
    name: str

    def start(self) -> None:
        """Raises DeviceError."""
        sd = portaudio()
        try:
            self.stream.start()
        except sd.PortAudioError as error:
            raise DeviceError(f'"{self.name}" was opened but does not start ({error}).') from None

    def close(self) -> None:
        """Drops what is not yet played; an error of a device that is gone is of no interest."""
        self.stream.abort(ignore_errors=True)
        self.stream.close(ignore_errors=True)


def portaudio() -> Any:
    """The sounddevice module; DeviceError where the system library is missing."""
    try:
        import sounddevice
    except OSError:
        raise DeviceError(
            "PortAudio, which talks to microphone and speaker, is not installed; "
            "on Debian: apt install libportaudio2."
        ) from None
    _quieten_alsa()
    return sounddevice


@cache
def _quieten_alsa() -> None:
    """ALSA prints each underrun into the conversation; we count them instead.

    The handler must be C code, for it is called while Python may be ending: any function that
    ignores its arguments will do.
    """
    if sys.platform != "linux":
        return
    with suppress(OSError, AttributeError):  # no ALSA, nothing to quieten
        handler = ctypes.cast(ctypes.CDLL(None).getpid, ctypes.c_void_p)
        ctypes.CDLL("libasound.so.2").snd_lib_error_set_handler(handler)


def devices() -> list[Device]:
    """Every microphone and speaker; a device that is both stands there twice."""
    sd = portaudio()
    defaults = {"input": _default("input"), "output": _default("output")}
    found = []
    for number, info in enumerate(sd.query_devices()):
        kinds: tuple[Kind, ...] = ("input", "output")
        for kind in kinds:
            if channels := int(info[f"max_{kind}_channels"]):
                rate = int(info["default_samplerate"])
                default = defaults[kind] == number
                found.append(Device(number, str(info["name"]), kind, channels, rate, default))
    return found


def choose(wanted: str, kind: Kind) -> Device:
    """By number, by name or a part of it; "" is the system's default. Raises DeviceError."""
    known = [device for device in devices() if device.kind == kind]
    noun = "microphone" if kind == "input" else "speaker"
    if not known:
        raise DeviceError(
            "No microphone was found. Plug one in, or use --input FILE to feed a sound file."
            if kind == "input"
            else "No speaker was found. Plug one in, or write the sound to a file."
        )
    if not wanted:
        return next((device for device in known if device.default), known[0])
    if wanted.isdecimal():
        match = [device for device in known if device.number == int(wanted)]
    else:
        same = [device for device in known if device.name.lower() == wanted.lower()]
        match = same or [device for device in known if wanted.lower() in device.name.lower()]
    if not match:
        raise DeviceError(f'No {noun} is called "{wanted}"; "run.py devices" lists them all.')
    return match[0]


def open_stream(
    wanted: str, kind: Kind, rates: tuple[int, ...], callback: Callable[..., None]
) -> OpenStream:
    """Open at the first rate and channel count that the device takes.

    Tried in order: `rates`, the device's own rate, the usual ones. Raises DeviceError.
    """
    sd = portaudio()
    with _lock:
        device = choose(wanted, kind)
        make = sd.InputStream if kind == "input" else sd.OutputStream
        fault: Exception | None = None
        for rate in dict.fromkeys((*rates, device.rate, *_COMMON_RATES)):
            for channels in dict.fromkeys((1, min(2, device.channels))):
                try:
                    with _silent_stderr():
                        stream = make(
                            samplerate=rate,
                            device=device.number,
                            channels=channels,
                            dtype="float32",
                            latency=LATENCY_SECONDS,
                            callback=callback,
                        )
                except (sd.PortAudioError, ValueError) as error:
                    fault = error
                else:
                    return OpenStream(stream, rate, float(stream.latency), device.name)
    noun = "microphone" if kind == "input" else "speaker"
    raise DeviceError(
        f'The {noun} "{device.name}" cannot be opened ({fault}); '
        f'another program may hold it, or choose another: "run.py devices" lists them.'
    )


def register(release: Callable[[], None], playing: Callable[[], bool]) -> None:
    """`release` closes the stream before devices are scanned again, while none is `playing`."""
    with _lock:
        _owners.append((release, playing))


def forget(release: Callable[[], None]) -> None:
    with _lock:
        _owners[:] = [owner for owner in _owners if owner[0] != release]


def rescan() -> None:
    """Start PortAudio anew, so that a device plugged in again is found; later if one is playing."""
    sd = portaudio()
    with _lock:
        if any(playing() for _, playing in _owners):
            return
        for release, _ in _owners:
            release()
        with _silent_stderr():
            sd._terminate()
            sd._initialize()


@contextmanager
def _silent_stderr() -> Iterator[None]:
    """PortAudio prints the line of its source at which a device refused; we tell it in words."""
    sys.stderr.flush()
    keep, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(keep, 2)
        os.close(keep)
        os.close(nowhere)


def _default(kind: Kind) -> int:
    """-1 where there is none."""
    sd = portaudio()
    number = sd.default.device[0 if kind == "input" else 1]
    if number is None or number < 0:
        api = sd.default.hostapi
        number = sd.query_hostapis(api)[f"default_{kind}_device"] if sd.query_hostapis() else -1
    return int(number)
