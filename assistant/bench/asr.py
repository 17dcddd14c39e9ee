"""Recognition against the stock way: the same weights, device and threads, file by file in turn.

Stock is `WhisperModel.transcribe` with its own settings (beam 5, 30 s window, temperature
fallback, no VAD). The order alternates, so that whatever else the machine does hits both.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from assistant.asr import Whisper
from assistant.audio import files
from assistant.config import Config
from assistant.errors import AudioFormatError, InputError
from assistant.events import Audio
from assistant.languages import simplified

FOLDERS = ("en", "commands", "en_8k_prompts", "en_nonnative", "zh")
PROMPTS = "en_8k_prompts"
"""studio telephone prompts, easier than people: the totals are also given without them"""
Emit = Callable[[dict[str, Any], str | None], None]


@dataclass(frozen=True, slots=True)
class Recording:
    """A line of manifest.jsonl whose words are known."""

    path: Path
    folder: str
    language: str
    """ISO 639-1"""
    words: str


@dataclass(frozen=True, slots=True)
class Result:
    """One recording, recognised both ways."""

    recording: Recording
    ours: str
    stock: str
    ours_seconds: float
    stock_seconds: float
    redone: bool
    why_empty: str


@dataclass(slots=True)
class Tally:
    """Everything measured so far."""

    results: list[Result] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)


def recordings(folder: Path, *, english_only: bool) -> list[Recording]:
    """The recordings of FOLDERS with known words. Raises InputError without a usable manifest."""
    manifest = folder / "manifest.jsonl"
    try:
        entries = [json.loads(line) for line in manifest.read_text("utf-8").splitlines() if line]
        found = [
            Recording(
                folder / entry["file"],
                entry["file"].split("/")[0],
                "zh" if entry["file"].startswith("zh/") else "en",
                entry["transcript"],
            )
            for entry in entries
            if entry["transcript"] and entry["file"].split("/")[0] in FOLDERS
        ]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"{manifest} cannot be used ({error!r}). Name a folder with a manifest.jsonl whose "
            'lines hold "file" and "transcript".'
        ) from error
    found = [item for item in found if item.language == "en" or not english_only]
    if not found:
        raise InputError(f"{manifest} names no recordings in {', '.join(FOLDERS)}.")
    return found


@cache
def _normaliser(language: str) -> Callable[[str], str]:
    from whisper_normalizer.basic import BasicTextNormalizer
    from whisper_normalizer.english import EnglishTextNormalizer

    if language == "en":
        english: Callable[[str], str] = EnglishTextNormalizer()
        return english
    basic: Callable[[str], str] = BasicTextNormalizer()
    # both sides in one script, or stock would be charged for writing traditional characters
    return lambda text: basic(simplified(text)).replace(" ", "")


def error_rate(pairs: Sequence[tuple[str, str]], language: str) -> float | None:
    """Percent of (wanted, got): word errors for English, character errors for Chinese."""
    import jiwer

    normalise = _normaliser(language)
    wanted = [normalise(pair[0]) for pair in pairs]
    got = [normalise(pair[1]) for pair in pairs]
    if not any(wanted):
        return None
    rate = jiwer.wer if language == "en" else jiwer.cer
    return round(100 * float(rate(wanted, got)), 2)


def _rates(results: Sequence[Result], language: str) -> tuple[float | None, float | None]:
    """Ours, stock."""
    chosen = [item for item in results if item.recording.language == language]
    ours = [(item.recording.words, item.ours) for item in chosen]
    stock = [(item.recording.words, item.stock) for item in chosen]
    return error_rate(ours, language), error_rate(stock, language)


def summary(tally: Tally) -> dict[str, Any]:
    """The figures of a run, in percent and seconds."""
    results = tally.results
    spoken = [item for item in results if item.recording.folder != PROMPTS]
    wer, stock_wer = _rates(results, "en")
    cer, stock_cer = _rates(results, "zh")
    seconds = sum(item.ours_seconds for item in results)
    stock_seconds = sum(item.stock_seconds for item in results)
    bare = _rates(spoken, "en")
    return {
        "wer": wer,
        "stock_wer": stock_wer,
        "cer": cer,
        "stock_cer": stock_cer,
        "time_ratio": round(seconds / stock_seconds, 3) if stock_seconds else None,
        "seconds": round(seconds, 2),
        "stock_seconds": round(stock_seconds, 2),
        "wer_without_prompts": bare[0],
        "stock_wer_without_prompts": bare[1],
        "files": len(results),
        "redone": sum(item.redone for item in results),
        "refused": sum(bool(item.why_empty) for item in results),
        "unreadable": tally.unreadable,
        "folders": {name: _folder(results, name) for name in _names(results)},
    }


def _names(results: Sequence[Result]) -> list[str]:
    return [name for name in FOLDERS if any(item.recording.folder == name for item in results)]


def _folder(results: Sequence[Result], name: str) -> dict[str, Any]:
    chosen = [item for item in results if item.recording.folder == name]
    language = chosen[0].recording.language
    kind = "wer" if language == "en" else "cer"
    ours, stock = _rates(chosen, language)
    stock_seconds = sum(item.stock_seconds for item in chosen)
    return {
        "files": len(chosen),
        kind: ours,
        f"stock_{kind}": stock,
        "time_ratio": round(sum(item.ours_seconds for item in chosen) / stock_seconds, 3),
    }


def _measure(whisper: Whisper, item: Recording, audio: Audio, *, stock_first: bool) -> Result:
    def ours() -> Any:
        return whisper.transcribe(audio)

    def stock() -> str:
        segments, _ = whisper.engine.transcribe(audio.samples, language=whisper.fixed_language)
        return " ".join(segment.text.strip() for segment in segments)

    steps = {"stock": stock, "ours": ours} if stock_first else {"ours": ours, "stock": stock}
    got, took = {}, {}
    for name, step in steps.items():
        start = time.perf_counter()
        got[name] = step()
        took[name] = time.perf_counter() - start
    mine = got["ours"]
    return Result(
        item, mine.text, got["stock"], took["ours"], took["stock"], mine.redone, mine.why_empty
    )


def _load(config: Config, *, given: bool) -> dict[str, Whisper]:
    """One engine; for each language of the recordings the recogniser that is told, or not."""
    from assistant.weights import find

    whisper = Whisper.load(config.asr, find(config.asr.model, "asr"))
    if not given:
        return dict.fromkeys(whisper.languages, whisper)
    return {
        name: Whisper(whisper.engine, replace(config.asr, language=name))
        for name in whisper.languages & {"en", "zh"}
    }


@contextmanager
def _bar(total: int, *, quiet: bool) -> Iterator[Callable[[str], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    shown = sys.stderr.isatty() and not quiet
    with Progress(*columns, console=Console(stderr=True), disable=not shown) as bar:
        task = bar.add_task("recognising", total=total)
        yield lambda name: bar.update(task, advance=1, description=name)


def run(folder: Path, config: Config, emit: Emit, *, given: bool, as_json: bool) -> None:
    """Measure every recording, then print the figures; with --json one object a file as well."""
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder. Name the one that holds manifest.jsonl.")
    whispers = _load(config, given=given)
    items = recordings(folder, english_only="zh" not in whispers)
    tally = Tally()
    for whisper in set(whispers.values()):
        whisper.warm_up()
    with _bar(len(items), quiet=as_json) as tick:
        for number, item in enumerate(items):
            tick(item.path.name)
            try:
                audio = files.read(item.path)
            except AudioFormatError:
                tally.unreadable.append(str(item.path.relative_to(folder)))
                continue
            whisper = whispers[item.language]
            result = _measure(whisper, item, audio, stock_first=number % 2 == 1)
            tally.results.append(result)
            emit(_line(result, folder), None)
    if not tally.results:
        raise InputError(f"No recording that {folder / 'manifest.jsonl'} names can be read.")
    figures = {
        "model": config.asr.model,
        "language": "given" if given else "auto",
        **summary(tally),
    }
    emit(figures, _table(figures))


def _line(result: Result, folder: Path) -> dict[str, Any]:
    return {
        "file": str(result.recording.path.relative_to(folder)),
        "words": result.recording.words,
        "ours": result.ours,
        "stock": result.stock,
        "seconds": round(result.ours_seconds, 3),
        "stock_seconds": round(result.stock_seconds, 3),
        "redone": result.redone,
        "why_empty": result.why_empty,
    }


def _table(figures: dict[str, Any]) -> str:
    lines = [
        f"{figures['model']}, language {figures['language']}, {figures['files']} recordings; "
        f"done again {figures['redone']}, refused {figures['refused']}, "
        f"unreadable {len(figures['unreadable'])}",
        f"{'':<16}{'files':>6}{'ours %':>9}{'stock %':>9}{'time':>7}",
    ]
    for name, row in figures["folders"].items():
        kind = "wer" if "wer" in row else "cer"
        lines.append(
            f"{name:<16}{row['files']:>6}{row[kind]:>9}{row[f'stock_{kind}']:>9}"
            f"{row['time_ratio']:>7} {kind.upper()}"
        )
    for kind in ("wer", "cer"):
        if figures[kind] is not None:
            lines.append(
                f"{'all ' + kind.upper():<22}{figures[kind]:>9}{figures['stock_' + kind]:>9}"
            )
    lines.append(f"{'time, ours/stock':<40}{figures['time_ratio']:>7}")
    return "\n".join(lines)
