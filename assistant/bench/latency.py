"""From the last word to the first sound, measured in the recording, beside the plain way.

Ours: the demo's conversation through the whole loop in real time; the two-channel recording says
when the user's voice ended (left) and the reply's sound began (right). Plain: the same recorded
words, then stock recognition, one JSON answer under a grammar, and synthesis of the whole reply,
one after another.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import numpy as np

from assistant.audio import files
from assistant.config import Config
from assistant.console import Console
from assistant.demo import converse, lines
from assistant.events import Audio, Samples, Turn
from assistant.weights import find

LOUD = 10 ** (-45 / 20)
"""-45 dBFS: both channels are free of noise, so anything louder is a voice"""
SILENCE = 0.3
"""seconds without sound that part one stretch of voice from the next"""

PLAIN_RULES = (
    "You are a voice assistant. Answer with one JSON object: "
    '{"reply": one or two short spoken sentences, "state_update": {"facts": {name: value}}}. '
    "Put every fact the user gives into facts."
)
PLAIN_GRAMMAR = r"""
root ::= "{" ws "\"reply\":" ws string "," ws "\"state_update\":" ws object ws "}"
object ::= "{" ws (pair ("," ws pair)*)? ws "}"
pair ::= string ":" ws (string | object)
string ::= "\"" ([^"\\\n] | "\\" ["\\/bfnrt])* "\"" ws
ws ::= [ \n]?
"""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Voice without a longer silence in it, in seconds."""

    start: float
    end: float


def voiced(samples: Samples, rate: int, gap: float = SILENCE) -> list[Stretch]:
    """Stretches of sound louder than LOUD; silences shorter than `gap` seconds are part of them."""
    loud = np.flatnonzero(np.abs(samples) > LOUD)
    if not len(loud):
        return []
    breaks = np.flatnonzero(np.diff(loud) > gap * rate)
    starts = [loud[0], *loud[breaks + 1]]
    ends = [*loud[breaks], loud[-1]]
    return [Stretch(s / rate, (e + 1) / rate) for s, e in zip(starts, ends, strict=True)]


def waits(heard: Samples, played: Samples, rate: int) -> list[tuple[Stretch, float]]:
    """Each utterance and the seconds from its end to the next sound of a reply."""
    replies = voiced(played, rate)
    found = []
    for words in voiced(heard, rate, gap=0.9):
        after = [reply.start for reply in replies if reply.start >= words.end]
        if after:
            found.append((words, after[0] - words.end))
    return found


def peak_memory_mb() -> float:
    """Largest resident size of this process so far, in MB (10^6 bytes)."""
    import resource

    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return size * (1 if sys.platform == "darwin" else 1024) / 1e6


def summary(values: Sequence[float]) -> dict[str, float]:
    """Median and 95th percentile of seconds, as milliseconds."""
    high = quantiles(values, n=20, method="inclusive")[18] if len(values) > 1 else values[0]
    return {"p50": round(median(values) * 1000), "p95": round(high * 1000)}


class Plain:
    """The sequential way on the same weights: stock calls, one after another."""

    def __init__(self, config: Config) -> None:
        from faster_whisper import WhisperModel
        from llama_cpp import Llama
        from llama_cpp.llama_grammar import LlamaGrammar
        from piper import PiperVoice

        self._whisper = WhisperModel(
            str(find(config.asr.model, "asr")), compute_type="int8", local_files_only=True
        )
        path = str(find(config.llm.model, "llm"))
        self._llama: Any = Llama(path, n_ctx=config.llm.context, verbose=False)
        self._grammar = LlamaGrammar.from_string(PLAIN_GRAMMAR, verbose=False)
        self._voice = PiperVoice.load(find(config.tts.en, "tts"))
        self._messages = [{"role": "system", "content": PLAIN_RULES}]

    def answer(self, audio: Audio) -> tuple[float, str, str]:
        """Seconds from the utterance to the sound of the whole reply; its words; the reply."""
        begin = time.perf_counter()
        segments, _ = self._whisper.transcribe(audio.samples)
        text = " ".join(segment.text.strip() for segment in segments)
        self._messages.append({"role": "user", "content": text})
        answer = self._llama.create_chat_completion(
            self._messages, grammar=self._grammar, temperature=0.0, max_tokens=300
        )
        raw = str(answer["choices"][0]["message"]["content"])
        self._messages.append({"role": "assistant", "content": raw})
        try:
            reply = str(json.loads(raw)["reply"])
        except (ValueError, KeyError, TypeError):
            reply = raw
        for _ in self._voice.synthesize(reply or "."):
            pass
        return time.perf_counter() - begin, text, reply


def measure(
    config: Config, recording: Path, turns: Sequence[Turn], progress: Callable[[str], None]
) -> dict[str, Any]:
    """Figures from a recording of the conversation, then the plain way on the same words."""
    memory = peak_memory_mb()
    heard, played, rate = _channels(recording)
    measured = waits(heard, played, rate)
    stages = sorted({name for turn in turns for name in turn.latency_ms})
    result: dict[str, Any] = {
        "event": "latency",
        "turns": len(measured),
        "voice_to_voice_ms": summary([seconds for _, seconds in measured]),
        "stages_ms_p50": {
            name: round(median(t.latency_ms[name] for t in turns if name in t.latency_ms))
            for name in stages
        },
        "peak_memory_mb": round(memory),
    }
    progress("the plain way, for comparison")
    plain = Plain(config)
    closing = config.endpoint.silence_ms / 1000
    times = []
    for words, _ in measured:
        cut = heard[int((words.start - 0.3) * rate) : int((words.end + 0.2) * rate)]
        seconds, text, reply = plain.answer(files.resample(Audio(cut, rate), 16000))
        times.append(seconds + closing)
        progress(f"plain: {text} → {reply}")
    result["plain_voice_to_voice_ms"] = summary(times)
    ours = median(seconds for _, seconds in measured)
    result["ratio"] = round(ours / median(times), 3)
    return result


def report(config: Config, record: Path, *, as_json: bool) -> None:
    """Hold the demo's conversation, measure it, print the figures; --json ends with one object."""
    console = Console(as_json=as_json, spoken=True, details=False)
    turns = converse(config, lines(), record, console.show, quiet=as_json)

    def progress(step: str) -> None:
        print(step, file=sys.stderr, flush=True)

    result = measure(config, record, turns, progress)
    if as_json:
        print(json.dumps(result, ensure_ascii=False))
        return
    ours, plain = result["voice_to_voice_ms"], result["plain_voice_to_voice_ms"]
    stages = "  ".join(f"{name} {value}" for name, value in result["stages_ms_p50"].items())
    print(
        f"\nLast word to first sound over {result['turns']} turns: "
        f"p50 {ours['p50']} ms, p95 {ours['p95']} ms\n"
        f"The plain sequential way, same words:     p50 {plain['p50']} ms, p95 {plain['p95']} ms "
        f"(ratio {result['ratio']})\n"
        f"Stages, p50 ms: {stages}\nPeak memory: {result['peak_memory_mb']} MB"
    )


def _channels(path: Path) -> tuple[Samples, Samples, int]:
    import soundfile

    samples, rate = soundfile.read(path, dtype="float32", always_2d=True)
    return samples[:, 0], samples[:, 1], int(rate)
