"""Does the assistant interrupt itself, and does a person get through to it?

Rooms made from seeds (echo_scenes.py) and recordings, through the real canceller, detectors and
speaker (echo_trials.py). Levels are the echo's, relative to the person's speech.
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import numpy as np

from assistant.audio.echo_engines import missing
from assistant.bench.echo_people import Person, people, recorded, synthetic
from assistant.bench.echo_trials import Row, Trials
from assistant.config import Config
from assistant.errors import InputError
from assistant.events import Audio

LEVELS = (-6, -12, -18, -24)
LOUDER = (6, 0)
"""harder than what is asked for; told apart from the rest"""
IN_TIME = 0.5
COUGHS = 40
SEED = 20_260
RECORDED_PEOPLE = 8
"""who speak over each recording of echo, at each level"""
Task = tuple[str, Callable[[np.random.Generator], None]]
Emit = Callable[[dict[str, Any], str | None], None]


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
    detectors = load_vad(config.vad, find), load_vad(config.vad, find)
    trials = Trials(*detectors, spoken(config, "replies"))
    crowd = synthetic(spoken(config, "calls"), trials.detector)
    if folder is not None:
        crowd = people(folder, trials.detector) + crowd
    rows = {level: Row(level) for level in (*LOUDER, *LEVELS)}
    real = Row(None)
    tasks = made_tasks(trials, rows, _some(crowd, people_each), minutes)
    if folder is not None:
        tasks += recorded_tasks(trials, real, folder, _some(crowd, people_each))
    tasks.append(("silence", trials.silence))
    _work(tasks, quiet=as_json)
    result = figures(trials, rows, real)
    emit(result, f"{table(result)}\n{json.dumps(result)}")
    return 1 if result["self_interruptions"] else 0


def figures(trials: Trials, rows: dict[int, Row], real: Row) -> dict[str, Any]:
    """Everything together for the levels asked for and what was recorded; then each by itself."""
    asked = [*(rows[level] for level in LEVELS), real]
    return {
        **_figures(asked),
        "cpu_share_playing": trials.playing.share,
        "cpu_share_silent": trials.silent.share,
        "by_level": [{"level_db": row.level, **_figures([row])} for row in rows.values()],
        "recorded": _figures([real]),
    }


def _figures(rows: Sequence[Row]) -> dict[str, Any]:
    reactions = [one for row in rows for one in row.reactions]
    known = sorted(one for one in reactions if one is not None)
    high = quantiles(known, n=20, method="inclusive")[18] if len(known) > 1 else None
    return {
        "minutes_of_echo": round(sum(row.seconds_alone for row in rows) / 60, 1),
        "self_interruptions": sum(row.self_interruptions for row in rows),
        "interruptions": len(reactions),
        "stopped_within_500ms": _share(sum(one <= IN_TIME for one in known), len(reactions)),
        "reaction_ms_p50": round(median(known) * 1000) if known else None,
        "reaction_ms_p95": round(high * 1000) if high is not None else None,
        "coughs": sum(row.coughs for row in rows),
        "coughs_taken": _share(sum(row.coughs_taken for row in rows), sum(r.coughs for r in rows)),
    }


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 3) if whole else None


def table(result: dict[str, Any]) -> str:
    """For a person: one line a level."""
    lines = [
        f"{'echo':>8}{'alone min':>11}{'false':>7}{'people':>8}{'in time':>9}"
        f"{'p50 ms':>8}{'p95 ms':>8}{'coughs':>8}"
    ]
    for row in [*result["by_level"], {"level_db": None, **result["recorded"]}]:
        name = "recorded" if row["level_db"] is None else f"{row['level_db']} dB"
        lines.append(
            f"{name:>8}{row['minutes_of_echo']:>11}{row['self_interruptions']:>7}"
            f"{row['interruptions']:>8}{_percent(row['stopped_within_500ms']):>9}"
            f"{_shown(row['reaction_ms_p50']):>8}{_shown(row['reaction_ms_p95']):>8}"
            f"{_percent(row['coughs_taken']):>8}"
        )
    lines.append(
        f"{result['self_interruptions']} self-interruptions in {result['minutes_of_echo']} minutes "
        f"of echo. With echo from {LEVELS[0]} dB down, {_percent(result['stopped_within_500ms'])} "
        f"of {result['interruptions']} interruptions stop the reply within "
        f"{IN_TIME * 1000:.0f} ms. Listening takes {_percent(result['cpu_share_playing'])} of a "
        f"core while we speak and {_percent(result['cpu_share_silent'])} while we are silent."
    )
    return "\n".join(lines)


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.0f} %"


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{value:.0f}"


def spoken(config: Config, what: str) -> list[Audio]:
    """Our "replies" or people's "calls", as our voice speaks them."""
    voices, language = _voices(config)
    with Path(__file__).with_suffix(".toml").open("rb") as file:
        texts = tomllib.load(file)[what]
    return [audio for text in texts for audio in voices.synthesize(text, language)]


@cache
def _voices(config: Config) -> Any:
    from assistant.tts import PiperVoices
    from assistant.weights import find

    voices = PiperVoices.load(config.tts, find)
    return voices, "en" if "en" in voices.languages else min(voices.languages)


def _some(crowd: Sequence[Person], count: int | None) -> Sequence[Person]:
    """So many of them, from everywhere in the list."""
    if count is None or count >= len(crowd):
        return crowd
    return [crowd[number * len(crowd) // count] for number in range(count)]


def made_tasks(
    trials: Trials, rows: dict[int, Row], crowd: Sequence[Person], minutes: int
) -> list[Task]:
    """Rooms from seeds: echo alone, people and coughs at every level."""
    tasks: list[Task] = []
    asked = [rows[level] for level in LEVELS]
    for number in range(minutes):
        row = asked[number % len(asked)]
        tasks.append((f"echo alone {row.level} dB", partial(trials.alone, row)))
    for row in rows.values():
        for person in crowd:
            task = partial(trials.interrupted, row, person)
            tasks.append((f"{person.name} {row.level} dB", task))
    for number in range(min(COUGHS, 2 * minutes)):
        row = asked[number % len(asked)]
        tasks.append((f"cough {row.level} dB", partial(trials.coughed, row)))
    return tasks


def recorded_tasks(trials: Trials, row: Row, folder: Path, crowd: Sequence[Person]) -> list[Task]:
    """Recordings of echo: alone, and with people at the first of the levels asked for."""
    tasks: list[Task] = []
    for number, made in enumerate(recorded(folder)):
        tasks.append(("recorded echo", partial(trials.recorded, row, made)))
        for person in _some(crowd[number % 2 :], RECORDED_PEOPLE):
            for level in LEVELS[:2]:
                task = partial(trials.joined, row, made, level, person)
                tasks.append((f"{person.name} over recorded echo", task))
    return tasks


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
