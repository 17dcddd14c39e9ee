"""From the last word to the first sound, on a folder of recordings, beside other systems.

Each system lives in a process of its own and hears one utterance after another; they take turns,
so that whatever else the machine does hits all. What a person waited is measured afterwards, in the
two-channel recording that each of them made.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from assistant.bench import latency_corpus as corpora
from assistant.bench.latency_about import load_average, machine, settings
from assistant.bench.latency_corpus import Item
from assistant.bench.latency_crew import Child, crew, limit_cores, loaded
from assistant.bench.latency_figures import OURS, Row, last_object, result, system_figures
from assistant.bench.latency_measure import Heard, hear, voiced, window
from assistant.bench.latency_peer import answerer
from assistant.bench.latency_plan import Plan
from assistant.bench.latency_stand import Setup
from assistant.config import Config, DataConfig, override
from assistant.errors import InputError, StorageError
from assistant.vad import load_vad
from assistant.weights import find, select
from assistant.workers import Lock

__all__ = ["Plan", "measure", "run", "voiced"]

BYTES_PER_SECOND = 64_000
"""of a recording"""
ANSWER_SECONDS = 15.0
"""an utterance takes on top of its own length, guessed, for the room on the disk"""
PI_CORES = 4
Progress = Callable[[dict[str, Any]], None]


def measure(plan: Plan, config: Config, progress: Progress) -> dict[str, Any]:
    """Everything that was found out, as JSON values. Raises AssistantError.

    `progress` gets an object for each step, recording left out and utterance.
    """
    for name in plan.against:
        answerer(name)  # refused before anything is loaded
    if plan.profile == "pi":
        config = _small(config)
        limit_cores(PI_CORES)
    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="latency-")))
        items, skipped = _items(plan, config, home, progress)
        recordings = plan.record or home
        _make_room(recordings, items, len(plan.against) + 1, fast=plan.fast)
        stack.enter_context(loaded(plan.load))
        setups = [_setup(name, plan, config, home, recordings) for name in (OURS, *plan.against)]
        before = machine()
        progress({"event": "loading", "systems": [setup.system for setup in setups]})
        with crew(setups) as children:
            told = list(_take_turns(children, items, progress))
        progress({"event": "measuring"})
        rows = _rows(items, told, children)
        return {
            "event": "latency_data",
            "systems": {child.name: _figures(rows, child) for child in children},
            "utterances": rows,
            "skipped": skipped,
            "settings": settings(plan, config),
            "machine": before | {"load_average_after": load_average()},
        }


def _small(config: Config) -> Config:
    """The weights of the small set in place of the settings'."""
    names = {weight.kind: weight.name for weight in select(["small"])}
    models = {kind: names[kind] for kind in ("asr", "llm") if kind in names}
    return override(config, [f"{kind}.model={name}" for kind, name in models.items()])


def _items(
    plan: Plan, config: Config, home: Path, progress: Progress
) -> tuple[list[Item], list[dict[str, str]]]:
    if plan.corpus is None:
        progress({"event": "synthesising"})
        folder = home / "demo"
        folder.mkdir()
        entries = corpora.synthesised(config, folder)
    else:
        entries = corpora.entries(plan.corpus, plan.folders, spread=plan.limit is not None)
    detector = load_vad(config.vad, find)
    skipped: list[dict[str, str]] = []

    def skip(entry: corpora.Entry, why: str) -> None:
        skipped.append({"file": _name(entry, plan.corpus), "why": why})
        progress({"event": "skipped", **skipped[-1]})

    chosen = corpora.choose(
        entries,
        lambda entry: corpora.look(entry, detector),
        skip,
        limit=plan.limit,
        longest=plan.longest,
    )
    return chosen, skipped


def _name(entry: corpora.Entry, corpus: Path | None) -> str:
    return str(entry.path.relative_to(corpus)) if corpus is not None else entry.path.name


def _make_room(folder: Path, items: Sequence[Item], systems: int, *, fast: bool) -> None:
    """Raises StorageError where the recordings would not fit."""
    seconds = sum(item.seconds + ANSWER_SECONDS for item in items) * systems
    needed = seconds * BYTES_PER_SECOND * (1 if fast else systems)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(folder).free
    except OSError as error:
        raise StorageError(
            f"{folder}: the recordings cannot be kept there ({error.strerror})."
        ) from None
    if free < needed:
        raise StorageError(
            f"{folder}: the recordings need about {needed / 1e6:.0f} MB and {free / 1e6:.0f} MB "
            "are free; make room, or take fewer with --limit."
        )


def _setup(name: str, plan: Plan, config: Config, home: Path, recordings: Path) -> Setup:
    plainly = name.replace(":", ".")
    data = DataConfig(str(home / plainly))
    path = recordings / f"{plainly}.wav"
    conversation = plan.conversation or plan.corpus is None
    return Setup(name, replace(config, data=data), path, plan.fast, conversation)


def _take_turns(
    children: Sequence[Child], items: Sequence[Item], progress: Progress
) -> Iterator[dict[str, dict[str, Any]]]:
    """Each utterance to each system; who comes first rotates."""
    for number, item in enumerate(items):
        first = number % len(children)
        told: dict[str, dict[str, Any]] = {}
        for child in (*children[first:], *children[:first]):
            told[child.name] = child.ask(item.entry.path)
        yield told
        progress(
            {
                "event": "utterance",
                "number": number + 1,
                "of": len(items),
                "file": item.entry.path.name,
                "systems": {name: _brief(message) for name, message in told.items()},
            }
        )


def _brief(message: dict[str, Any]) -> dict[str, Any]:
    last = message["turns"][-1] if message["turns"] else {}
    return {
        "text": last.get("text", ""),
        "reply": last.get("reply", ""),
        "told_ms": last.get("latency_ms", {}).get("voice_to_voice"),
    }


def _rows(
    items: Sequence[Item], told: Sequence[dict[str, dict[str, Any]]], children: Sequence[Child]
) -> list[Row]:
    """Every utterance, measured in the recording of each system."""
    reached = dict.fromkeys((child.name for child in children), 0.0)
    rows = []
    for item, messages in zip(items, told, strict=True):
        found: dict[str, Heard | None] = {}
        for child in children:
            # It began at `from` or, where the machine stood still, before: after the last one.
            begin, end = reached[child.name], messages[child.name]["to"]
            left, right, begin = window(child.recording, begin, end)
            heard = found[child.name] = hear(left, right, begin, item.mark, item.speech_end)
            if heard is not None:
                reached[child.name] = heard.end
        rows.append(_row(item, messages, found))
    return rows


def _row(item: Item, messages: dict[str, dict[str, Any]], found: dict[str, Heard | None]) -> Row:
    return {
        "file": item.entry.path.name,
        "folder": item.entry.folder,
        "transcript": item.entry.transcript,
        "seconds": round(item.seconds, 3),
        "speech_start_s": round(item.speech_start, 3),
        "speech_end_s": round(item.speech_end, 3),
        "pauses": item.pauses,
        "systems": {name: result(item, messages[name], heard) for name, heard in found.items()},
    }


def _figures(rows: Sequence[Row], child: Child) -> dict[str, Any]:
    more = {"peak_memory_mb": child.peak_memory_mb, "load_s": child.load_seconds}
    return system_figures(rows, child.name) | more


@contextmanager
def _shown(*, as_json: bool) -> Iterator[Progress]:
    """Progress as JSON lines, or as a bar on stderr."""
    if as_json:
        yield lambda step: print(json.dumps(step, ensure_ascii=False), flush=True)
        return
    from assistant.bench.latency_table import bar

    with bar() as progress:
        yield progress


def run(
    plan: Plan, config: Config, *, as_json: bool, output: Path | None, html: Path | None
) -> None:
    """Measure, print, and write what is asked for."""
    for path in (output, html):
        _writable(path)
    lock = Lock()
    with _shown(as_json=as_json) as show:

        def progress(step: dict[str, Any]) -> None:
            with lock:
                show(step)

        data = measure(plan, config, progress)
    whole = {**last_object(data), "utterances": data["utterances"]}
    if output is not None:
        _write(output, json.dumps(whole, ensure_ascii=False, indent=1))
    if html is not None:
        from assistant.bench.latency_html import page

        _write(html, page(whole))
    if as_json:
        print(json.dumps(last_object(data), ensure_ascii=False))
    else:
        from assistant.bench.latency_table import show_table

        show_table(whole)


def compare(one: Path, other: Path, *, as_json: bool, html: Path | None) -> None:
    """Two saved runs side by side. Raises InputError."""
    from assistant.bench.latency_compare import joined, ratios, read

    _writable(html)
    data = joined(read(one), read(other), one.stem, other.stem)
    if html is not None:
        from assistant.bench.latency_html import page

        _write(html, page(data))
    if as_json:
        print(json.dumps(ratios(data), ensure_ascii=False))
    else:
        from assistant.bench.latency_table import show_table

        show_table(data)


def _writable(path: Path | None) -> None:
    """Before minutes are spent: the folder is there. Raises InputError."""
    if path is not None and not path.absolute().parent.is_dir():
        raise InputError(f"{path}: there is no such folder; make it, or name another file.")


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, "utf-8")
    except OSError as error:
        raise StorageError(f"{path} cannot be written ({error.strerror}).") from None
