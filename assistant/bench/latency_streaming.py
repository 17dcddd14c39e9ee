"""The peers' way with the same weights, at the settings their documentation gives.

Stock recognition (30 s window, beam 5), a streamed chat completion whose prompt prefix llama.cpp
keeps, synthesis by sentence. The first sentence is spoken before more is written, which is the
quickest way to its sound.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from assistant.bench.latency_peer import Sentence, Step, Token
from assistant.config import Config
from assistant.events import Audio
from assistant.weights import find

RULES = (
    "You are a helpful voice assistant. Your answers are spoken aloud: answer in one or two short "
    "sentences, without lists and without special characters."
)
END = re.compile(r"(?<!\bMr)(?<!\bMs)(?<!\bDr)(?<!\bSt)(?<!\bMrs)[.!?][\"')]*(?=\s)|[。！？]")
"""the end of a sentence that is followed by more"""
LAST = re.compile(r"(?<!\bMr)(?<!\bMs)(?<!\bDr)(?<!\bSt)(?<!\bMrs)(?<!\d)[.!?。！？][\"')]*$")
"""the same at the end of what there is; "3." may be the beginning of "3.5" """


class Streaming:
    """Implements latency_peer.Answerer."""

    def __init__(self, config: Config) -> None:
        from llama_cpp import Llama

        self.whisper = stock_whisper(config)
        self.voice = StockVoice(config)
        self._llama: Any = Llama(
            str(find(config.llm.model, "llm")),
            n_ctx=config.llm.context,
            n_gpu_layers=config.llm.gpu_layers,
            verbose=False,
        )
        self._most = config.llm.max_reply_tokens
        self.begin()
        for _ in self.reply("Hello."):  # the rules are in the cache, the engines are warm
            pass
        self.begin()

    def begin(self) -> None:
        self._messages = [{"role": "system", "content": RULES}]

    def transcribe(self, audio: Audio) -> str:
        return stock_transcribe(self.whisper, audio)

    def reply(self, text: str) -> Iterator[Step]:
        self._messages.append({"role": "user", "content": text})
        said: list[str] = []
        try:
            for step in self._sentences():
                yield step
                if isinstance(step, Sentence):
                    said.append(step.text)
                    yield from self.voice.speak(step.text)
        finally:
            self._messages.append({"role": "assistant", "content": " ".join(said)})

    def _sentences(self) -> Iterator[Token | Sentence]:
        chunks = self._llama.create_chat_completion(
            self._messages, stream=True, temperature=0.0, max_tokens=self._most
        )
        waiting = ""
        for chunk in chunks:
            piece = chunk["choices"][0]["delta"].get("content")
            if not piece:
                continue
            yield Token()
            waiting += piece
            while found := END.search(waiting) or LAST.search(waiting):
                sentence, waiting = waiting[: found.end()].strip(), waiting[found.end() :]
                yield Sentence(sentence)
        if waiting.strip():
            yield Sentence(waiting.strip())


class StockVoice:
    """Piper as it comes."""

    def __init__(self, config: Config) -> None:
        from piper import PiperVoice

        self._voice: Any = PiperVoice.load(find(config.tts.en, "tts"))

    def speak(self, text: str) -> Iterator[Audio]:
        """One sound a sentence."""
        for chunk in self._voice.synthesize(text):
            yield Audio(chunk.audio_float_array, chunk.sample_rate)


def stock_whisper(config: Config) -> Any:
    """faster-whisper as it comes, 8 bit on a processor, warmed up."""
    from faster_whisper import WhisperModel

    path = str(find(config.asr.model, "asr"))
    device = config.asr.device
    kind = "auto" if device == "cuda" else "int8"
    model = WhisperModel(path, device=device, compute_type=kind, local_files_only=True)
    noise = np.random.default_rng(0).normal(0, 0.01, 16000).astype(np.float32)
    segments, _ = model.transcribe(noise, temperature=0.0, max_new_tokens=8)
    list(segments)
    return model


def stock_transcribe(whisper: Any, audio: Audio) -> str:
    """`WhisperModel.transcribe` with its own settings."""
    segments, _ = whisper.transcribe(audio.samples)
    return " ".join(segment.text.strip() for segment in segments)
