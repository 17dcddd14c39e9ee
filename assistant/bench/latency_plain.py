"""The idea as it is first written down: one JSON answer under a grammar, then all of its speech.

Stock calls on the same weights, one after another.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from assistant.bench.latency_peer import Sentence, Step, Token
from assistant.bench.latency_streaming import StockVoice, stock_transcribe, stock_whisper
from assistant.config import Config
from assistant.events import Audio
from assistant.weights import find

RULES = (
    "You are a voice assistant. Answer with one JSON object: "
    '{"reply": one or two short spoken sentences, "state_update": {"facts": {name: value}}}. '
    "Put every fact the user gives into facts."
)
GRAMMAR = r"""
root ::= "{" ws "\"reply\":" ws string "," ws "\"state_update\":" ws object ws "}"
object ::= "{" ws (pair ("," ws pair)*)? ws "}"
pair ::= string ":" ws (string | object)
string ::= "\"" ([^"\\\n] | "\\" ["\\/bfnrt])* "\"" ws
ws ::= [ \n]?
"""
MOST = 300
"""tokens of an answer"""


class Plain:
    """Implements latency_peer.Answerer."""

    def __init__(self, config: Config) -> None:
        from llama_cpp import Llama
        from llama_cpp.llama_grammar import LlamaGrammar

        self._whisper = stock_whisper(config)
        self._voice = StockVoice(config)
        self._llama: Any = Llama(
            str(find(config.llm.model, "llm")),
            n_ctx=config.llm.context,
            n_gpu_layers=config.llm.gpu_layers,
            verbose=False,
        )
        self._grammar = LlamaGrammar.from_string(GRAMMAR, verbose=False)
        self.begin()
        for _ in self.reply("Hello."):
            pass
        self.begin()

    def begin(self) -> None:
        self._messages = [{"role": "system", "content": RULES}]

    def transcribe(self, audio: Audio) -> str:
        return stock_transcribe(self._whisper, audio)

    def reply(self, text: str) -> Iterator[Step]:
        self._messages.append({"role": "user", "content": text})
        answer = self._llama.create_chat_completion(
            self._messages, grammar=self._grammar, temperature=0.0, max_tokens=MOST
        )
        raw = str(answer["choices"][0]["message"]["content"])
        self._messages.append({"role": "assistant", "content": raw})
        yield Token(int(answer["usage"]["completion_tokens"]))
        try:
            said = str(json.loads(raw)["reply"])
        except (ValueError, KeyError, TypeError):
            said = raw
        yield Sentence(said)
        sounds = list(self._voice.speak(said)) if any(char.isalnum() for char in said) else []
        if sounds:
            yield Audio(np.concatenate([one.samples for one in sounds]), sounds[0].rate)
