"""What is said in `bench latency`: recordings of a folder, and where the speech in them ends."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path

import numpy as np

from assistant.audio import files
from assistant.bench.latency_measure import Landmark, landmark
from assistant.config import Config, EndpointConfig, VadConfig
from assistant.endpoint import LONGEST_MS, Endpoint
from assistant.errors import AudioFormatError, InputError
from assistant.events import Audio, Paused
from assistant.stages import SpeechDetector

LONGEST = 20.0
"""seconds; longer recordings are left out unless asked for"""
USUAL = ("commands", "turn", "en")
"""sub-folders that are taken when a corpus has them and none are named"""
SOUNDS = frozenset({".wav", ".flac", ".mp3", ".ogg", ".opus", ".m4a", ".aiff", ".aif"})
GOLDEN = 0.6180339887498949
TAIL = 0.5
"""seconds of silence after a recording: its last frames belong to it"""
CORPUS = (
    'Name a folder with sound files, or with a manifest.jsonl whose lines hold "file" and '
    '"transcript".'
)


@dataclass(frozen=True, slots=True)
class Entry:
    """A recording that may be taken."""

    path: Path
    folder: str
    """first part of its name in the manifest"""
    transcript: str | None
    """None: not known"""


@dataclass(frozen=True, slots=True)
class Item:
    """A recording with speech in it."""

    entry: Entry
    seconds: float
    speech_start: float
    speech_end: float
    pauses: int
    """silences inside it that are long enough to be taken for an end"""
    mark: Landmark


def entries(corpus: Path, folders: Sequence[str] = (), *, spread: bool = False) -> list[Entry]:
    """The recordings of a corpus, those of its folders in turn. Raises InputError.

    `spread`: the first ones come from all over their folders.
    """
    if not corpus.is_dir():
        raise InputError(f"{corpus}: there is no such folder. {CORPUS}")
    manifest = corpus / "manifest.jsonl"
    found = _listed(manifest) if manifest.is_file() else _lying(corpus)
    names = tuple(dict.fromkeys(entry.folder for entry in found))
    wanted = tuple(folders) or tuple(name for name in USUAL if name in names) or names
    if unknown := [name for name in wanted if name not in names]:
        raise InputError(
            f"{corpus} has no recordings in {', '.join(unknown)}; "
            f"there are {', '.join(sorted(names)) or 'none'}."
        )
    rows = [[entry for entry in found if entry.folder == name] for name in wanted]
    if spread:
        rows = [_spread(row) for row in rows]
    return [entry for row in zip_longest(*rows) for entry in row if entry is not None]


def _spread(row: list[Entry]) -> list[Entry]:
    """In an order whose every beginning is spread over the whole (steps of the golden ratio)."""
    places = [number * GOLDEN % 1 for number in range(len(row))]
    return [entry for _, entry in sorted(zip(places, row, strict=True), key=lambda one: one[0])]


def _listed(manifest: Path) -> list[Entry]:
    """Those of a manifest; an empty transcript says that nobody speaks."""
    found = []
    number = 0
    try:
        for line in manifest.read_text("utf-8").splitlines():
            number += 1
            if not line.strip():
                continue
            row = json.loads(line)
            words, name = row.get("transcript"), str(row["file"])
            if words != "":
                folder = name.partition("/")[0] if "/" in name else "."
                found.append(Entry(manifest.parent / name, folder, words))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{manifest}, line {number}: cannot be used ({error!r}). {CORPUS}") from (
            error
        )
    return found


def _lying(corpus: Path) -> list[Entry]:
    paths = sorted(path for path in corpus.rglob("*") if path.suffix.lower() in SOUNDS)
    return [Entry(path, _group(path.relative_to(corpus)), None) for path in paths]


def _group(name: Path) -> str:
    return name.parts[0] if len(name.parts) > 1 else "."


def choose(
    found: Sequence[Entry],
    look: Callable[[Entry], Item | None],
    skipped: Callable[[Entry, str], None],
    *,
    limit: int | None,
    longest: float,
) -> list[Item]:
    """The first `limit` that can be read, hold speech and are not too long. Raises InputError."""
    chosen: list[Item] = []
    for entry in found:
        if limit is not None and len(chosen) >= limit:
            break
        try:
            if (seconds := files.duration(entry.path) or 0.0) > longest:
                skipped(entry, f"{seconds:.0f} s long, more than {longest:.0f} s")
                continue
            item = look(entry)
        except (InputError, AudioFormatError) as error:
            skipped(entry, str(error))
            continue
        if item is None:
            skipped(entry, "no speech in it")
        else:
            chosen.append(item)
    if not chosen:
        raise InputError(f"No recording can be used: none of {len(found)} holds speech. {CORPUS}")
    return chosen


def look(entry: Entry, detector: SpeechDetector) -> Item | None:
    """Find the speech in a recording; None when there is none. Raises AudioFormatError."""
    audio = files.read(entry.path)
    found = speech(audio, detector)
    if found is None:
        return None
    start, end, pauses = found
    return Item(entry, audio.seconds, start, end, pauses, landmark(audio.samples))


def speech(audio: Audio, detector: SpeechDetector) -> tuple[float, float, int] | None:
    """Beginning and end of the speech, in seconds, and the pauses in between.

    By the standard detector, whatever the settings of what is measured.
    """
    detector.reset()
    patient = replace(
        EndpointConfig(), silence_ms=LONGEST_MS, max_seconds=max(30.0, 2 * audio.seconds)
    )
    endpoint = Endpoint(patient, VadConfig())
    silence = np.zeros(round(TAIL * audio.rate), np.float32)
    padded = Audio(np.concatenate([audio.samples, silence]), audio.rate)
    paused = []
    for frame in files.frames([padded]):
        for event in endpoint.feed(frame, detector.probability(frame)):
            if isinstance(event, Paused):
                paused.append(event.utterance)
    if not paused:
        return None
    return paused[0].start, min(paused[-1].end, audio.seconds), len(paused) - 1


def synthesised(config: Config, folder: Path) -> list[Entry]:
    """The demo's conversation as sound files in a folder, for a bench without recordings."""
    from assistant.demo import lines
    from assistant.tts import PiperVoices
    from assistant.weights import find

    voices = PiperVoices.load(config.tts, find)
    made = []
    for number, line in enumerate(lines()):
        parts = [
            files.resample(one, files.RATE).samples for one in voices.synthesize(line.say, "en")
        ]
        path = folder / f"{number:02d}.wav"
        files.write_wav(path, Audio(np.concatenate(parts), files.RATE))
        made.append(Entry(path, "demo", line.say))
    return made
