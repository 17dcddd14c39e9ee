"""A run of `bench latency` as one HTML page that needs nothing else; its plots are small SVG."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from string import Template
from typing import Any

from assistant.bench.latency_figures import STAGES
from assistant.bench.latency_table import against, lines, number

TEMPLATE = Path(__file__).with_name("latency.html")
COLOURS = 4
"""--s0 … in the template"""
NAMES = {
    "endpoint": "closing silence",
    "asr": "recognition",
    "first_token": "first token",
    "first_sentence": "first sentence",
    "first_audio": "its sound",
}


def page(data: dict[str, Any]) -> str:
    """The report of a run, or of two that were joined."""
    rows, systems = data["utterances"], list(data["systems"])
    parts = {
        "about": escape(_about(data)),
        "headline": "<br>".join(escape(line) for line in _headline(data)),
        "table": _table(data),
        "distribution": distribution(
            {
                name: [
                    row["systems"][name]["wait_ms"]
                    for row in rows
                    if name in row["systems"] and row["systems"][name]["wait_ms"] is not None
                ]
                for name in systems
            }
        ),
        "cutoffs": _cutoffs(rows),
        "waterfall": waterfall(rows),
        "settings": _settings(data),
    }
    return Template(TEMPLATE.read_text("utf-8")).substitute(parts)


def _about(data: dict[str, Any]) -> str:
    settings = data["settings"]
    if data["event"] == "compare":
        return f"{data['a']} beside {data['b']}: {len(data['utterances'])} recordings."
    load = f", {settings['load_cores']} core(s) kept busy" if settings["load_cores"] else ""
    profile = f", {settings['profile']}" if settings["profile"] else ""
    return (
        f"{len(data['utterances'])} recordings of {settings['corpus']}, {settings['pace']}{load}"
        f"{profile}. Measured in two-channel recordings, from the end of the speech to the first "
        "sound of the reply."
    )


def _headline(data: dict[str, Any]) -> Iterator[str]:
    for name, figures in data["systems"].items():
        waits = figures["wait_ms"]
        yield f"{name}: half of the answers within {number(waits['p50'])} ms, 95 % within " + (
            f"{number(waits['p95'])} ms"
        )
    yield from against(data)


def _table(data: dict[str, Any]) -> str:
    heads = "".join(f"<th>{escape(name)}</th>" for name in data["systems"])
    body = "".join(
        f"<tr><td>{escape(label.strip())}</td>"
        + "".join(f"<td>{escape(cell(one))}</td>" for one in data["systems"].values())
        + "</tr>"
        for label, cell in lines()
    )
    return f"<table><tr><th></th>{heads}</tr>{body}</table>"


def distribution(waits: dict[str, Sequence[float]]) -> str:
    """Share of the answers begun by each moment (empirical distribution), a line a system."""
    longest = max((max(values) for values in waits.values() if values), default=1000.0)
    grid = "".join(f'<line x1="0" x2="1000" y1="{y}" y2="{y}"/>' for y in (250, 500, 750))
    curves = "".join(
        f'<polyline points="{_steps(values, longest)}" style="stroke:var(--s{index % COLOURS})"/>'
        for index, values in enumerate(waits.values())
        if values
    )
    key = "".join(
        f'<span><i style="background:var(--s{index % COLOURS})"></i>{escape(name)}</span>'
        for index, name in enumerate(waits)
    )
    ticks = "".join(f"<span>{longest * part / 4 / 1000:.1f} s</span>" for part in range(5))
    return (
        f'<figure><div class="key">{key}</div><svg class="plot" viewBox="0 0 1000 1000" '
        'preserveAspectRatio="none" role="img" aria-label="Share of answers begun by each moment">'
        f'{grid}{curves}</svg><div class="axis">{ticks}</div><figcaption>From nobody (bottom) to '
        "everybody (top); the lines across are a quarter, a half and three quarters.</figcaption>"
        "</figure>"
    )


def _steps(values: Sequence[float], longest: float) -> str:
    """The points of a staircase in a square of 1000."""
    points = ["0,1000"]
    ordered, count = sorted(values), len(values)
    for index, value in enumerate(ordered):
        x = 1000 * value / longest
        points += [f"{x:.1f},{1000 - 1000 * index / count:.1f}"]
        points += [f"{x:.1f},{1000 - 1000 * (index + 1) / count:.1f}"]
    return " ".join([*points, "1000,0.0"])


def waterfall(rows: Sequence[dict[str, Any]]) -> str:
    """The stages of every utterance one after another, a bar a system, all to one scale."""
    longest = max(
        (
            sum(one["stages_ms"].values())
            for row in rows
            for one in row["systems"].values()
        ),
        default=0.0,
    ) or 1000.0  # fmt: skip
    key = "".join(
        f'<span><i style="background:var(--{stage})"></i>{escape(NAMES[stage])}</span>'
        for stage in STAGES
    )
    items = "".join(_utterance(row, longest) for row in rows)
    return f'<div class="key">{key}</div><ul class="falls">{items}</ul>'


def _utterance(row: dict[str, Any], longest: float) -> str:
    said = row["transcript"] or row["file"]
    bars = "".join(_bar(name, one, longest) for name, one in row["systems"].items())
    about = f"{escape(row['folder'])}, {row['seconds']:.1f} s"
    return (
        f'<li><div class="said" title="{escape(row["file"])}">{escape(said)} '
        f'<span class="soft">{about}</span></div>{bars}</li>'
    )


def _bar(name: str, one: dict[str, Any], longest: float) -> str:
    at, parts = 0.0, []
    for stage in STAGES:
        width = 100 * one["stages_ms"].get(stage, 0.0) / longest
        if width > 0:
            title = f"{NAMES[stage]}: {one['stages_ms'][stage]:.0f} ms"
            parts.append(
                f'<rect x="{at:.2f}%" width="{width:.2f}%" height="100%" '
                f'style="fill:var(--{stage})"><title>{escape(title)}</title></rect>'
            )
        at += width
    if one["wait_ms"] is not None:
        end = f"<span>{one['wait_ms']:.0f} ms</span>"
    else:
        why = "cut off" if one["cut"] else one["no_answer"] or "no answer"
        short = "cut off" if one["cut"] else "none"
        end = f'<span class="bad" title="{escape(why)}">{short}</span>'
    heard = f"{one['text']} → {one['reply']}"
    return (
        f'<div class="fall"><span title="{escape(name)}">{escape(name)}</span>'
        f'<svg role="img" aria-label="{escape(heard)}"><title>{escape(heard)}</title>'
        f"{''.join(parts)}</svg>{end}</div>"
    )


def _cutoffs(rows: Sequence[dict[str, Any]]) -> str:
    found = [(name, row, one) for row in rows for name, one in row["systems"].items() if one["cut"]]
    if not found:
        return "<p>None: nobody was answered before they had finished.</p>"
    body = "".join(
        f"<tr><td>{escape(name)}</td><td>{escape(row['file'])}</td><td>{escape(one['text'])}</td></tr>"
        for name, row, one in found
    )
    return (
        '<div class="wide"><table><tr><th>by</th><th>recording</th><th>turns (| between them)</th>'
        f"</tr>{body}</table></div>"
    )


def _settings(data: dict[str, Any]) -> str:
    pairs = [*_flat(data["machine"], ""), *_flat(data["settings"], "")]
    pairs += [(f"left out: {one['file']}", one["why"]) for one in data["skipped"]]
    body = "".join(f"<tr><td>{escape(k)}</td><td>{escape(v)}</td></tr>" for k, v in pairs)
    return f"<table>{body}</table>"


def _flat(value: dict[str, Any], prefix: str) -> Iterator[tuple[str, str]]:
    for name, one in value.items():
        if isinstance(one, dict):
            yield from _flat(one, f"{prefix}{name}: ")
        elif one not in ("", None):
            yield f"{prefix}{name.replace('_', ' ')}", str(one)
