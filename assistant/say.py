"""The commands `say` and `devices`."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import Any

from assistant.audio import devices
from assistant.audio.speaker import DeviceSpeaker
from assistant.clock import RealClock
from assistant.config import Config
from assistant.errors import InputError
from assistant.events import Audio, Failed
from assistant.tts import PiperVoices, language_of
from assistant.weights import find

Emit = Callable[[dict[str, Any], str | None], None]


def say(config: Config, text: str, output: Path | None, emit: Emit) -> None:
    """Speak a text to the speaker, or into a WAV file.

    Raises InputError when nothing in it can be spoken, ModelError when no voice speaks its
    language, DeviceError when there is no speaker.
    """
    text = sys.stdin.read() if text == "-" else text
    language = language_of(text)
    if output is None:
        devices.choose(config.audio.speaker, "output")  # none: say so before the voice is loaded
    started = time.perf_counter()
    voices = PiperVoices.load(config.tts, find)
    loaded = time.perf_counter()
    spoken = _Stopwatch(voices.synthesize(text, language))
    seconds = _write(output, spoken) if output is not None else _play(config, spoken)
    if not seconds:
        raise InputError("There is nothing to say: the text holds no letter or digit.")
    emit(
        {
            "language": language,
            "voice": getattr(config.tts, language),
            "seconds": round(seconds, 3),
            "load_seconds": round(loaded - started, 3),
            "synthesis_seconds": round(spoken.seconds, 3),
            "file": str(output) if output is not None else None,
        },
        f"{output}: {seconds:.1f} s" if output is not None else None,
    )


def list_devices(emit: Emit, *, as_json: bool) -> None:
    """One line or object for each device; one sentence where there is none."""
    found = devices.devices()
    for device in found:
        mark = "*" if device.default else " "
        kind = "microphone" if device.kind == "input" else "speaker"
        emit(
            asdict(device) | {"kind": kind},
            f"{mark} {device.number:3d}  {kind:10}  {device.rate:6d} Hz  "
            f"{device.channels} ch  {device.name}",
        )
    if not as_json:
        emit({}, "* is the default." if found else _none())


def _none() -> str:
    return (
        "No microphone and no speaker were found. Plug them in; until then talk works with "
        "--input FILE, and say with -o FILE."
    )


class _Stopwatch:
    """Counts the seconds that making the sound takes, apart from playing it."""

    def __init__(self, sounds: Iterator[Audio]) -> None:
        self._sounds = sounds
        self.seconds = 0.0

    def __iter__(self) -> Iterator[Audio]:
        while True:
            started = time.perf_counter()
            audio = next(self._sounds, None)
            self.seconds += time.perf_counter() - started
            if audio is None:
                return
            yield audio


def _play(config: Config, sounds: _Stopwatch) -> float:
    clock = RealClock()
    clock.start()
    troubles: list[Failed] = []
    speaker = DeviceSpeaker(
        config.audio.speaker, config.audio.volume, clock, on_trouble=troubles.append
    )
    total = 0.0
    try:
        for audio in sounds:
            speaker.play(audio)
            total += audio.seconds
        while (left := speaker.busy_until - clock.now()) > 0:
            clock.sleep(min(left, 0.2))
    finally:
        speaker.close()
    if troubles:
        raise troubles[0].error
    return total


def _write(path: Path, sounds: _Stopwatch) -> float:
    """Sentence by sentence, so that a long text needs no memory. No file when nothing is said."""
    import soundfile

    first = next(iter(sounds), None)
    if first is None:
        return 0.0
    total = 0.0
    try:
        with soundfile.SoundFile(path, "w", first.rate, 1, "PCM_16", format="WAV") as file:
            for audio in chain([first], sounds):
                file.write(audio.samples)
                total += audio.seconds
    except (OSError, soundfile.SoundFileError):
        raise InputError(f"{path} cannot be written. Name a file in a folder you own.") from None
    return total
