"""Speech to text with Whisper on CTranslate2.

The encoder sees max(12 s, sound + 2 s) instead of the usual 30 s, which is most of the time of a
short utterance; a text that repeats itself is done again with all 30 s. With 12 s there are as few
errors as with 15 (120 recordings: .321, .326), with 10 s loops become common. Knows nothing of
turns: sound in, Transcript out.

Words that are expected are tried in a second decoding of what is encoded already. The first, which
knows nothing of them, alone says whether anybody spoke and in which language: with codes to expect
Whisper hears one in 27 of 40 noises. Its words are replaced only as expected.py allows.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from assistant.audio.files import RATE, resample
from assistant.config import AsrConfig
from assistant.cores import physical_cores
from assistant.errors import InputError, ModelError
from assistant.events import Audio, Samples, Transcript
from assistant.evidence import Evidence, most_tokens, once, why_refused
from assistant.expected import believed, prompt_tokens, tidied
from assistant.languages import candidates
from assistant.languages import words as in_words

log = logging.getLogger(__name__)

WINDOW = 12.0
"""seconds the encoder sees at least"""
MARGIN = 2.0
"""seconds of silence after the sound; without them the last word may be cut"""
GLIMPSE = 10.0
"""the same for words that are only a beginning: quicker, and a loop does no harm"""
FULL = 30.0
"""seconds the encoder was trained on"""
LONGEST = FULL - MARGIN
"""seconds taken in one go; longer sound is divided at its quietest place"""
SHORTEST = 0.1
"""seconds; nobody says a word in less"""
QUIETEST = 1e-4
"""peak below which there is no sound at all (-80 dB)"""
FRAMES_PER_SECOND = 100
REDO_BEAM = 5
SURE = -0.1
"""mean log-probability above which nothing was misheard: expected words are not tried"""
UNASKED = -0.4
"""the same, when the words are merely possible and nobody has asked for them"""
SLACK = 0.05
"""how much less likely, in mean log-probability, a text with an expected word may be"""
THREADS = 4
"""more threads than this gain nothing on short utterances"""


@dataclass(frozen=True, slots=True)
class _Heard:
    """What was decoded from one encoder window."""

    evidence: Evidence
    language: str
    encoded: Any
    """what the encoder made of it"""
    limit: int
    """most tokens that can be said in the time"""


class Whisper:
    """Implements stages.Recognizer. One call at a time."""

    def __init__(self, model: Any, config: AsrConfig) -> None:
        """`model`: a faster_whisper.WhisperModel."""
        from faster_whisper.tokenizer import Tokenizer
        from faster_whisper.transcribe import get_suppressed_tokens

        self._model = model
        self._config = config
        self._multilingual: bool = model.model.is_multilingual
        languages = set(model.supported_languages)
        self._languages: frozenset[str] = frozenset(languages)
        if config.language != "auto" and config.language not in languages:
            raise ModelError(_wrong_language(config, self._multilingual))
        tokenizer: Any = Tokenizer
        suppressed: Any = get_suppressed_tokens
        self._tokenizer: Callable[[str], Any] = lambda language: tokenizer(
            model.hf_tokenizer, self._multilingual, task="transcribe", language=language
        )
        self._suppress = suppressed(self._tokenizer("en"), [-1])
        self._expected: tuple[str, ...] = ()
        self._asked = False

    @classmethod
    def load(cls, config: AsrConfig, path: Path) -> Whisper:
        """Load the weights in a folder. Raises ModelError when they or the device are unusable."""
        if not (path / "tokenizer.json").is_file():
            # the engine would ask the network for it
            raise ModelError(f"{path / 'tokenizer.json'} is missing. Run: run.py models verify")
        device = _device(config)
        try:
            whisper = cls(_load(config, path, device), config)
            if device == "cuda":
                whisper.warm_up()  # missing CUDA libraries show when they are first used
            return whisper
        except (RuntimeError, ValueError, OSError) as error:
            if config.device != "auto" or device == "cpu":
                raise ModelError(
                    f"{path} cannot be loaded for recognition on {device} ({error}). "
                    "Run: run.py models verify, or set asr.device and asr.compute_type to auto."
                ) from error
            log.warning("recognition cannot use the GPU (%s); using the CPU", error)
            return cls(_load(config, path, "cpu"), config)

    @property
    def engine(self) -> Any:
        """The faster_whisper.WhisperModel, for measuring against its own way."""
        return self._model

    @property
    def fixed_language(self) -> str | None:
        """What the settings or the weights say; None when it is detected."""
        if not self._multilingual:
            return "en"
        return None if self._config.language == "auto" else self._config.language

    @property
    def languages(self) -> frozenset[str]:
        """ISO 639-1 codes this model understands."""
        return self._languages

    def warm_up(self) -> None:
        """Run once, so that the first utterance is as quick as the others."""
        noise = np.random.default_rng(0).normal(0, 0.01, RATE).astype(np.float32)
        self._recognise(noise, WINDOW, self._config.beam_size)

    def expect(self, words: Sequence[str], *, asked: bool = False) -> None:
        """Words likely to be said next, likeliest first; from any thread, until the next call.

        `asked`: somebody was asked for one of them.
        """
        self._asked = asked
        # one assignment of an immutable value: a call in progress keeps the ones it began with
        self._expected = tidied(words) if self._config.hotwords else ()

    def transcribe(self, audio: Audio, *, speech_share: float = 1.0) -> Transcript:
        """The words, or empty text and why. `speech_share` is what the speech detector found."""
        samples = resample(audio, RATE).samples
        if not np.isfinite(samples).all():
            raise InputError("The sound holds samples that are not numbers. Check its source.")
        if reason := self._why_not_even_tried(samples, speech_share):
            return Transcript("", self._default_language, 0.0, reason)
        expected = self._expected
        parts = [self._piece(piece, expected) for piece in divide(samples)]
        spoken = [part for part in parts if part.text]
        if len(parts) == 1 or not spoken:
            return parts[0]
        language = max((part.language for part in spoken), key=_count(spoken))
        return Transcript(
            ("" if language == "zh" else " ").join(part.text for part in spoken),
            language,
            sum(part.confidence for part in spoken) / len(spoken),
            redone=any(part.redone for part in parts),
        )

    def glimpse(self, audio: Audio) -> Transcript:
        """The words so far of somebody who speaks on, roughly: greedy, in a smaller window."""
        samples = resample(audio, RATE).samples
        if len(samples) > LONGEST * RATE or self._why_not_even_tried(samples, 1.0):
            return Transcript("", self._default_language, 0.0, "not tried")
        heard = self._recognise(samples, max(GLIMPSE, len(samples) / RATE + MARGIN), 1)
        evidence = heard.evidence
        text = "" if evidence.looping else evidence.text
        return Transcript(text, heard.language, math.exp(evidence.log_prob))

    @property
    def _default_language(self) -> str:
        return "en" if self._config.language == "auto" else self._config.language

    def _why_not_even_tried(self, samples: Samples, speech_share: float) -> str:
        if len(samples) < SHORTEST * RATE:
            return "too short"
        if float(np.abs(samples).max()) < QUIETEST:
            return "silence"
        if speech_share < self._config.min_speech_share:
            return "too little speech"
        return ""

    def _piece(self, samples: Samples, expected: tuple[str, ...]) -> Transcript:
        """At most LONGEST seconds."""
        window = max(WINDOW, len(samples) / RATE + MARGIN)
        heard = self._recognise(samples, window, self._config.beam_size)
        redone = heard.evidence.looping and window < FULL
        if redone:
            log.debug("repetition, again with the full window")
            heard = self._recognise(samples, FULL, REDO_BEAM)
        reason = why_refused(heard.evidence, self._config)
        if expected and not reason:
            heard = self._told(heard, expected)
        evidence = heard.evidence
        return Transcript(
            "" if reason else evidence.text,
            heard.language,
            math.exp(evidence.log_prob),
            reason,
            redone,
        )

    def _recognise(self, samples: Samples, window: float, beam: int) -> _Heard:
        """The best text of one encoder window of `window` seconds, among the likely languages."""
        model = self._model
        padded = np.pad(samples, (0, max(0, int(window * RATE) - len(samples))))
        features = model.feature_extractor(padded)[:, : int(window * FRAMES_PER_SECOND)]
        encoded = model.encode(features)
        limit = most_tokens(len(samples) / RATE)
        heard = [self._decode(encoded, name, beam, limit) for name in self._languages_of(encoded)]
        return max(heard, key=lambda item: item.evidence.log_prob - item.evidence.looping)

    def _told(self, heard: _Heard, words: tuple[str, ...]) -> _Heard:
        """Heard again with these words in mind, where that found one of them; else as it was."""
        plain = heard.evidence
        if plain.looping or plain.log_prob > (SURE if self._asked else UNASKED):
            return heard
        encode = self._tokenizer(heard.language).encode
        hints = prompt_tokens(words, heard.language, encode)
        if not hints:
            return heard
        beam = self._config.beam_size
        told = self._decode(heard.encoded, heard.language, beam, heard.limit, hints)
        found = told.evidence
        if found.looping or why_refused(found, self._config):
            return heard
        if found.log_prob < plain.log_prob - SLACK or not believed(plain.text, found.text, words):
            return heard
        return told

    def _decode(
        self, encoded: Any, language: str, beam: int, limit: int, hints: Sequence[int] = ()
    ) -> _Heard:
        tokenizer = self._tokenizer(language)
        prompt = [*tokenizer.sot_sequence, tokenizer.no_timestamps]
        if hints:
            prompt = [tokenizer.sot_prev, *hints, *prompt]
        result = self._model.model.generate(
            encoded,
            [prompt],
            beam_size=beam,
            max_length=min(self._model.max_length, len(prompt) + limit),
            return_scores=True,
            return_no_speech_prob=True,
            suppress_tokens=self._suppress,
        )[0]
        tokens = result.sequences_ids[0]
        # the score leaves the end token out of the count, as faster-whisper has it
        log_prob = result.scores[0] * len(tokens) / (len(tokens) + 1)
        kept = once(tokens)
        text = in_words(tokenizer.decode(kept), language)
        looping = len(tokens) >= limit or len(kept) < len(tokens)
        evidence = Evidence(text, looping, log_prob, result.no_speech_prob)
        log.debug("%s, %d characters, %.2f", language, len(evidence.text), evidence.log_prob)
        return _Heard(evidence, language, encoded, limit)

    def _languages_of(self, encoded: Any) -> tuple[str, ...]:
        if self.fixed_language:
            return (self.fixed_language,)
        found = self._model.model.detect_language(encoded)[0]
        return candidates({token[2:-2]: share for token, share in found})


def divide(samples: Samples) -> list[Samples]:
    """Pieces of at most LONGEST seconds, cut at the quietest 0.2 s of each second half."""
    pieces = []
    longest, hop = int(LONGEST * RATE), RATE // 50
    while len(samples) > longest:
        tail = samples[longest // 2 : longest]
        power = np.square(tail[: len(tail) // hop * hop]).reshape(-1, hop).mean(axis=1)
        smooth = np.convolve(power, np.ones(10), mode="valid")
        cut = longest // 2 + (int(smooth.argmin()) + 5) * hop
        pieces.append(samples[:cut])
        samples = samples[cut:]
    return [*pieces, samples]


def _count(parts: list[Transcript]) -> Any:
    return [part.language for part in parts].count


def _wrong_language(config: AsrConfig, multilingual: bool) -> str:
    if multilingual:
        return f'asr.language = "{config.language}" is not a language that {config.model} knows.'
    return (
        f'{config.model} understands English only: set asr.language to "en" or "auto", '
        "or asr.model to a multilingual one."
    )


def _device(config: AsrConfig) -> str:
    if config.device != "auto":
        return config.device
    import ctranslate2

    return "cuda" if ctranslate2.get_cuda_device_count() > 0 else "cpu"


def _load(config: AsrConfig, path: Path, device: str) -> Any:
    from faster_whisper import WhisperModel

    kind = config.compute_type
    if kind == "auto":
        kind = "int8" if device == "cpu" else "float16"
    return WhisperModel(
        str(path),
        device=device,
        compute_type=kind,
        cpu_threads=config.threads or min(physical_cores(), THREADS),
        local_files_only=True,
    )
