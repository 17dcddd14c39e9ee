"""What it helps, and harms, to tell the recognition which words are expected.

Sentences with codes, unusual names and items are spoken by the installed voice, clean and in noise;
each is recognised knowing nothing, expecting eight or so words of which one is right, and expecting
wrong ones only. A word that is easily mistaken for the right one is always among them. The voice
never says a sentence twice the same way: figures vary by a few percent between runs.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from assistant.asr import Whisper
from assistant.audio import files
from assistant.bench.asr import Emit, error_rate
from assistant.config import Config
from assistant.errors import AudioFormatError, InputError
from assistant.events import Audio
from assistant.expected import holds, place, spans
from assistant.tts import PiperEngine, PiperVoices
from assistant.weights import find

HERE = Path(__file__).resolve().parent
EXPECTED = 8
"""words expected at a time"""
WAYS = ("without", "with", "wrong_words")
CLEAN = ((1.0, None), (1.2, None))
NOISY = ((0.9, 15.0), (1.1, 10.0))
"""(speed, signal to noise in dB): every sentence is spoken in one clean and one noisy way"""
AROUND = 0.3
"""seconds of silence before and after, as the endpoint leaves them"""
SPOKEN = ("commands", "en_digits", "en_nonnative")
"""folders of recordings whose words are known; the longest word is the one to be recovered"""


@dataclass(frozen=True, slots=True)
class Item:
    """One sound, and what to look for in it."""

    group: str
    """ "code", "name", "item", or a folder of recordings"""
    words: str
    """all that is said, "" when only the values are known"""
    values: tuple[str, ...]
    right: tuple[str, ...]
    """words to expect, the values among them"""
    wrong: tuple[str, ...]
    """words to expect, none of which is said"""
    sound: Callable[[], Audio]


@dataclass(frozen=True, slots=True)
class Heard:
    """An item recognised in every way."""

    item: Item
    texts: dict[str, str]
    """way → text"""
    seconds: dict[str, float]

    def found(self, way: str) -> int:
        """Values recovered."""
        return sum(holds(self.texts[way], value) for value in self.item.values)

    @property
    def put_in(self) -> list[str]:
        """Wrong words that are heard only because they were expected."""
        plain, told = self.texts["without"], self.texts["wrong_words"]
        return [word for word in self.item.wrong if holds(told, word) and not holds(plain, word)]


def sentences() -> list[dict[str, str]]:
    """kind, value, near (what it may be taken for), spoken (how the value is said), text."""
    lines = (HERE / "asr_words.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines if line.strip()]


def _choose(
    values: Sequence[str], others: Sequence[str], near: Sequence[str], seed: str
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Words to expect: with the values among them, and without."""
    chance = random.Random(seed)
    said = " ".join(values)
    pool = sorted({word for word in others if not holds(said, word) and word not in near})
    chance.shuffle(pool)
    right = [*values, *near, *pool][: max(EXPECTED, len(values) + len(near))]
    wrong = [*near, *pool][:EXPECTED]
    chance.shuffle(right)
    chance.shuffle(wrong)
    return tuple(right), tuple(wrong)


def synthesised(config: Config) -> Iterator[Item]:
    """Every sentence, clean and in noise."""
    engine = PiperEngine(find(config.tts.en, "tts"), config.tts.device)
    rows = sentences()
    for number, row in enumerate(rows):
        others = [other["value"] for other in rows if other["kind"] == row["kind"]]
        right, wrong = _choose((row["value"],), others, (row["near"],), row["value"])
        for speed, noise in (CLEAN[number % 2], NOISY[number // 2 % 2]):
            yield Item(
                row["kind"],
                row["text"].format(row["value"]),
                (row["value"],),
                right,
                wrong,
                speaker(engine, row["text"].format(row["spoken"]), speed, noise, number),
            )


def speaker(
    engine: PiperEngine, text: str, speed: float, noise: float | None, seed: int
) -> Callable[[], Audio]:
    """Says the text when it is called, at a speed, in noise of so many dB (see `noisy`)."""

    def speak() -> Audio:
        parts = list(PiperVoices({"en": engine}, speed).synthesize(text, "en"))
        whole = Audio(np.concatenate([part.samples for part in parts]), parts[0].rate)
        return noisy(files.resample(whole, files.RATE), noise, seed)

    return speak


def noisy(audio: Audio, ratio: float | None, seed: int) -> Audio:
    """With silence around it, and white noise `ratio` dB below the speech."""
    level = float(np.sqrt(np.square(audio.samples).mean()))
    samples = np.pad(audio.samples, round(AROUND * audio.rate))
    if ratio is not None:
        noise = np.random.default_rng(seed).normal(0, level * 10 ** (-ratio / 20), len(samples))
        samples = samples + noise.astype(np.float32)
    return Audio(samples.astype(np.float32), audio.rate)


def recorded(folder: Path) -> list[Item]:
    """Recordings with known slots or words. Raises InputError without a usable manifest."""
    manifest = folder / "manifest.jsonl"
    known: dict[str, list[tuple[Path, str, tuple[str, ...]]]] = {}
    try:
        for line in manifest.read_text("utf-8").splitlines():
            if values := _values(entry := json.loads(line)):
                rows = known.setdefault(entry["file"].split("/")[0], [])
                rows.append((folder / entry["file"], entry["transcript"] or "", values))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"{manifest} cannot be used ({error!r}). Name a folder with a manifest.jsonl whose "
            'lines hold "file" and "transcript".'
        ) from error
    if not known:
        raise InputError(f"{manifest} names no recordings with slots, nor in {', '.join(SPOKEN)}.")
    items = []
    for name, rows in known.items():
        for path, words, values in rows:
            others = [value for _, _, more in rows for value in more if not holds(words, value)]
            right, wrong = _choose(values, others, (), path.name)
            items.append(Item(name, words, values, right, wrong, _reader(path)))
    return items


def _reader(path: Path) -> Callable[[], Audio]:
    return lambda: files.resample(files.read(path), files.RATE)


def _values(entry: dict[str, Any]) -> tuple[str, ...]:
    if entry.get("intent"):
        return tuple(str(value) for value in entry["intent"]["slots"].values())
    if entry["file"].split("/")[0] in SPOKEN and entry["transcript"]:
        return (max(entry["transcript"].lower().split(), key=len),)
    return ()


def recognise(whisper: Whisper, item: Item, turn: int) -> Heard:
    """In every way; the order rotates, so that whatever else the machine does hits all."""
    audio = item.sound()
    expected = {"without": (), "with": item.right, "wrong_words": item.wrong}
    texts, seconds = {}, {}
    for way in (*WAYS[turn % len(WAYS) :], *WAYS[: turn % len(WAYS)]):
        whisper.expect(expected[way], asked=True)
        start = time.perf_counter()
        texts[way] = whisper.transcribe(audio).text
        seconds[way] = time.perf_counter() - start
    whisper.expect(())
    return Heard(item, texts, seconds)


def _written(text: str, values: Sequence[str]) -> str:
    """With the values written as one word, so that "A 302" is no word error."""
    tokens = spans(text)
    for value in values:
        if found := place(value, tokens):
            tokens[found[0] : found[1]] = ["".join(spans(value))]
    return " ".join(tokens)


def figures(results: Sequence[Heard]) -> dict[str, Any]:
    """Accuracy and word errors in percent; time with expected words over time without."""
    total = sum(len(heard.item.values) for heard in results)
    spoken = [heard for heard in results if heard.item.words]
    row: dict[str, Any] = {"sounds": len(results), "values": total}
    for way in WAYS:
        found = sum(heard.found(way) for heard in results)
        row[f"value_accuracy_{way}"] = round(100 * found / total, 1) if total else None
    for way in WAYS:
        pairs = [
            (_written(h.item.words, h.item.values), _written(h.texts[way], h.item.values))
            for h in spoken
        ]
        row[f"wer_{way}"] = error_rate(pairs, "en") if pairs else None
    row["wrong_words_put_in"] = sum(bool(heard.put_in) for heard in results)
    plain = sum(heard.seconds["without"] for heard in results)
    told = sum(heard.seconds["with"] for heard in results)
    row["time_ratio"] = round(told / plain, 3) if plain else None
    return row


def summary(results: Sequence[Heard]) -> dict[str, Any]:
    """`figures` of all, and of each group."""
    groups = dict.fromkeys(heard.item.group for heard in results)
    return figures(results) | {
        "groups": {
            name: figures([heard for heard in results if heard.item.group == name])
            for name in groups
        }
    }


def report(
    config: Config, emit: Emit, *, folder: Path | None = None, as_json: bool = False
) -> None:
    """Measure, and print the figures; with --json one object a sound as well."""
    recordings = recorded(folder) if folder is not None else []
    asr = replace(config.asr, hotwords=True)
    whisper = Whisper.load(asr, find(asr.model, "asr"))
    whisper.warm_up()
    made = _measure(whisper, synthesised(config), emit)
    row = {"model": asr.model, **summary(made)}
    if recordings:
        row["recordings"] = summary(_measure(whisper, recordings, emit))
    emit(row, None if as_json else _table(row))


def _measure(whisper: Whisper, items: Iterator[Item] | Sequence[Item], emit: Emit) -> list[Heard]:
    results = []
    for turn, item in enumerate(items):
        try:
            heard = recognise(whisper, item, turn)
        except AudioFormatError as error:
            emit({"unreadable": str(error)}, None)
            continue
        results.append(heard)
        line = {"group": item.group, "values": item.values, "put_in": heard.put_in}
        emit({**line, **{way: heard.texts[way] for way in WAYS}}, None)
    return results


def _table(row: dict[str, Any]) -> str:
    lines = [
        f"{row['model']}; values recovered and word errors in percent",
        f"{'':<18}{'values':>7}{'without':>9}{'with':>7}{'wrong':>7}{'put in':>8}"
        f"{'WER':>7}{'with':>7}{'wrong':>7}{'time':>7}",
    ]
    for part in (row, row.get("recordings")):
        if part:
            for name, group in {**part["groups"], "all": part}.items():
                lines.append(_row(name, group))
    return "\n".join(lines)


def _row(name: str, group: dict[str, Any]) -> str:
    accuracy = [group[f"value_accuracy_{way}"] for way in WAYS]
    wer = ["-" if group[f"wer_{way}"] is None else group[f"wer_{way}"] for way in WAYS]
    return (
        f"{name:<18}{group['values']:>7}{accuracy[0]:>9}{accuracy[1]:>7}{accuracy[2]:>7}"
        f"{group['wrong_words_put_in']:>8}{wer[0]:>7}{wer[1]:>7}{wer[2]:>7}"
        f"{group['time_ratio']:>7}"
    )
