"""The engines of retrieval: texts to vectors, and a second look at what was found.

Missing weights are no error: whoever asks is told once, in a log line, and gets None. They know
nothing of the index. Everything here is for a background thread, never for the answer path.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np

from assistant.errors import AssistantError, ModelError
from assistant.memory.floats import Floats
from assistant.workers import Lock

log = logging.getLogger(__name__)

T = TypeVar("T")
Find = Callable[[str, str], Path]
"""where the weights of a name and kind are"""

ENGLISH = "memory-en"
MULTILINGUAL = "memory-multilingual"
"""folders under models/"""
MAX_TOKENS = 160


class TextEncoder(Protocol):
    """Texts to unit vectors (float32, one row a text): their products are cosines."""

    @property
    def name(self) -> str:
        """Whose vectors these are: those of different encoders cannot be compared."""
        ...

    @property
    def gap(self) -> float:
        """By how much the cosines of two texts in different languages are too low."""
        ...

    def passages(self, texts: Sequence[str]) -> Floats: ...

    def query(self, text: str) -> Floats: ...


class Reranker(Protocol):
    """Reads question and text together."""

    def scores(self, question: str, texts: Sequence[str]) -> Floats:
        """One number a text, higher is better; not comparable between questions."""
        ...


class _Network:
    """A BERT in ONNX with its tokenizer.json next to it."""

    def __init__(self, path: Path, threads: int) -> None:
        """Raises ModelError."""
        import onnxruntime
        from tokenizers import Tokenizer

        options = onnxruntime.SessionOptions()
        options.inter_op_num_threads = 1
        options.intra_op_num_threads = threads
        options.log_severity_level = 3
        # Idle threads that spin would take the processor from whoever is speaking.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        try:
            self._session: Any = onnxruntime.InferenceSession(
                str(path), options, providers=["CPUExecutionProvider"]
            )
            self._tokenizer: Any = Tokenizer.from_file(str(path.with_name("tokenizer.json")))
        except Exception as error:  # both libraries raise their own, bare Exceptions among them
            raise ModelError(
                f"{path} cannot be loaded ({error}). Run: run.py models verify"
            ) from error
        self._tokenizer.enable_truncation(MAX_TOKENS)
        self._tokenizer.no_padding()

    def run(self, items: Sequence[Any]) -> Floats:
        """The first output's row of each item: what stands at [CLS].

        One by one: padding costs a fifth more than batches save, and these networks scale their
        8-bit numbers by what is in the batch, so that a text's result would depend on its company.
        """
        names = ("input_ids", "attention_mask", "token_type_ids")
        rows = []
        for one in self._tokenizer.encode_batch(list(items)):
            inputs = np.array([[one.ids], [one.attention_mask], [one.type_ids]], np.int64)
            output = self._session.run(None, dict(zip(names, inputs, strict=True)))[0]
            rows.append(output.reshape(-1, output.shape[-1])[0])
        return np.asarray(rows, np.float32)


class BgeSmall:
    """bge-small-en-v1.5, int8: 384 numbers from the [CLS] token.

    Its instruction for questions is left out: on short ones it cost a point of recall.
    """

    name = "bge-small-en-v1.5"
    gap = 0.0

    def __init__(self, path: Path, threads: int = 1) -> None:
        """Raises ModelError."""
        self._network = _Network(path, threads)

    def passages(self, texts: Sequence[str]) -> Floats:
        if not texts:
            return np.zeros((0, 384), np.float32)
        rows = self._network.run(texts)
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        return np.asarray(rows / np.maximum(norms, 1e-12), np.float32)

    def query(self, text: str) -> Floats:
        return np.asarray(self.passages([text])[0])


class CrossEncoder:
    """ms-marco-MiniLM-L-12-v2, int8, English."""

    def __init__(self, path: Path, threads: int = 1) -> None:
        """Raises ModelError."""
        self._network = _Network(path, threads)

    def scores(self, question: str, texts: Sequence[str]) -> Floats:
        if not texts:
            return np.zeros(0, np.float32)
        return np.asarray(self._network.run([(question, text) for text in texts])[:, 0])


class Engines:
    """The three engines, each loaded when it is first wanted. Safe to share between threads."""

    def __init__(self, find: Find, threads: int = 1) -> None:
        """`find(name, kind)` says where weights are, or raises ModelError."""
        self._find = find
        self._threads = threads
        self._lock = Lock()
        self._loaded: dict[str, Any] = {}

    def encoder(self, language: str) -> TextEncoder | None:
        """For texts of a language ("en", "zh", …); None when its weights are not there."""
        if not language.lower().startswith("en"):
            return self._get("e5", MULTILINGUAL, _load_e5)
        return self._get("bge", ENGLISH, lambda at: BgeSmall(at / "encoder.onnx", self._threads))

    def reranker(self, language: str) -> Reranker | None:
        """There is one for English only."""
        if not language.lower().startswith("en"):
            return None
        return self._get(
            "reranker", ENGLISH, lambda at: CrossEncoder(at / "reranker.onnx", self._threads)
        )

    def _get(self, key: str, name: str, load: Callable[[Path], T]) -> T | None:
        with self._lock:
            if key not in self._loaded:
                self._loaded[key] = None
                try:
                    self._loaded[key] = load(self._find(name, "emb"))
                except AssistantError as error:
                    log.warning("memory is searched without %s: %s", key, error)
            engine: T | None = self._loaded[key]
            return engine


def _load_e5(folder: Path) -> TextEncoder:
    from assistant.memory.e5 import MultilingualE5

    return MultilingualE5(folder / "encoder.bin")
