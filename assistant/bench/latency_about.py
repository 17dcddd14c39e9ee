"""What a run was measured with: settings, engines, machine. For the report and for comparing."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from assistant import __version__
from assistant.bench.latency_plan import Plan
from assistant.config import Config
from assistant.cores import physical_cores

ENGINES = ("llama-cpp-python", "faster-whisper", "ctranslate2", "piper-tts", "onnxruntime")


def settings(plan: Plan, config: Config) -> dict[str, Any]:
    return {
        "program": __version__,
        "corpus": str(plan.corpus) if plan.corpus is not None else "the demo's conversation",
        "pace": "fast" if plan.fast else "real time",
        "conversation": plan.conversation or plan.corpus is None,
        "load_cores": plan.load,
        "profile": f"{plan.profile} (simulated: weights and cores, not their speed)"
        if plan.profile
        else "",
        "llm": config.llm.model,
        "asr": config.asr.model,
        "voice": config.tts.en,
        "vad": config.vad.model,
        "endpoint": {name: getattr(config.endpoint, name) for name in config.endpoint.__slots__},
        "engines": {name: _version(name) for name in ENGINES},
    }


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def machine() -> dict[str, Any]:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "processor": _processor(),
        "cores": cores,
        "physical_cores": physical_cores(),
        "system": platform.platform(terse=True),
        "python": platform.python_version(),
        "load_average_before": load_average(),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return platform.processor()
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.processor()


def load_average() -> float | None:
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None
