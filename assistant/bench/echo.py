"""Does the assistant interrupt itself, and does a person get through to it?

Rooms made from seeds (echo_scenes.py) and recordings of people, through the real canceller and
detectors as the loop uses them. Levels are the echo's, relative to the person's speech.
"""

from __future__ import annotations

import json
import sys
import time
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import numpy as np

from assistant.audio.echo import EchoCanceller, Reference
from assistant.audio.echo_engines import missing
from assistant.barge_in import Listener, Stage
from assistant.bench.echo_people import PERSON_SECONDS, Person, people, recorded
from assistant.bench.echo_scenes import Scene, cough, levelled, scene
from assistant.config import Config
from assistant.errors import InputError
from assistant.events import Audio, Frame
from assistant.stages import SpeechDetector

RATE = 16000
FRAME = 512
LEVELS = (-6, -12, -18, -24)
LOUDER = (6, 0)
"""harder than what is asked for; told apart from the rest"""
ALONE_SECONDS = 60.0
ENTRY = (2.0, 8.0)
"""seconds after which somebody interrupts, a sentence or a whole reply into it"""
STOPPING = 0.065
"""seconds from the decision to silence: the device's buffer (0.06) and the fade (0.005)"""
IN_TIME = 0.5
COUGHS = 40
SEED = 20_260
Task = tuple[str, Callable[[np.random.Generator], None]]
Emit = Callable[[dict[str, Any], str | None], None]


@dataclass(slots=True)
class Row:
    """What happened at one level."""

    level: int
    seconds_alone: float = 0.0
    false_alarms: int = 0
    latencies: list[float | None] = field(default_factory=list)
    """seconds from the first speech to silence; None: never, or not before it was over"""
    coughs: int = 0
    coughs_taken: int = 0


@dataclass(slots=True)
class Bench:
    """Runs scenes and adds up."""

    detector: SpeechDetector
    second: SpeechDetector
    replies: Sequence[Audio]
    rows: dict[int, Row]
    seconds: float = 0.0
    busy: float = 0.0
    """seconds of computing, on one core"""

    def moments(self, made: Scene) -> list[float]:
        """When somebody was surely speaking over us, once for each time (seconds)."""
        reference = Reference()
        for audio, at in made.played:
            reference.played(audio, at)
        self.detector.reset()
        listener = Listener(EchoCanceller(reference), self.detector, self.second)
        found, before = [], Stage.NOBODY
        begin = time.thread_time()
        for place in range(0, len(made.heard) - FRAME + 1, FRAME):
            frame = Frame(made.heard[place : place + FRAME], place / RATE)
            stage = listener.hear(frame).stage
            if stage is Stage.SURE and before is not Stage.SURE:
                found.append((place + FRAME) / RATE)
            before = stage
        self.busy += time.thread_time() - begin
        self.seconds += len(made.heard) / RATE
        return found

    def alone(self, level: int, rng: np.random.Generator) -> None:
        """A minute of our own echo."""
        made = scene(rng, self.replies, ALONE_SECONDS, level)
        row = self.rows[level]
        row.seconds_alone += ALONE_SECONDS
        row.false_alarms += len(self.moments(made))

    def interrupted(self, level: int, person: Person, rng: np.random.Generator) -> None:
        """Somebody speaks while we do."""
        entry = float(rng.uniform(*ENTRY))
        made = scene(
            rng, self.replies, entry + PERSON_SECONDS, level, (levelled(person.samples), entry)
        )
        onset = entry + person.onset
        found = self.moments(made)
        row = self.rows[level]
        row.false_alarms += sum(moment <= onset for moment in found)
        after = [moment - onset for moment in found if moment > onset]
        row.latencies.append(after[0] + STOPPING if after else None)

    def coughed(self, level: int, rng: np.random.Generator) -> None:
        """A short noise while we speak."""
        entry = float(rng.uniform(*ENTRY))
        made = scene(rng, self.replies, entry + 1.5, level, (cough(rng), entry))
        row = self.rows[level]
        row.coughs += 1
        row.coughs_taken += any(moment > entry for moment in self.moments(made))


def figures(bench: Bench, recorded_alarms: int | None) -> dict[str, Any]:
    """Everything together for the levels asked for, and each level by itself."""
    asked = [row for row in bench.rows.values() if row.level in LEVELS]
    alone = [row for row in bench.rows.values() if row.seconds_alone]
    latencies = [one for row in asked for one in row.latencies]
    coughs = sum(row.coughs for row in asked)
    return {
        "false_alarms": sum(row.false_alarms for row in alone),
        "minutes_echo": round(sum(row.seconds_alone for row in alone) / 60, 1),
        "recorded_false_alarms": recorded_alarms,
        "interruptions": len(latencies),
        **_latency(latencies),
        "coughs_taken": _share(sum(row.coughs_taken for row in asked), coughs),
        "real_time_factor": round(bench.busy / bench.seconds, 4) if bench.seconds else None,
        "by_level": [_level(row) for row in bench.rows.values()],
    }


def _level(row: Row) -> dict[str, Any]:
    return {
        "level_db": row.level,
        "false_alarms": row.false_alarms,
        "minutes_echo": round(row.seconds_alone / 60, 1),
        "interruptions": len(row.latencies),
        **_latency(row.latencies),
        "coughs_taken": _share(row.coughs_taken, row.coughs),
    }


def _latency(latencies: Sequence[float | None]) -> dict[str, float | None]:
    known = sorted(one for one in latencies if one is not None)
    high = quantiles(known, n=20, method="inclusive")[18] if len(known) > 1 else None
    return {
        "hit_rate": _share(sum(one <= IN_TIME for one in known), len(latencies)),
        "latency_ms_p50": round(median(known) * 1000) if known else None,
        "latency_ms_p95": round(high * 1000) if high is not None else None,
    }


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 3) if whole else None


def report(
    config: Config,
    folder: Path | None,
    emit: Emit,
    *,
    minutes: int = 30,
    people_each: int | None = None,
    as_json: bool,
) -> int:
    """The command: the table, then one object; exit code 1 when our own voice was taken for one.

    `people_each`: interruptions at each level, default every recording once.
    """
    from assistant.vad import load_vad
    from assistant.weights import find

    if why := missing():
        raise InputError(f"Nothing can be measured: {why}. Run: pip install pyaec pywebrtc-audio")
    bench = Bench(
        load_vad(config.vad, find),
        load_vad(config.vad, find),
        spoken(config),
        {level: Row(level) for level in (*LOUDER, *LEVELS)},
    )
    crowd = people(folder, bench.detector) if folder is not None else []
    run(bench, crowd, minutes, people_each, quiet=as_json)
    alarms: int | None = None
    if folder is not None:
        alarms = sum(len(bench.moments(made)) for made in recorded(folder))
    result = figures(bench, alarms)
    emit(result, f"{table(result)}\n{json.dumps(result)}")
    return 1 if result["false_alarms"] or alarms else 0


def table(result: dict[str, Any]) -> str:
    """For a person: one line a level."""
    lines = [
        f"{'echo':>6}{'alone min':>11}{'false':>7}{'people':>8}{'in time':>9}"
        f"{'p50 ms':>8}{'p95 ms':>8}{'coughs':>8}"
    ]
    for row in result["by_level"]:
        lines.append(
            f"{row['level_db']:>3} dB{row['minutes_echo']:>11}{row['false_alarms']:>7}"
            f"{row['interruptions']:>8}{_percent(row['hit_rate']):>9}"
            f"{_shown(row['latency_ms_p50']):>8}{_shown(row['latency_ms_p95']):>8}"
            f"{_percent(row['coughs_taken']):>8}"
        )
    lines.append(
        f"Echo from {LEVELS[0]} dB down: {result['false_alarms']} self-interruptions in "
        f"{result['minutes_echo']} minutes; {_percent(result['hit_rate'])} of "
        f"{result['interruptions']} interruptions stop the reply within {IN_TIME * 1000:.0f} ms. "
        f"Computing takes {_percent(result['real_time_factor'])} of the time."
    )
    return "\n".join(lines)


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.0f} %"


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{value:.0f}"


def spoken(config: Config) -> list[Audio]:
    """Our replies, as our voice speaks them."""
    from assistant.tts import PiperVoices
    from assistant.weights import find

    voices = PiperVoices.load(config.tts, find)
    language = "en" if "en" in voices.languages else min(voices.languages)
    with Path(__file__).with_suffix(".toml").open("rb") as file:
        texts = tomllib.load(file)["replies"]
    return [audio for text in texts for audio in voices.synthesize(text, language)]


def run(
    bench: Bench, crowd: Sequence[Person], minutes: int, people_each: int | None, *, quiet: bool
) -> None:
    """Every scene has a seed of its own, so that one more changes none of the others."""
    tasks: list[Task] = []
    for number in range(minutes):
        level = LEVELS[number % len(LEVELS)]
        tasks.append((f"echo alone {level} dB", partial(bench.alone, level)))
    for level in bench.rows if crowd else ():
        for person in crowd[:people_each]:
            tasks.append((f"{person.name} {level} dB", partial(bench.interrupted, level, person)))
    for number in range(min(COUGHS, 2 * minutes)):
        level = LEVELS[number % len(LEVELS)]
        tasks.append((f"cough {level} dB", partial(bench.coughed, level)))
    _work(tasks, quiet=quiet)


def _work(tasks: Sequence[Task], *, quiet: bool) -> None:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    shown = sys.stderr.isatty() and not quiet
    with Progress(*columns, console=Console(stderr=True), disable=not shown) as bar:
        line = bar.add_task("", total=len(tasks))
        for number, (name, task) in enumerate(tasks):
            bar.update(line, description=name)
            task(np.random.default_rng(SEED + number))
            bar.advance(line)
