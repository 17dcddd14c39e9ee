"""Known values found in a text: by their words, else by sound and spelling through mishearings.

English is compared by letters and by Metaphone keys, Chinese by syllables in which sounds that
recognition confuses (zh/z, ch/c, sh/s, n/l, ng/n, …) count as one. A short word that sounds like
one of the known ones is everywhere in running text, so what nobody had asked for has to be nearer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache

from assistant.mind.flows import Choice
from assistant.mind.slot_view import Candidate, View, words

_NEAR_SHORT = 0.62
_NEAR_WANTED = 0.75
_NEAR = 0.8
_MORE = 12
"""letters (half as many in Chinese) that an answer may have beside the value and still be short"""
_SHORT = 4
"""letters up to which an English phrase is never guessed at where it was not wanted"""

_BRIEF = 6
"""letters up to which a phrase has to sound the same where it was not wanted ("tone", "toner")"""

Phrases = tuple[tuple[str, str], ...]
"""(phrase, value), longest phrase first"""


def read_choices(view: View, known: Sequence[Choice], wanted: bool) -> Iterator[Candidate]:
    """Every known value, exact ones with 1.0; near ones only where no exact one is."""
    phrases = _phrases(tuple(known), view.language)
    exact = list(_exact(view, phrases))
    yield from exact
    if exact:
        return
    near = _near_chinese if view.language == "zh" else _near_english
    yield from near(view, phrases, wanted)
    if view.language == "zh":
        latin = tuple(item for item in phrases if item[0].isascii())
        yield from _near_english(view, latin, wanted)


@lru_cache(maxsize=64)
def _cached(items: tuple[tuple[str, tuple[str, ...]], ...]) -> Phrases:
    found = [(_clean(word), value) for value, said in items for word in (value, *said)]
    return tuple(sorted(dict.fromkeys(f for f in found if f[0]), key=lambda f: -len(f[0])))


def _phrases(known: tuple[Choice, ...], language: str) -> Phrases:
    """How every value is said, in the language spoken and in the others."""
    return _cached(
        tuple((c.value, tuple(word for said in c.words.values() for word in said)) for c in known)
    )


@cache
def _clean(word: str) -> str:
    return re.sub(r"[\s_]+", " ", word.lower()).strip()


def _exact(view: View, phrases: Phrases) -> Iterator[Candidate]:
    taken: list[tuple[int, int]] = []
    for phrase, value in phrases:
        if phrase[:3] not in view.plain:
            continue
        for match in _pattern(phrase).finditer(view.plain):
            if not any(s < match.end() and match.start() < e for s, e in taken):
                taken.append(match.span())
                yield Candidate(value, *match.span())


@lru_cache(maxsize=2048)
def _pattern(phrase: str) -> re.Pattern[str]:
    """The phrase as whole words, "pen" for "pens" and the reverse included."""
    body = re.escape(phrase).replace(r"\ ", r"[\s-]+").replace(r"\-", r"[\s-]?")
    if not phrase.isascii():
        return re.compile(body)
    plural = "(?:e?s)?" if len(phrase) > 2 and phrase[-1].isalpha() else ""
    if plural and phrase.endswith("s") and len(phrase) > _SHORT - 1:
        body, plural = body[:-1], "s?"
    return re.compile(rf"(?<![a-z\d]){body}{plural}(?![a-z\d])")


# ── English ──

_WORD = re.compile(r"[a-z\d]+(?:'[a-z]+)*")


def _near_english(view: View, phrases: Phrases, wanted: bool) -> Iterator[Candidate]:
    from rapidfuzz.fuzz import ratio
    from rapidfuzz.process import extract

    for phrase, value in phrases:
        squashed = _squashed(phrase)
        if len(squashed) < 3 or (not wanted and len(squashed) <= _SHORT):
            continue
        joined, spans = _windows(view, phrase.count(" ") + 1)
        least = _least(wanted, len(view.plain), len(phrase) + _MORE)
        cutoff = max(50.0, 200 * least - 100)
        key = sound(squashed)
        for said, letters, at in extract(
            squashed, joined, scorer=ratio, score_cutoff=cutoff, limit=8
        ):
            heard = sound(said)
            if not wanted and len(squashed) <= _BRIEF and heard != key:
                continue
            score = (letters + ratio(heard, key)) / 200
            if not _same_start(said, squashed):
                score -= 0.1
            if score >= least:
                yield Candidate(value, *spans[at], score)


def _least(wanted: bool, length: int, short: int) -> float:
    """How near a phrase has to be, in a text of some length, to be found in it."""
    if not wanted:
        return _NEAR
    return _NEAR_SHORT if length <= short else _NEAR_WANTED


@lru_cache(maxsize=4096)
def _squashed(phrase: str) -> str:
    """Its letters, "" for what is not written in Latin letters alone."""
    letters = phrase.replace(" ", "").replace("-", "")
    return letters if letters.isascii() and letters.isalpha() else ""


@lru_cache(maxsize=256)
def _windows(view: View, count: int) -> tuple[tuple[str, ...], tuple[tuple[int, int], ...]]:
    """Neighbouring words written together, one word fewer to one more than a phrase has."""
    tokens = [(m.group().replace("'", ""), m.start(), m.end()) for m in _WORD.finditer(view.plain)]
    joined, spans = [], []
    for size in range(max(1, count - 1), count + 2):
        for at in range(len(tokens) - size + 1):
            part = tokens[at : at + size]
            joined.append("".join(token[0] for token in part))
            spans.append((part[0][1], part[-1][2]))
    return tuple(joined), tuple(spans)


def _same_start(one: str, other: str) -> bool:
    return one[0] == other[0] or sound(one)[:1] == sound(other)[:1]


@lru_cache(maxsize=8192)
def sound(word: str) -> str:
    """The Metaphone key of a word."""
    import jellyfish

    return jellyfish.metaphone(word)


# ── Chinese ──


def _near_chinese(view: View, phrases: Phrases, wanted: bool) -> Iterator[Candidate]:
    said = _syllables(view.plain)
    heard = frozenset(said)
    for phrase, value in phrases:
        least = _least(wanted, len(view.plain), len(phrase) + _MORE // 2)
        if phrase.isascii() or len(phrase) < 2:
            continue
        wished = _syllables(phrase)
        if heard.isdisjoint(wished):
            continue
        size = len(phrase)
        for at in range(len(said) - size + 1):
            window = said[at : at + size]
            sounds = sum(map(_alike, window, wished)) / size
            if sounds < least:
                continue
            same = sum(map(str.__eq__, view.plain[at : at + size], phrase)) / size
            score = 0.75 * sounds + 0.25 * same if same or sounds > 0.95 else 0.0
            if wanted:
                score = max(score, 0.9 * sounds)
            if score >= least:
                yield Candidate(value, at, at + size, min(score, 0.99))


@lru_cache(maxsize=4096)
def _syllables(text: str) -> tuple[str, ...]:
    return tuple(map(syllable, text))


@lru_cache(maxsize=8192)
def syllable(char: str) -> str:
    """A Chinese character → how it sounds, near sounds made one; others as they are."""
    if not "\u4e00" <= char <= "\u9fff":
        return char
    from pypinyin import Style, pinyin

    sounds = pinyin(char, style=Style.NORMAL)[0][0]
    return _near_key(sounds)


def _near_key(sounds: str) -> str:
    table: Mapping[str, str] = words("near")
    for said, key in table.items():
        if sounds.startswith(said):
            sounds = key + sounds[len(said) :]
            break
    if sounds.endswith("ng"):
        sounds = sounds[:-1]
    return "l" + sounds[1:] if sounds.startswith("n") and len(sounds) > 1 else sounds


@lru_cache(maxsize=16384)
def _alike(one: str, other: str) -> float:
    """0 to 1: how much two syllables sound alike."""
    if one == other:
        return 1.0
    from rapidfuzz.fuzz import ratio

    likeness = ratio(one, other) / 100
    return likeness if one[:1] == other[:1] or likeness > 0.79 else likeness * 0.8
