"""Settings: one frozen dataclass per TOML section, unknown keys and wrong types refused.

`load` reads a file, `override` applies `--set section.key=value`. No models, no devices here.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, get_type_hints

from assistant.errors import ConfigError

ROOT = Path(__file__).resolve().parent.parent
"""The checkout: config.toml and models/ stand here."""


@dataclass(frozen=True, slots=True)
class AudioConfig:
    mic: str = ""
    speaker: str = ""
    echo: str = "cancel"
    volume: float = 1.0


@dataclass(frozen=True, slots=True)
class VadConfig:
    model: str = "silero-vad"
    threshold: float = 0.5
    min_speech_ms: int = 160


@dataclass(frozen=True, slots=True)
class EndpointConfig:
    silence_ms: int = 600
    short_ms: int = 250
    long_ms: int = 1500
    smart_turn: bool = False
    pre_roll_ms: int = 300
    max_seconds: float = 30.0


@dataclass(frozen=True, slots=True)
class AsrConfig:
    model: str = "whisper-base"
    language: str = "auto"
    device: str = "auto"
    compute_type: str = "auto"
    threads: int = 0
    beam_size: int = 2
    hotwords: bool = True
    no_speech_threshold: float = 0.6
    log_prob_threshold: float = -1.0
    min_speech_share: float = 0.15


@dataclass(frozen=True, slots=True)
class LlmConfig:
    model: str = "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"
    context: int = 4096
    threads: int = 0
    gpu_layers: int = -1
    max_reply_tokens: int = 90


@dataclass(frozen=True, slots=True)
class TtsConfig:
    en: str = "en_US-joe-medium"
    zh: str = ""
    speed: float = 1.0
    device: str = "auto"


@dataclass(frozen=True, slots=True)
class MindConfig:
    recent_turns: int = 6
    max_facts: int = 8
    max_pending: int = 5
    max_steps: int = 12
    max_summary_chars: int = 600
    notes_tokens: int = 60


@dataclass(frozen=True, slots=True)
class FlowsConfig:
    enabled: bool = True
    folders: tuple[str, ...] = ()
    denied: tuple[str, ...] = ()
    task_minutes: float = 30.0


@dataclass(frozen=True, slots=True)
class MemoryConfig:
    bank: str = "default"
    key: str = "auto"
    recall: bool = True
    retain: bool = True
    budget: str = "mid"
    block_tokens: int = 160
    session_hours: float = 12.0
    idle_minutes: float = 10.0
    turns_days: float = 180.0
    ended_days: float = 365.0


@dataclass(frozen=True, slots=True)
class DataConfig:
    dir: str = ""


@dataclass(frozen=True, slots=True)
class LogConfig:
    level: str = "info"
    content: bool = False


@dataclass(frozen=True, slots=True)
class Config:
    """The whole of config.toml."""

    audio: AudioConfig = field(default_factory=AudioConfig)
    vad: VadConfig = field(default_factory=VadConfig)
    endpoint: EndpointConfig = field(default_factory=EndpointConfig)
    asr: AsrConfig = field(default_factory=AsrConfig)
    llm: LlmConfig = field(default_factory=LlmConfig)
    tts: TtsConfig = field(default_factory=TtsConfig)
    mind: MindConfig = field(default_factory=MindConfig)
    flows: FlowsConfig = field(default_factory=FlowsConfig)
    memory: MemoryConfig = field(default_factory=MemoryConfig)
    data: DataConfig = field(default_factory=DataConfig)
    log: LogConfig = field(default_factory=LogConfig)


def _between(low: float, high: float) -> Callable[[Any], str]:
    return lambda value: "" if low <= value <= high else f"must be between {low:g} and {high:g}"


def _one_of(*choices: str) -> Callable[[Any], str]:
    return lambda value: "" if value in choices else "must be one of " + ", ".join(choices)


def _filled(value: Any) -> str:
    return "" if str(value).strip() else "must not be empty"


RULES: dict[str, Callable[[Any], str]] = {
    "audio.echo": _one_of("cancel", "mute", "none"),
    "audio.volume": _between(0, 1),
    "vad.threshold": _between(0.05, 0.95),
    "vad.min_speech_ms": _between(32, 2000),
    "endpoint.silence_ms": _between(100, 5000),
    "endpoint.short_ms": _between(100, 5000),
    "endpoint.long_ms": _between(100, 5000),
    "endpoint.pre_roll_ms": _between(0, 2000),
    "endpoint.max_seconds": _between(1, 300),
    "asr.model": _filled,
    "asr.device": _one_of("auto", "cpu", "cuda"),
    "asr.threads": _between(0, 256),
    "asr.beam_size": _between(1, 10),
    "asr.no_speech_threshold": _between(0, 1),
    "asr.log_prob_threshold": _between(-20, 0),
    "asr.min_speech_share": _between(0, 1),
    "llm.model": _filled,
    "llm.context": _between(1024, 131072),
    "llm.threads": _between(0, 256),
    "llm.gpu_layers": _between(-1, 999),
    "llm.max_reply_tokens": _between(8, 1000),
    "tts.speed": _between(0.5, 2.0),
    "tts.device": _one_of("auto", "cpu", "cuda"),
    "mind.recent_turns": _between(1, 30),
    "mind.max_facts": _between(1, 8),
    "mind.max_pending": _between(1, 5),
    "mind.max_steps": _between(1, 100),
    "mind.max_summary_chars": _between(100, 10000),
    "mind.notes_tokens": _between(10, 400),
    "flows.task_minutes": _between(0.1, 24 * 60),
    "memory.key": _one_of("auto", "keyring", "file"),
    "memory.budget": _one_of("low", "mid", "high"),
    "memory.block_tokens": _between(50, 2000),
    "memory.session_hours": _between(0.01, 24 * 365),
    "memory.idle_minutes": _between(0.1, 24 * 60),
    "memory.turns_days": _between(0, 36500),
    "memory.ended_days": _between(0, 36500),
    "log.level": _one_of("debug", "info", "warning", "error"),
}
"""Limits a type cannot express; each returns "" or what is wrong."""

Texts = tuple[str, ...]
_NAMES: dict[Any, str] = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    Texts: 'a list of texts, such as ["stock.order"]',
}


def _suggest(name: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, known, 1, 0.5)
    return f"did you mean {near[0]}?" if near else "known: " + ", ".join(known)


def _convert(where: str, path: str, wanted: Any, value: Any) -> Any:
    if wanted is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if wanted == Texts and isinstance(value, list) and all(isinstance(i, str) for i in value):
        return tuple(value)
    if type(value) is not wanted:
        raise ConfigError(f"{where}: {path} must be {_NAMES[wanted]}, not {value!r}.")
    if fault := RULES.get(path, lambda _: "")(value):
        raise ConfigError(f"{where}: {path} {fault}, not {value!r}.")
    return value


def _line_of(text: str, section: str, key: str | None) -> int:
    """1-based line of a key, found in the text because tomllib keeps no positions."""
    current = ""
    for number, line in enumerate(text.splitlines(), 1):
        bare = line.strip()
        if bare.startswith("["):
            current = bare.split("]", 1)[0].strip("[ ")
            if key is None and current == section:
                return number
        elif key is not None and "=" in bare and not bare.startswith("#"):
            name = bare.split("=", 1)[0].strip().strip('"')
            if (current == section and name == key) or name == f"{section}.{key}":
                return number
    return 1


def _apply(config: Config, data: dict[str, Any], where: Callable[[str, str | None], str]) -> Config:
    sections = [item.name for item in fields(Config)]
    for section, values in data.items():
        if section not in sections:
            raise ConfigError(
                f"{where(section, None)}: unknown section [{section}]; "
                + _suggest(section, sections)
            )
        if not isinstance(values, dict):
            raise ConfigError(f"{where(section, None)}: [{section}] must be a section of keys.")
        current = getattr(config, section)
        types = get_type_hints(type(current))
        changes = {}
        for key, value in values.items():
            if key not in types:
                raise ConfigError(
                    f"{where(section, key)}: unknown key {section}.{key}; "
                    + _suggest(key, list(types))
                )
            path = f"{section}.{key}"
            changes[key] = _convert(where(section, key), path, types[key], value)
        config = replace(config, **{section: replace(current, **changes)})
    return config


def _override(text: str) -> dict[str, Any]:
    path, equals, raw = text.partition("=")
    section, dot, key = path.strip().partition(".")
    if not equals or not dot or not key:
        raise ConfigError(f"--set {text}: write section.key=value.")
    raw = raw.strip()
    try:
        value = tomllib.loads(f"value = {raw}")["value"]
    except tomllib.TOMLDecodeError:
        value = raw  # bare text needs no quotes on a command line
    known = get_type_hints(type(getattr(Config(), section))) if hasattr(Config(), section) else {}
    if known.get(key) is str and not isinstance(value, str):
        value = raw
    return {section: {key: value}}


def load(path: Path | None = None, overrides: Sequence[str] = ()) -> Config:
    """Read a config file (default: the checkout's, when there is one) and apply overrides.

    Raises ConfigError naming file, line and a suggestion.
    """
    config = Config()
    if path is None and (ROOT / "config.toml").is_file():
        path = ROOT / "config.toml"
    if path is not None:
        try:
            text = path.read_text(encoding="utf-8")
            data = tomllib.loads(text)
        except FileNotFoundError:
            raise ConfigError(f"{path}: there is no such config file.") from None
        except UnicodeDecodeError:
            raise ConfigError(f"{path}: not UTF-8 text; save it as such.") from None
        except OSError as error:
            raise ConfigError(f"{path}: cannot be read ({error.strerror}).") from None
        except tomllib.TOMLDecodeError as error:
            raise ConfigError(f"{path}: not valid TOML: {error}.") from None
        config = _apply(config, data, lambda s, k: f"{path}:{_line_of(text, s, k)}")
    return override(config, overrides)


def override(config: Config, settings: Sequence[str]) -> Config:
    """Apply `section.key=value` texts. Raises ConfigError."""
    for text in settings:
        config = _apply(config, _override(text), lambda section, key, text=text: f"--set {text}")  # type: ignore[misc]
    return config
