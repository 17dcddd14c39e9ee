"""Recordings for the echo benchmark: people who interrupt, and echo as it was recorded."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from assistant.audio import files
from assistant.bench.echo_scenes import Scene, levelled
from assistant.errors import AudioFormatError, InputError
from assistant.events import Audio, Samples
from assistant.stages import SpeechDetector

RATE = 16000
FRAME = 512
FRAME_SECONDS = FRAME / RATE
FOLDERS = ("commands", "commands_synthetic", "en", "zh")
PITCHES = (0.85, 1.18)
"""of synthetic people, relative to our own voice"""
PERSON_SECONDS = 2.5
"""of a recording that are mixed in; what is said after that decides nothing"""


@dataclass(frozen=True, slots=True)
class Person:
    """A recording of somebody, cut to where they speak."""

    name: str
    samples: Samples
    onset: float
    """seconds into it at which the detector first hears speech"""


def people(folder: Path, detector: SpeechDetector) -> list[Person]:
    """Recordings in which the detector hears speech. Raises InputError when there are none."""
    manifest = folder / "manifest.jsonl"
    try:
        entries = [json.loads(line) for line in manifest.read_text("utf-8").splitlines() if line]
        names = [
            str(entry["file"])
            for entry in entries
            if entry["transcript"] and entry["file"].split("/")[0] in FOLDERS
        ]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"{manifest} cannot be used ({error!r}). Name a folder with a manifest.jsonl whose "
            'lines hold "file" and "transcript".'
        ) from error
    found = []
    for name in names:
        try:
            samples = files.read(folder / name).samples
        except AudioFormatError:
            continue
        person = _person(name, levelled(samples), detector)
        if person is not None:
            found.append(person)
    if not found:
        raise InputError(f"{manifest} names no recording of speech in {', '.join(FOLDERS)}.")
    return found


def synthetic(spoken: Sequence[Audio], detector: SpeechDetector) -> list[Person]:
    """Short calls in our own voice, made higher or lower by playing them faster or slower."""
    import soxr

    found = []
    for number, audio in enumerate(spoken):
        for pitch in PITCHES:
            samples = soxr.resample(audio.samples, audio.rate, RATE / pitch).astype(np.float32)
            person = _person(f"call {number + 1} at {pitch}", levelled(samples), detector)
            if person is not None:
                found.append(person)
    return found


def _person(name: str, samples: Samples, detector: SpeechDetector) -> Person | None:
    """Cut to a little before the first speech; None when it is heard for under 0.16 s of it."""
    detector.reset()
    frames = [*files.frames([Audio(samples, RATE)])]
    spoken = [number for number, one in enumerate(frames) if detector.probability(one) >= 0.5]
    if not spoken:
        return None
    begin = max(0, spoken[0] - 3)
    last = begin + round(PERSON_SECONDS / FRAME_SECONDS)
    if sum(number < last for number in spoken) < 5:
        return None
    part = samples[begin * FRAME :][: round(PERSON_SECONDS * RATE)]
    return Person(name, part, (spoken[0] - begin) * FRAME_SECONDS)


def recorded(folder: Path) -> Iterator[Scene]:
    """What was played and its recorded echo: DIR/echo/NAME_far.wav and NAME_echo_only.wav."""
    for path in sorted((folder / "echo").glob("*_echo_only.wav")):
        far = path.with_name(path.name.replace("_echo_only", "_far"))
        if far.is_file():
            heard, spoken = files.read(path).samples, files.read(far)
            yield Scene([(spoken, 0.0)], spoken.samples, heard)
