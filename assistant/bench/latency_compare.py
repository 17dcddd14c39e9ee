"""Two saved runs of `bench latency` as one: every system of each, side by side."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from assistant.bench.latency_figures import OURS, Row, side_by_side
from assistant.errors import InputError


def read(path: Path) -> dict[str, Any]:
    """A run as `bench latency -o FILE.json` saved it. Raises InputError."""
    try:
        data = json.loads(path.read_text("utf-8"))
        if data["event"] == "latency" and OURS in data["systems"] and "utterances" in data:
            return dict(data)
        raise ValueError("no run in it")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{path} is no saved run ({error}); "
            "make one with: run.py bench latency DIR -o FILE.json"
        ) from None


def joined(one: dict[str, Any], other: dict[str, Any], name: str, second: str) -> dict[str, Any]:
    """Both runs, with `ours` of the first as what is measured and of the second as baseline."""
    if name == second:
        name, second = f"{name} (A)", f"{second} (B)"
    rows: dict[tuple[str, str], Row] = {}
    systems: dict[str, Any] = {}
    for run, prefix in ((one, name), (other, second)):
        for system, figures in run["systems"].items():
            systems[_called(prefix, system)] = figures
        for row in run["utterances"]:
            plain = {key: value for key, value in row.items() if key != "systems"}
            into = rows.setdefault((row["folder"], row["file"]), {**plain, "systems": {}})
            into["systems"] |= {_called(prefix, k): v for k, v in row["systems"].items()}
    order = sorted(systems, key=lambda called: called not in (name, second))
    return {
        "event": "compare",
        "a": name,
        "b": second,
        "systems": {called: systems[called] for called in order},
        "utterances": list(rows.values()),
        "settings": {name: one["settings"], second: other["settings"]},
        "machine": {name: one["machine"], second: other["machine"]},
        "skipped": [],
    }


def _called(prefix: str, system: str) -> str:
    return prefix if system == OURS else f"{prefix}: {system}"


def ratios(data: dict[str, Any]) -> dict[str, Any]:
    """The figures of A and B, and A over B on the utterances of both."""
    a, b = data["a"], data["b"]
    names = ("wait_ms", "model_ms", "rule_ms", "stages_ms", "cutoff_rate", "peak_memory_mb")
    shared = sum(a in row["systems"] and b in row["systems"] for row in data["utterances"])
    return {
        "event": "compare",
        "a": {"name": a, **{key: data["systems"][a][key] for key in names}},
        "b": {"name": b, **{key: data["systems"][b][key] for key in names}},
        "utterances_of_both": shared,
        **side_by_side(data["utterances"], a, b),
    }
