"""multilingual-e5-small from one 4-bit file, read and run with numpy: for Chinese and the rest.

The file (magic E5S1, little-endian): sizes, a Unigram vocabulary with a map of characters, a
directory of tensors; matrices as rows of 32-weight blocks, a float16 scale and 16 bytes of nibbles
each. It knows nothing of indexes and languages.
"""

from __future__ import annotations

import math
import struct
import unicodedata
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assistant.errors import ModelError
from assistant.memory.floats import Floats, one_core

MAGIC = b"E5S1"
HEADER = struct.Struct("<4sI7ifi")
"""magic, version, width, layers, heads, inner, vocabulary, positions, types, epsilon, block"""
WORDS = struct.Struct("<5iQ")
"""pieces, beginning, end, padding, unknown, bytes of text"""
TENSOR = struct.Struct("<BIQQ")
"""0 float32 or 1 blocks, how many numbers, where, how many bytes"""
BLOCK = np.dtype([("scale", "<f2"), ("nibbles", "u1", 16)])
MAX_TOKENS = 160
"""A note or a turn is shorter; more would only cost time."""
BATCH = 8
"""texts a pass: keeps the activations small"""


class MultilingualE5:
    """Texts to unit vectors of 384 numbers. Made for a background thread."""

    name = "multilingual-e5-small"
    gap = 0.07
    """Chinese questions: .83 with any Chinese text, .75 with any English one; a little less."""

    def __init__(self, path: Path) -> None:
        """Raises ModelError when the file is missing or not of this kind."""
        try:
            data: Any = np.memmap(path, np.uint8, "r")
            head = HEADER.unpack_from(data, 0)
            if head[0] != MAGIC or head[-1] != 32:
                raise ValueError("unknown format")
            self._width, self._layers, self._heads = head[2:5]
            self._epsilon = head[9]
            self._vocabulary, place = _read_words(data, HEADER.size)
            self._tensors = _read_tensors(data, place, self._width)
            self._words = self._tensors.pop("emb.word")
        except (OSError, ValueError, KeyError, IndexError, struct.error) as error:
            raise ModelError(
                f"{path} cannot be loaded as the multilingual text encoder ({error}). "
                "Run: run.py models verify"
            ) from error

    def passages(self, texts: Sequence[str]) -> Floats:
        """One row for each text that may be found."""
        return self._encode([f"passage: {text}" for text in texts])

    def query(self, text: str) -> Floats:
        """The vector of a question; its products with the rows of `passages` are cosines."""
        return np.asarray(self._encode([f"query: {text}"])[0])

    def _encode(self, texts: Sequence[str]) -> Floats:
        tokens = [self._vocabulary.ids(text) for text in texts]
        result = np.zeros((len(texts), self._width), np.float32)
        for start in range(0, len(texts), BATCH):
            part = tokens[start : start + BATCH]
            with one_core():
                hidden = self._forward(part)
            ends = np.cumsum([len(ids) for ids in part])
            pooled = [rows.mean(0) for rows in np.split(hidden, ends[:-1])]
            result[start : start + BATCH] = np.stack(pooled)
        norms = np.linalg.norm(result, axis=1, keepdims=True)
        return np.asarray(result / np.maximum(norms, 1e-12), np.float32)

    def _forward(self, texts: Sequence[Sequence[int]]) -> Floats:
        """Hidden states of the texts' tokens, one text after the other."""
        ids = np.concatenate([np.asarray(text) for text in texts])
        places = np.concatenate([np.arange(len(text)) for text in texts])
        tensors = self._tensors
        x = _dequantized(self._words[ids]).reshape(len(ids), self._width)
        x = x + tensors["emb.pos"].reshape(-1, self._width)[places]
        x = x + tensors["emb.type"][: self._width]
        x = self._norm(x, "emb.ln")
        ends = np.cumsum([len(text) for text in texts])
        for number in range(self._layers):
            layer = f"l{number}."
            mixed = self._attend(x, layer, ends)
            x = self._norm(x + self._linear(mixed, layer + "ao"), layer + "aln")
            inner = _gelu(self._linear(x, layer + "fi"))
            x = self._norm(x + self._linear(inner, layer + "fo"), layer + "oln")
        return x

    def _attend(self, x: Floats, layer: str, ends: NDArray[Any]) -> Floats:
        """Every text attends to itself only."""
        size = self._width // self._heads
        query, key, value = (
            self._linear(x, layer + part).reshape(-1, self._heads, size).transpose(1, 0, 2)
            for part in ("q", "k", "v")
        )
        result = np.empty_like(x)
        start = 0
        for end in ends:
            own = slice(start, end)
            scores = query[:, own] @ key[:, own].transpose(0, 2, 1) / np.sqrt(np.float32(size))
            scores = np.exp(scores - scores.max(-1, keepdims=True))
            scores /= scores.sum(-1, keepdims=True)
            result[own] = (scores @ value[:, own]).transpose(1, 0, 2).reshape(end - start, -1)
            start = end
        return result

    def _linear(self, x: Floats, name: str) -> Floats:
        return np.asarray(x @ self._tensors[name + ".w"].T + self._tensors[name + ".b"])

    def _norm(self, x: Floats, name: str) -> Floats:
        centred = x - x.mean(-1, keepdims=True)
        spread = np.sqrt((centred * centred).mean(-1, keepdims=True) + self._epsilon)
        return np.asarray(
            centred / spread * self._tensors[name + ".w"] + self._tensors[name + ".b"]
        )


class Unigram:
    """Cuts a text into the most probable pieces of a vocabulary.

    Ours, because the tokenizers library takes 260 MB for these 250,000 pieces and this takes 40.
    """

    def __init__(
        self, pieces: Sequence[str], scores: Sequence[float], begin: int, end: int, unknown: int
    ) -> None:
        special = {begin, end, unknown}
        self._ids = {piece: n for n, piece in enumerate(pieces) if piece and n not in special}
        self._scores = scores
        self._longest = max(map(len, pieces))
        self._begin, self._end, self._unknown = begin, end, unknown
        self._penalty = min(scores) - 10.0

    def ids(self, text: str) -> list[int]:
        """Numbers of the pieces between the marks of beginning and end, at most MAX_TOKENS."""
        clean = " ".join(unicodedata.normalize("NFKC", text).split())
        found = self._best(("▁" + clean.replace(" ", "▁"))[: MAX_TOKENS * 8])
        return [self._begin, *found[: MAX_TOKENS - 2], self._end]

    def _best(self, text: str) -> list[int]:
        size = len(text)
        best = [0.0] + [-math.inf] * size
        back = [(0, 0)] * (size + 1)
        for start in range(size):
            base = best[start]
            for end in range(start + 1, min(size, start + self._longest) + 1):
                piece = self._ids.get(text[start:end])
                if piece is None:
                    if end > start + 1:
                        continue
                    piece, score = self._unknown, base + self._penalty
                else:
                    score = base + self._scores[piece]
                if score > best[end]:
                    best[end], back[end] = score, (start, piece)
        found = []
        while size:
            size, piece = back[size]
            found.append(piece)
        return found[::-1]


def _read_words(data: Any, place: int) -> tuple[Unigram, int]:
    """The vocabulary, and where the directory of tensors begins."""
    count, begin, end, _, unknown, length = WORDS.unpack_from(data, place)
    place += WORDS.size
    ends = np.frombuffer(data, "<u4", count + 1, place)
    scores = np.frombuffer(data, "<f4", count, place + ends.nbytes)
    place += ends.nbytes + scores.nbytes
    text = bytes(data[place : place + length])
    spans = zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)
    pieces = [text[first:last].decode() for first, last in spans]
    # The map of characters that follows is NFKC written out; Python has that.
    _, characters = struct.unpack_from("<iI", data, place + length)
    return Unigram(pieces, array("f", scores), begin, end, unknown), place + length + 8 + characters


def _read_tensors(data: Any, place: int, width: int) -> dict[str, Any]:
    """Every tensor by name; matrices as float32, the word vectors still as rows of blocks."""
    (count,) = struct.unpack_from("<i", data, place)
    place += 4
    tensors: dict[str, Any] = {}
    for _ in range(count):
        (length,) = struct.unpack_from("<H", data, place)
        name = bytes(data[place + 2 : place + 2 + length]).decode()
        kind, numbers, offset, size = TENSOR.unpack_from(data, place + 2 + length)
        place += 2 + length + TENSOR.size
        if kind == 0:
            tensors[name] = np.frombuffer(data, "<f4", numbers, offset)
            continue
        blocks = np.frombuffer(data, BLOCK, size // BLOCK.itemsize, offset)
        # A layer's matrices have as many columns as its inputs; only "fo" takes the inner width.
        columns = 4 * width if name.endswith(".fo.w") else width
        blocks = blocks.reshape(-1, columns // 32)
        tensors[name] = blocks if name == "emb.word" else _dequantized(blocks).reshape(-1, columns)
    return tensors


def _dequantized(blocks: NDArray[Any]) -> Floats:
    """Blocks [..., n] to float32 [..., n, 32]: the low nibbles are the first half of each."""
    nibbles = blocks["nibbles"]
    values = np.concatenate([nibbles & 15, nibbles >> 4], axis=-1).astype(np.float32) - 8
    return values * blocks["scale"].astype(np.float32)[..., None]


def _gelu(x: Floats) -> Floats:
    """x · Φ(x) with the error function by a rational approximation (7 digits)."""
    z = np.abs(x) * np.float32(0.70710678)
    t = 1 / (1 + np.float32(0.3275911) * z)
    series = t * (
        0.254829592
        + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * np.float32(1.061405429))))
    )
    return np.asarray(0.5 * x * (1 + np.sign(x) * (1 - series * np.exp(-z * z))), np.float32)
