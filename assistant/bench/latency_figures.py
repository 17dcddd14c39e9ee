"""Figures from what was measured of each utterance: per system, per stage, side by side.

Times are milliseconds, from the end of the speech in the recording. An utterance that was cut off,
or not answered, has no wait of its own and counts there instead.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from assistant.bench.latency_corpus import Item
from assistant.bench.latency_measure import Heard, percentiles

OURS = "ours"
STAGES = ("endpoint", "asr", "first_token", "first_sentence", "first_audio")
"""each from the one before; they add up to the wait as the system itself knows it"""
LATE_MS = 150
"""An utterance that began so much later than it was due: the machine stood still meanwhile."""
Row = dict[str, Any]
"""of an utterance: file, folder, …, and under `systems` what each of them did"""


def result(item: Item, message: dict[str, Any], heard: Heard | None) -> Row:
    """What one system did with one utterance."""
    turns = message["turns"]
    last = turns[-1] if turns else {}
    cut = heard is not None and _cut(turns, heard.end)
    wait = heard.wait if heard is not None and not cut else None
    return {
        "wait_ms": None if wait is None or not turns else round(wait * 1000, 1),
        "cut": cut,
        "late_ms": None if heard is None else round((message["from"] - heard.start) * 1000),
        "false_start": heard is not None and bool(heard.early),
        "early_s": list(heard.early) if heard is not None else [],
        "no_answer": "" if cut or (turns and wait is not None) else _why(message, heard),
        "by": last.get("by", ""),
        "act": last.get("act", ""),
        "text": " | ".join(turn["text"] for turn in turns),
        "reply": last.get("reply", ""),
        "stages_ms": {k: v for k, v in last.get("latency_ms", {}).items() if k in STAGES},
        "told_ms": last.get("latency_ms", {}).get("voice_to_voice"),
        "ahead": last.get("ahead", {}),
        "work_s": message["work"],
        "speech_s": round(item.speech_end - item.speech_start, 3),
    }


def _cut(turns: Sequence[dict[str, Any]], end: float) -> bool:
    """A turn ended while the person had more to say."""
    return len(turns) > 1 or any(turn.get("at", end) < end for turn in turns)


def _why(message: dict[str, Any], heard: Heard | None) -> str:
    if heard is None:
        return "not in the recording"
    if message["failed"]:
        return "; ".join(message["failed"])
    if message["turns"]:
        return "no sound"
    if message["refused"]:
        return "refused: " + ", ".join(message["refused"])
    return "not noticed as speech"


def system_figures(rows: Sequence[Row], name: str) -> dict[str, Any]:
    """Of one system over all utterances."""
    done = [(row, row["systems"][name]) for row in rows if name in row["systems"]]
    results = [one for _, one in done]
    paused = [one for row, one in done if row["pauses"]]
    late = [one["late_ms"] for one in results if one["late_ms"] is not None]
    unanswered = [one["no_answer"] for one in results if one["no_answer"]]
    return {
        "utterances": len(results),
        "wait_ms": _waits(results),
        "model_ms": _waits([one for one in results if one["by"] == "model"]),
        "rule_ms": _waits([one for one in results if one["by"] == "rule"]),
        "stages_ms": {stage: _stage(results, stage) for stage in STAGES},
        "cutoffs": sum(one["cut"] for one in results),
        "cutoff_rate": _share(one["cut"] for one in results),
        "with_pauses": len(paused),
        "cutoff_rate_with_pauses": _share(one["cut"] for one in paused),
        "false_starts": sum(one["false_start"] for one in results),
        "disturbed": sum(ms > LATE_MS for ms in late),
        "no_answer": len(unanswered),
        "no_answer_why": dict(Counter(unanswered)),
        **_work(results),
        "wer_percent": word_errors([(row["transcript"], one["text"]) for row, one in done]),
        "ahead": _ahead(results),
        "folders": _folders(done),
    }


def _waits(results: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return percentiles([one["wait_ms"] for one in results if one["wait_ms"] is not None])


def _stage(results: Sequence[dict[str, Any]], stage: str) -> dict[str, Any]:
    whole = [one["stages_ms"] for one in results if one["wait_ms"] is not None]
    return percentiles([stages[stage] for stages in whole if stage in stages])


def _share(found: Any) -> float | None:
    values = [bool(one) for one in found]
    return round(sum(values) / len(values), 4) if values else None


def _work(results: Sequence[dict[str, Any]]) -> dict[str, Any]:
    total: Counter[str] = Counter()
    for one in results:
        total.update(one["work_s"])
    return {
        "asr_rtf": _ratio(total["asr"], total["asr_sound"]),
        "tts_rtf": _ratio(total["tts"], total["tts_sound"]),
        "tokens_per_s": _ratio(total["tokens"], total["llm"]),
    }


def _ratio(one: float | None, other: float | None) -> float | None:
    return round(one / other, 3) if one is not None and other else None


def _ahead(results: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What the closing silences were used for, where a system tells."""
    told = [one["ahead"] for one in results if one["ahead"]]
    if not told:
        return {}
    wasted = [one.get("wasted", {}) for one in told]
    names = ("asr_ms", "tokens", "sound_s")
    return {
        "used_share": _share(one.get("used") for one in told),
        "pauses": sum(one.get("pauses", 0) for one in told),
        "resumed": sum(one.get("resumed", 0) for one in told),
        "patience_ms_p50": percentiles(
            [one["patience_ms"] for one in told if one.get("patience_ms") is not None]
        )["p50"],
        **{f"wasted_{name}": round(sum(one.get(name, 0) for one in wasted), 1) for name in names},
    }


def _folders(done: Sequence[tuple[Row, dict[str, Any]]]) -> dict[str, Any]:
    names = dict.fromkeys(row["folder"] for row, _ in done)
    found = {name: [one for row, one in done if row["folder"] == name] for name in names}
    return {
        name: {
            "utterances": len(results),
            "wait_ms": _waits(results),
            "cutoff_rate": _share(one["cut"] for one in results),
        }
        for name, results in found.items()
    }


def word_errors(pairs: Sequence[tuple[str | None, str]]) -> float | None:
    """Percent, over the utterances whose words are known; None without the bench extra."""
    known = [(wanted, got) for wanted, got in pairs if wanted]
    if not known:
        return None
    try:
        from assistant.bench.asr import error_rate

        return error_rate(known, "en")
    except ImportError:
        return None


def side_by_side(rows: Sequence[Row], name: str, other: str) -> dict[str, Any]:
    """Medians of one system over those of another, on utterances where both have a wait."""

    def ratio(chosen: Callable[[dict[str, Any]], bool]) -> float | None:
        pairs = [
            (row["systems"][name]["wait_ms"], row["systems"][other]["wait_ms"])
            for row in rows
            if name in row["systems"] and other in row["systems"] and chosen(row["systems"][name])
        ]
        both = [(a, b) for a, b in pairs if a is not None and b is not None]
        ours, theirs = (percentiles([pair[i] for pair in both])["p50"] for i in (0, 1))
        return _ratio(ours, theirs)

    return {
        "ratio_p50": ratio(lambda one: one["by"] == "model"),
        "ratio_p50_all": ratio(lambda one: True),
        "ratio_p50_rule": ratio(lambda one: one["by"] == "rule"),
    }


def last_object(data: dict[str, Any]) -> dict[str, Any]:
    """The one object at the end: the main figures at the top, everything else below them."""
    systems, rows = data["systems"], data["utterances"]
    others = [name for name in systems if name != OURS]
    ours = systems[OURS]
    found = {
        "event": "latency",
        "unit": "ms",
        "recordings": len(rows),
        **_top(ours, ""),
        "model": ours["model_ms"],
        "rule": ours["rule_ms"],
        "stages": ours["stages_ms"],
    }
    if others:
        base = systems[others[0]]
        found |= {
            "baseline": others[0],
            **_top(base, "baseline_"),
            **side_by_side(rows, OURS, others[0]),
            "baseline_stages": base["stages_ms"],
        }
        found["against"] = {name: side_by_side(rows, OURS, name) for name in others}
    return {**found, "systems": systems, **{k: data[k] for k in ("settings", "machine", "skipped")}}


def _top(figures: dict[str, Any], prefix: str) -> dict[str, Any]:
    waits = {name: figures["wait_ms"][name] for name in ("p50", "p95", "p99")}
    names = ("cutoff_rate", "cutoff_rate_with_pauses", "false_starts", "no_answer")
    return {prefix + name: value for name, value in waits.items()} | {
        prefix + name: figures[name] for name in names
    }
