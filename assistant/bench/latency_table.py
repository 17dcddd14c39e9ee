"""What `bench latency` shows on a terminal: a bar while it runs, then a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from assistant.bench.latency_figures import STAGES

Lines = list[tuple[str, Callable[[dict[str, Any]], str]]]


def number(value: float | int | None, digits: int = 0) -> str:
    """For a cell; "–" where there is none."""
    return "–" if value is None else f"{value:.{digits}f}"


def percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f} %"


def three(found: dict[str, Any]) -> str:
    """p50 / p95 / p99."""
    if not found["n"]:
        return "–"
    return " / ".join(number(found[name]) for name in ("p50", "p95", "p99"))


def lines() -> Lines:
    """Label and cell of every line, for the figures of one system."""

    def stage(name: str) -> Callable[[dict[str, Any]], str]:
        return lambda one: three(one["stages_ms"][name])

    return [
        ("wait, ms (p50 / p95 / p99)", lambda one: three(one["wait_ms"])),
        ("  turns of the model", lambda one: three(one["model_ms"])),
        ("  turns by rule", lambda one: three(one["rule_ms"])),
        *((f"  stage {name}", stage(name)) for name in STAGES),
        ("measured of", lambda one: f"{one['wait_ms']['n']} of {one['utterances']}"),
        ("cut off", lambda one: f"{one['cutoffs']} ({percent(one['cutoff_rate'])})"),
        ("  of those with pauses", lambda one: percent(one["cutoff_rate_with_pauses"])),
        ("false starts", lambda one: number(one["false_starts"])),
        ("no answer", lambda one: number(one["no_answer"])),
        ("disturbed by other programs", lambda one: number(one.get("disturbed"))),
        ("word errors, %", lambda one: number(one["wer_percent"], 1)),
        ("recognition, of real time", lambda one: number(one["asr_rtf"], 2)),
        ("synthesis, of real time", lambda one: number(one["tts_rtf"], 2)),
        ("tokens a second", lambda one: number(one["tokens_per_s"], 1)),
        ("peak memory, MB", lambda one: number(one["peak_memory_mb"])),
        ("work ahead used", lambda one: percent(one["ahead"].get("used_share"))),
        ("  wasted", lambda one: wasted(one["ahead"])),
    ]


def wasted(ahead: dict[str, Any]) -> str:
    """Work that came to nothing."""
    if not ahead:
        return "–"
    return (
        f"{ahead['wasted_asr_ms'] / 1000:.1f} s recognition, {ahead['wasted_tokens']:.0f} tokens, "
        f"{ahead['wasted_sound_s']:.1f} s sound"
    )


def against(data: dict[str, Any]) -> list[str]:
    """The ratios in words."""
    from assistant.bench.latency_figures import side_by_side

    first, *others = data["systems"]
    found = []
    for other in others:
        one = side_by_side(data["utterances"], first, other)
        found.append(
            f"{first} / {other}, p50 of the same utterances: "
            f"{number(one['ratio_p50_all'], 2)} (model {number(one['ratio_p50'], 2)}, "
            f"rule {number(one['ratio_p50_rule'], 2)})"
        )
    return found


def show_table(data: dict[str, Any]) -> None:
    """Every figure of every system, on the standard output."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title=f"{len(data['utterances'])} recordings", title_justify="left")
    table.add_column("")
    for name in data["systems"]:
        table.add_column(name, justify="right")
    for label, cell in lines():
        table.add_row(label, *(cell(figures) for figures in data["systems"].values()))
    screen = Console()
    screen.print(table)
    for line in against(data):
        screen.print(line, highlight=False)
    for row in cutoffs(data):
        screen.print(row, highlight=False, markup=False)


def cutoffs(data: dict[str, Any]) -> Sequence[str]:
    """A line for each turn that was cut off."""
    return [
        f"cut off by {name}: {row['file']}: {one['text']}"
        for row in data["utterances"]
        for name, one in row["systems"].items()
        if one["cut"]
    ]


@contextmanager
def bar() -> Iterator[Callable[[dict[str, Any]], None]]:
    """A progress bar on stderr, and a line for each recording that is left out."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
    )  # fmt: skip
    screen = Console(stderr=True)
    with Progress(*columns, console=screen, transient=True) as progress:
        task = progress.add_task("looking for speech", total=None)

        def show(step: dict[str, Any]) -> None:
            if step["event"] == "utterance":
                waits = ", ".join(
                    f"{name} {number(one['told_ms'])} ms" for name, one in step["systems"].items()
                )
                progress.update(task, total=step["of"], completed=step["number"], description=waits)
            elif step["event"] == "skipped":
                screen.print(f"left out: {step['file']}: {step['why']}", markup=False)
            else:
                progress.update(task, description=step["event"])

        yield show
