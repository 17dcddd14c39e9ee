"""When a turn is called finished: ours against a fixed silence, on recordings, in one run.

Each recording runs through the real detector and endpoint, frame by frame, once for every way of
judging its pauses: not at all (the fixed silence), by the sound, by the words, by both. A cut-off
is a turn that ended while more speech came; the wait is the silence from the last speech to the end
of the turn. A judgement counts as known at once; what it takes is in `ready`, the time until the
turn has ended and its words are known, and depends on the machine.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import numpy as np

from assistant.audio import files
from assistant.config import Config
from assistant.endpoint import LONGEST_MS, PAUSE_MS, RATE, Endpoint
from assistant.errors import AudioFormatError, InputError
from assistant.events import Audio, Frame, Paused, Transcript, Utterance
from assistant.mind.finished import sounds_finished
from assistant.patience import Limits, Patience, Signs, patience
from assistant.stages import Recognizer, SpeechDetector

MODES = ("fixed", "sound", "words", "both")
PAUSED_FOLDERS = ("turn", "en")
"""speech with pauses in it: cut-offs"""
WHOLE_FOLDERS = ("commands", "commands_intent")
"""complete commands: waits"""
TAIL = LONGEST_MS / 1000 + 1.0
"""seconds of silence after a recording"""
Emit = Callable[[dict[str, Any], str | None], None]


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is found out at a pause, and how long that takes."""

    sound: float | None
    sound_seconds: float
    transcript: Transcript
    words_seconds: float

    def judged(self, mode: str, limits: Limits) -> Patience:
        """The patience in a mode."""
        said = self.transcript
        finish = sounds_finished(said.text, said.language) if mode != "sound" else None
        confidence = said.confidence if finish is not None else 1.0
        sound = self.sound if mode != "words" else None
        return patience(Signs(finish, confidence, sound), limits)

    def seconds(self, mode: str) -> float:
        """What it takes until the words and the judgement are known."""
        judged = self.sound_seconds if mode in ("sound", "both") else 0.0
        return judged + self.words_seconds


@dataclass(frozen=True, slots=True)
class Outcome:
    """One recording in one mode."""

    cuts: tuple[str, ...]
    """the words of each turn that ended too early"""
    wait: float
    """seconds from the last speech to the end of the turn"""
    ready: float
    """seconds from the last speech until the turn has ended and its words are known"""


@dataclass(frozen=True, slots=True)
class Item:
    """One recording."""

    name: str
    folder: str
    pauses: int
    """pauses inside it, long enough to be judged"""
    outcomes: dict[str, Outcome]
    judged: tuple[dict[str, Any], ...] = ()
    """what was found out at each of its pauses that was looked at, the end among them"""


@dataclass(slots=True)
class Judge:
    """Looks at a pause once, whatever the number of modes."""

    recognizer: Recognizer
    sound: Callable[[Audio], float] | None
    known: dict[tuple[float, float], Evidence] = field(default_factory=dict)
    """of the recording under way, by start and end of the speech"""
    times: list[tuple[float, float]] = field(default_factory=list)
    """seconds of network and recognition, all recordings"""

    def evidence(self, utterance: Utterance) -> Evidence:
        key = (utterance.start, utterance.end)
        if key not in self.known:
            begin = time.perf_counter()
            sound = self.sound(utterance.audio) if self.sound is not None else None
            middle = time.perf_counter()
            said = self.recognizer.transcribe(utterance.audio, speech_share=utterance.speech_share)
            end = time.perf_counter()
            self.known[key] = Evidence(sound, middle - begin, said, end - middle)
            self.times.append((middle - begin, end - middle))
        return self.known[key]


Heard = Sequence[tuple[Frame, float]]
"""frames with their speech probabilities"""


def hear(audio: Audio, detector: SpeechDetector) -> Heard:
    """A recording and the silence after it, through the speech detector."""
    detector.reset()
    silence = np.zeros(round(TAIL * RATE), np.float32)
    padded = Audio(np.concatenate([audio.samples, silence]), RATE)
    return [(frame, detector.probability(frame)) for frame in files.frames([padded])]


def pauses(heard: Heard, config: Config) -> list[Utterance]:
    """What has been said at each pause, when none of them is an end; the last one is the end."""
    endpoint = Endpoint(
        replace(config.endpoint, silence_ms=LONGEST_MS, max_seconds=300), config.vad
    )
    events = [event for frame, share in heard for event in endpoint.feed(frame, share)]
    return [event.utterance for event in events if isinstance(event, Paused)]


def replay(heard: Heard, config: Config, mode: str, judge: Judge) -> Outcome | None:
    """Through the endpoint, with its pauses judged in a mode. None when nobody speaks."""
    endpoint = Endpoint(replace(config.endpoint, max_seconds=300), config.vad)
    limits = Limits.of(config.endpoint)
    turns: list[Utterance] = []
    for frame, share in heard:
        for event in endpoint.feed(frame, share):
            if isinstance(event, Utterance):
                turns.append(event)
            elif isinstance(event, Paused) and mode != "fixed":
                wait = judge.evidence(event.utterance).judged(mode, limits)
                endpoint.wait(event.utterance.end, wait.seconds)
    if not turns:
        return None
    last = turns[-1]
    wait_for = last.closed - last.end
    known = PAUSE_MS / 1000 + judge.evidence(last).seconds(mode)
    cuts = tuple(judge.evidence(turn).transcript.text for turn in turns[:-1])
    return Outcome(cuts, wait_for, max(wait_for, known))


def recordings(folder: Path) -> list[tuple[Path, str]]:
    """Spoken recordings of a manifest with their folders; those of our folders where it has them.

    Raises InputError without a usable manifest.
    """
    manifest = folder / "manifest.jsonl"
    try:
        lines = [json.loads(line) for line in manifest.read_text("utf-8").splitlines() if line]
        named = [(str(line["file"]), line["transcript"]) for line in lines]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{manifest} cannot be used ({error!r}). Name a folder with a manifest.jsonl whose "
            'lines hold "file" and "transcript".'
        ) from error
    spoken = [(folder / name, name.split("/")[0]) for name, words in named if words != ""]
    ours = [item for item in spoken if item[1] in PAUSED_FOLDERS + WHOLE_FOLDERS]
    if not spoken:
        raise InputError(f"{manifest} names no recordings with speech.")
    return ours or [(path, "all") for path, _ in spoken]


def _measure(
    path: Path, folder: str, config: Config, detector: SpeechDetector, judge: Judge
) -> Item:
    heard = hear(files.read(path), detector)
    judge.known.clear()
    outcomes = {mode: replay(heard, config, mode, judge) for mode in MODES}
    whole = {mode: outcome for mode, outcome in outcomes.items() if outcome is not None}
    ends = pauses(heard, config)
    limits = Limits.of(config.endpoint)
    seen = [(end.end, judge.known.get((end.start, end.end))) for end in ends]
    judged = tuple(_shown(at, one, limits) for at, one in seen if one is not None)
    return Item(path.name, folder, max(0, len(ends) - 1), whole, judged)


def _shown(at: float, evidence: Evidence, limits: Limits) -> dict[str, Any]:
    wait = evidence.judged("both", limits)
    return {
        "at": round(at, 2),
        "text": evidence.transcript.text,
        "confidence": round(evidence.transcript.confidence, 2),
        "wait_ms": wait.ms,
        "why": wait.why,
    }


def percentiles(seconds: Sequence[float]) -> tuple[int | None, int | None]:
    """Median and 95th percentile in milliseconds."""
    if not seconds:
        return None, None
    high = quantiles(seconds, n=20, method="inclusive")[18] if len(seconds) > 1 else seconds[0]
    return round(median(seconds) * 1000), round(high * 1000)


def figures(items: Sequence[Item], mode: str) -> dict[str, Any]:
    """Cut-offs on recordings with pauses, waits on complete commands."""
    spoken = [item for item in items if mode in item.outcomes]
    inner = [i for i in spoken if i.pauses and i.folder not in WHOLE_FOLDERS]
    whole = [i for i in spoken if i.folder not in PAUSED_FOLDERS]
    cut = [item for item in inner if item.outcomes[mode].cuts]
    stops = sum(item.pauses for item in inner)
    wait = percentiles([item.outcomes[mode].wait for item in whole])
    ready = percentiles([item.outcomes[mode].ready for item in whole])
    broken = sum(bool(item.outcomes[mode].cuts) for item in whole)
    return {
        "cutoff_rate": round(len(cut) / len(inner), 3) if inner else None,
        "cutoff_rate_of_pauses": (
            round(sum(len(item.outcomes[mode].cuts) for item in inner) / stops, 3)
            if stops
            else None
        ),
        "commands_cut": broken,
        "wait_ms_p50": wait[0],
        "wait_ms_p95": wait[1],
        "ready_ms_p50": ready[0],
        "ready_ms_p95": ready[1],
    }


def summary(items: Sequence[Item], judge: Judge) -> dict[str, Any]:
    """The last line: ours is `both`; the same figures for every mode."""
    modes = {mode: figures(items, mode) for mode in MODES}
    named = ("cutoff_rate", "wait_ms_p50", "wait_ms_p95")
    return {
        "event": "endpoint",
        "recordings": len(items),
        "with_pauses": sum(i.pauses > 0 and i.folder not in WHOLE_FOLDERS for i in items),
        **{name: modes["both"][name] for name in named},
        **{f"fixed_{name}": modes["fixed"][name] for name in named},
        "smart_turn_ms_p50": percentiles([one for one, _ in judge.times])[0],
        "recognition_ms_p50": percentiles([one for _, one in judge.times])[0],
        "smart_turn": judge.sound is not None,
        "modes": modes,
    }


def run(folder: Path, config: Config, emit: Emit, *, as_json: bool) -> None:
    """Measure every recording, then print the figures; with --json one object a file as well."""
    from assistant.asr import Whisper
    from assistant.smart_turn import load
    from assistant.vad import load_vad
    from assistant.weights import find

    named = recordings(folder)
    detector = load_vad(config.vad, find)
    whisper = Whisper.load(config.asr, find(config.asr.model, "asr"))
    whisper.warm_up()
    network = load(find)
    judge = Judge(whisper, network.probability if network is not None else None)
    items, unreadable = [], []
    for number, (path, group) in enumerate(named, 1):
        if not as_json:
            print(f"\r{number}/{len(named)}", end="", file=sys.stderr, flush=True)
        try:
            items.append(_measure(path, group, config, detector, judge))
        except AudioFormatError:
            unreadable.append(str(path.relative_to(folder)))
            continue
        emit(_line(items[-1]), None)
    if not any(item.outcomes for item in items):
        raise InputError(f"No recording that {folder / 'manifest.jsonl'} names holds speech.")
    result = {**summary(items, judge), "unreadable": unreadable}
    emit(result, _table(result, items))


def _line(item: Item) -> dict[str, Any]:
    ways = {
        mode: {"cut": list(one.cuts), "wait_ms": round(one.wait * 1000)}
        for mode, one in item.outcomes.items()
    }
    return {
        "file": f"{item.folder}/{item.name}",
        "pauses": item.pauses,
        **ways,
        "judged": item.judged,
    }


def _table(result: dict[str, Any], items: Sequence[Item]) -> str:
    names = list(result["modes"]["both"])
    lines = [
        f"\n{result['recordings']} recordings, {result['with_pauses']} with pauses inside; "
        f"smart-turn {result['smart_turn_ms_p50']} ms, "
        f"recognition {result['recognition_ms_p50']} ms a pause (p50)",
        f"{'':<24}" + "".join(f"{mode:>9}" for mode in MODES),
    ]
    for name in names:
        row = (str(result["modes"][mode][name]) for mode in MODES)
        lines.append(f"{name:<24}" + "".join(f"{value:>9}" for value in row))
    lines += [
        f"cut: {item.folder}/{item.name}: {words}"
        for item in items
        if "both" in item.outcomes
        for words in item.outcomes["both"].cuts
    ]
    return "\n".join(lines)
