"""The language model: one copy of the weights, contexts that remember what they evaluated.

Knows tokens and the KV cache; knows nothing of notes, replies or speech.
"""

from __future__ import annotations

import codecs
import ctypes
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from assistant.chat import ChatTemplate, common_prefix
from assistant.config import LlmConfig
from assistant.cores import Others, physical_cores
from assistant.errors import ModelError
from assistant.llm_library import LOGGED, library, unless_empty
from assistant.stages import Cancel, Message
from assistant.workers import Activity, Lock

CPU_CHUNK = 16
"""Tokens evaluated between two looks at the cancel token: 0.3-0.6 s for 1.5B on two AVX2 cores."""
GPU_CHUNK = 512
REST = 1.5
"""A rest of up to so many chunks is evaluated at once: one token alone costs a third of 16."""
MAX_THREADS = 8
WAIT_SECONDS = 0.1
INTERRUPTED = 2
"""llama_decode's result when the abort callback said so"""


@dataclass(frozen=True, slots=True)
class Stats:
    """What the last call of a context cost."""

    evaluated: int = 0
    """prompt tokens computed"""
    reused: int = 0
    """prompt tokens found in the KV cache"""
    generated: int = 0
    first_token_s: float = 0.0
    """from the call to the first token"""
    seconds: float = 0.0
    """from the call to its end"""


class Weights:
    """One GGUF in memory, shared by all contexts made from it."""

    def __init__(self, lib: Any, model: Any, config: LlmConfig, on_gpu: bool) -> None:
        self._lib = lib
        self._model = model
        self._config = config
        self._contexts: list[Context] = []
        self._others = Others()
        self.on_gpu = on_gpu
        self.vocab = lib.llama_model_get_vocab(model)
        self.template = ChatTemplate(self)

    @classmethod
    def load(cls, config: LlmConfig, path: Path, *, gpu_layers: int = -1) -> Weights:
        """Read a GGUF; gpu_layers -1 = all where a GPU is usable. Raises ModelError."""
        if not path.is_file():
            raise ModelError(
                f"{path}: the language model is missing; run: run.py models pull, or set llm.model."
            )
        lib = library()
        if gpu_layers < 0:
            gpu_layers = 999 if lib.llama_supports_gpu_offload() else 0
        for layers in dict.fromkeys((gpu_layers, 0)):
            params = lib.llama_model_default_params()
            params.n_gpu_layers = layers
            # A mapped file beside the repacked copy would count twice in memory.
            params.load_mode = lib.LLAMA_LOAD_MODE_MMAP if layers else lib.LLAMA_LOAD_MODE_NONE
            LOGGED.clear()
            model = lib.llama_model_load_from_file(str(path).encode(), params)
            if model:
                return cls(lib, model, config, layers > 0)
        why = LOGGED[0] if LOGGED else "unknown reason"
        raise ModelError(
            f"{path}: llama.cpp cannot load this file ({why}); check it with: run.py models verify."
        )

    def context(self, tokens: int) -> Context:
        """A new context of so many tokens (at most what the model was trained for)."""
        if self._model is None:
            raise ModelError("The language model has been closed.")
        lib = self._lib
        params = lib.llama_context_default_params()
        params.n_ctx = min(tokens, lib.llama_model_n_ctx_train(self._model))
        chunk = GPU_CHUNK if self.on_gpu else CPU_CHUNK
        params.n_batch = params.n_ubatch = int(chunk * REST)
        threads = self._config.threads or min(physical_cores(), MAX_THREADS)
        params.n_threads = params.n_threads_batch = threads
        pointer = lib.llama_init_from_model(self._model, params)
        if not pointer:
            raise ModelError(
                f"There is not enough memory for a context of {tokens} tokens; lower llm.context."
            )
        context = Context(self, lib, pointer, chunk)
        if not self.on_gpu and not self._config.threads:
            context.share(threads, self._others)
        self._contexts.append(context)
        return context

    def tokenize(self, text: str, *, special: bool, bos: bool = False) -> list[int]:
        """Token numbers of a text; `special` reads control tokens such as <|im_end|>."""
        raw = text.encode("utf-8", "replace")
        size = len(raw) + 8
        buffer = (self._lib.llama_token * size)()
        count = self._lib.llama_tokenize(self.vocab, raw, len(raw), buffer, size, bos, special)
        return list(buffer[: max(count, 0)])

    def piece(self, token: int, *, special: bool = False) -> bytes:
        """The bytes a token stands for; control tokens are empty unless `special`."""
        buffer = ctypes.create_string_buffer(256)
        count = self._lib.llama_token_to_piece(self.vocab, token, buffer, 256, 0, special)
        return buffer.raw[: max(count, 0)]

    def ends(self, token: int) -> bool:
        """True for the end of the answer, and for any control token: it opens something else."""
        return bool(
            self._lib.llama_vocab_is_eog(self.vocab, token)
            or self._lib.llama_vocab_is_control(self.vocab, token)
        )

    def is_control(self, token: int) -> bool:
        return bool(self._lib.llama_vocab_is_control(self.vocab, token))

    def metadata(self, key: str) -> str:
        """A text value of the file's header, "" when absent."""
        size = self._lib.llama_model_meta_val_str(self._model, key.encode(), None, 0)
        if size < 0:
            return ""
        buffer = ctypes.create_string_buffer(size + 1)
        self._lib.llama_model_meta_val_str(self._model, key.encode(), buffer, size + 1)
        return buffer.value.decode("utf-8", "replace")

    def special_token(self, name: str) -> str:
        token = getattr(self._lib, f"llama_vocab_{name}")(self.vocab)
        return self.piece(token, special=True).decode("utf-8", "replace") if token >= 0 else ""

    @property
    def adds_bos(self) -> bool:
        return bool(self._lib.llama_vocab_get_add_bos(self.vocab))

    def close(self) -> None:
        """Free the contexts, then the weights. Safe to call twice."""
        for context in self._contexts:
            context.close()
        self._contexts.clear()
        if self._model is not None:
            self._lib.llama_model_free(self._model)
            self._model = None

    def __enter__(self) -> Weights:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Context:
    """A stages.LanguageModel. `prepare` gives way to `stream`, a newer stream ends an older one."""

    def __init__(self, weights: Weights, lib: Any, pointer: Any, chunk: int) -> None:
        self._weights = weights
        self._lib = lib
        self._pointer = pointer
        self._chunk = chunk
        self._memory = lib.llama_get_memory(pointer)
        self._size = int(lib.llama_n_ctx(pointer))
        self._lock = Lock()
        self._streams = Activity()
        self._newest = 0
        self._running: Cancel | None = None
        self._known: list[int] = []
        self.stats = Stats()
        self._others: Others | None = None
        self._most = self._threads = 0
        self._stop = ctypes.create_string_buffer(2)
        lib.llama_set_abort_callback(pointer, *unless_empty(lib, self._stop))

    def share(self, threads: int, others: Others) -> None:
        """Use fewer than `threads` while other programs keep cores busy."""
        self._most = self._threads = threads
        self._others = others

    def _budget(self) -> None:
        if self._others is None:
            return
        threads = self._others.free(self._most)
        if threads != self._threads:
            self._threads = threads
            self._lib.llama_set_n_threads(self._pointer, threads, threads)

    def interrupt(self) -> None:
        """Leave the step in progress, within a millisecond: what asked for it has become old.

        Work that is not old is begun again at once. From any thread.
        """
        self._stop[0] = b"\x01"

    def prepare(self, messages: Sequence[Message], cancel: Cancel, *, words: bool = False) -> None:
        """Evaluate everything but the last message's words; ends early for a stream or a cancel.

        `words`: those as well, more are to come.
        """
        while self._busy() and not cancel.cancelled:
            self._streams.wait_idle(WAIT_SECONDS)
        if cancel.cancelled:
            return
        began = time.perf_counter()
        template = self._weights.template
        tokens = (template.begun if words else template.stable)(messages)[: self._size - 1]
        reused, evaluated = 0, 0
        while not cancel.cancelled:
            with self._lock:
                if self._busy():
                    break  # what is evaluated stays in the cache and serves the stream
                kept = self._keep(tokens, len(tokens))
                reused = reused if evaluated else kept
                if kept == len(tokens):
                    break
                evaluated += self._evaluate_chunk(tokens, cancel)
        self.stats = Stats(evaluated, reused, seconds=time.perf_counter() - began)

    def stream(
        self, messages: Sequence[Message], cancel: Cancel, *, max_tokens: int
    ) -> Iterator[str]:
        """Pieces of the answer, greedy, whole characters only. Raises ModelError."""
        self._newest += 1
        number = self._newest
        self._running = cancel
        self._streams.begin()
        try:
            yield from self._answer(messages, cancel, max_tokens, number)
        finally:
            if number == self._newest:
                self._running = None
            self._streams.end()

    def _busy(self) -> bool:
        """True while a stream wants the model; one that was cancelled no longer does."""
        running = self._running
        return running is not None and not running.cancelled

    def _answer(
        self, messages: Sequence[Message], cancel: Cancel, max_tokens: int, number: int
    ) -> Iterator[str]:
        began = time.perf_counter()
        tokens = self._fitting(messages, max_tokens)
        reused = self._keep(tokens, len(tokens) - 1)
        evaluated = generated = 0
        first = 0.0
        text = codecs.getincrementaldecoder("utf-8")("ignore")
        while not cancel.cancelled and generated < max_tokens:
            with self._lock:
                if number != self._newest:
                    break
                if len(self._known) < len(tokens):
                    evaluated += self._evaluate_chunk(tokens, cancel)
                    continue
                token = self._best_token()
                first = first or time.perf_counter() - began
                self._note(evaluated, reused, generated, first, began)
                if self._weights.ends(token):
                    break
            generated += 1
            if piece := text.decode(self._weights.piece(token)):
                yield piece
            tokens.append(token)
        self._note(evaluated, reused, generated, first, began)

    def _note(
        self, evaluated: int, reused: int, generated: int, first: float, began: float
    ) -> None:
        spent = time.perf_counter() - began
        self.stats = Stats(evaluated, reused, generated, first, spent)

    def _fitting(self, messages: Sequence[Message], max_tokens: int) -> list[int]:
        """The prompt's tokens; the oldest turns are left out when the context is too small."""
        messages = list(messages)
        while True:
            tokens = self._weights.template.tokens(messages)
            if len(tokens) + max_tokens <= self._size:
                return tokens
            turns = [i for i, m in enumerate(messages[:-1]) if m["role"] != "system"]
            if not turns:
                raise ModelError(
                    f"The prompt needs {len(tokens) + max_tokens} tokens but the context holds "
                    f"{self._size}; say less at once or raise llm.context."
                )
            for index in reversed(turns[:2]):
                del messages[index]

    def _keep(self, tokens: Sequence[int], most: int) -> int:
        """Drop from the cache what differs from the prompt; returns how many tokens stay."""
        with self._lock:
            self._alive()
            keep = min(common_prefix(self._known, tokens), most)
            shorter = keep < len(self._known)
            if shorter and not self._lib.llama_memory_seq_rm(self._memory, 0, keep, -1):
                self._lib.llama_memory_clear(self._memory, True)  # a model that cannot go back
                keep = 0
            del self._known[keep:]
            return keep

    def _evaluate_chunk(self, tokens: Sequence[int], cancel: Cancel) -> int:
        """Compute the next tokens that the cache does not hold; how many (0: interrupted)."""
        self._alive()
        self._budget()
        self._stop[0] = b"\x00"
        if cancel.cancelled:  # whoever cancels does so before interrupting
            return 0
        rest = tokens[len(self._known) :]
        chunk = rest if len(rest) <= self._chunk * REST else rest[: self._chunk]
        array = (self._lib.llama_token * len(chunk))(*chunk)
        code = self._lib.llama_decode(
            self._pointer, self._lib.llama_batch_get_one(array, len(chunk))
        )
        if code == INTERRUPTED:
            if not self._lib.llama_memory_seq_rm(self._memory, 0, len(self._known), -1):
                self._lib.llama_memory_clear(self._memory, True)
                self._known.clear()
            return 0
        if code != 0:
            self._lib.llama_memory_clear(self._memory, True)
            self._known.clear()
            raise ModelError(f"llama.cpp could not evaluate the prompt (code {code}).")
        self._known.extend(chunk)
        return len(chunk)

    def stable(self, messages: Sequence[Message]) -> list[int]:
        """The tokens that `prepare` would evaluate."""
        return self._weights.template.stable(messages)[: self._size - 1]

    def holds(self, tokens: Sequence[int]) -> bool:
        """True when all of these are already evaluated."""
        return common_prefix(self._known, tokens) == len(tokens)

    def save(self, path: Path) -> bool:
        """Write what is evaluated to a file, so that another start need not compute it."""
        with self._lock:
            self._alive()
            array = (self._lib.llama_token * len(self._known))(*self._known)
            where = str(path).encode()
            size = self._lib.llama_state_seq_save_file(self._pointer, where, 0, array, len(array))
            return bool(size)

    def load(self, path: Path, tokens: Sequence[int]) -> bool:
        """Take over what `save` wrote; False, and nothing known, when it is not these tokens."""
        with self._lock:
            self._alive()
            array = (self._lib.llama_token * self._size)()
            count = ctypes.c_size_t(0)
            self._lib.llama_memory_clear(self._memory, True)
            self._known.clear()
            size = self._lib.llama_state_seq_load_file(
                self._pointer, str(path).encode(), 0, array, self._size, ctypes.byref(count)
            )
            if size and list(array[: count.value]) == list(tokens):
                self._known.extend(tokens)
                return True
            self._lib.llama_memory_clear(self._memory, True)
            return False

    def _best_token(self) -> int:
        pointer = self._lib.llama_get_logits_ith(self._pointer, -1)
        count = self._lib.llama_vocab_n_tokens(self._weights.vocab)
        return int(np.argmax(np.ctypeslib.as_array(pointer, shape=(count,))))

    def _alive(self) -> None:
        if self._pointer is None:
            raise ModelError("The language model has been closed.")

    def close(self) -> None:
        """Free the KV cache; waits for the step in progress. Safe to call twice."""
        with self._lock:
            if self._pointer is not None:
                self._lib.llama_free(self._pointer)
                self._pointer = None
