"""A text as the slot readers see it: one plain form, and one with number words as digits.

Both keep the way back to the text as it was said. Knows numbers; knows nothing of slots.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from assistant.mind.texts import prompts


@dataclass(frozen=True, slots=True)
class Candidate:
    """A value that a reader sees in a view."""

    value: str
    start: int
    """in View.text"""
    end: int
    sure: float = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """One text three times. Compared by identity, so that what was read of it can be kept."""

    text: str
    plain: str
    """as long as text: lower case, half-width"""
    digits: str
    """plain with number words as digits: "half past 2" """
    starts: tuple[int, ...]
    """for each character of digits: where its source begins in text"""
    ends: tuple[int, ...]
    language: str

    def span(self, start: int, end: int) -> tuple[int, int]:
        """A span of digits, not empty → the span of text it stands for."""
        while start < end - 1 and self.digits[start].isspace():
            start += 1
        while end - 1 > start and self.digits[end - 1].isspace():
            end -= 1
        return self.starts[start], self.ends[end - 1]

    def candidate(
        self, value: str, match: re.Match[str], sure: float = 1.0, group: int | str = 0
    ) -> Candidate:
        """What a match in digits stands for."""
        return Candidate(value, *self.span(*match.span(group)), sure)


@cache
def words(language: str) -> dict[str, Any]:
    """The word lists of a language, English for one that has none."""
    tables = prompts("slots")
    found: dict[str, Any] = tables.get(language) or tables["en"]
    return found


@cache
def either(language: str, *names: str) -> str:
    """The alternatives of some lists as one group, longest first."""
    found = [word for name in names for word in words(language)[name]]
    return "(?:" + "|".join(sorted(found, key=len, reverse=True)) + ")" if found else "(?:(?!))"


def view(text: str, language: str) -> View:
    """Both forms of a text; the last few are kept, as six slots read the same words."""
    return _view(text, language if language in prompts("slots") else "en")


@lru_cache(maxsize=64)
def _view(text: str, language: str) -> View:
    plain = "".join(map(_plain, text))
    digits: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    at = 0
    for start, end, number in (*_numbers(plain, language), (len(plain), len(plain), "")):
        digits.extend(plain[at:start])
        starts.extend(range(at, start))
        ends.extend(range(at + 1, start + 1))
        digits.extend(number)
        starts.extend([start] * len(number))
        ends.extend([end] * len(number))
        at = end
    return View(text, plain, "".join(digits), tuple(starts), tuple(ends), language)


_SAME = str.maketrans("，。：；？！（）、～—–−‐‑’‘“”＄￥　", ",.:;?!(),~-----''\"\"$¥ ")


@lru_cache(maxsize=4096)
def _plain(char: str) -> str:
    if "！" <= char <= "～":
        char = chr(ord(char) - 0xFEE0)
    lower = char.translate(_SAME).lower()
    return lower if len(lower) == 1 else char


def _numbers(plain: str, language: str) -> Iterator[tuple[int, int, str]]:
    """(start, end, digits) of each number word, in order, without overlap."""
    yield from _chinese(plain) if language == "zh" else _english(plain, language)


# ── English: text2num on the words, phrases that it does not know before it ──

_TOKEN = re.compile(r"[a-z]+(?:'[a-z]+)*|\d+(?:[.,:/]\d+)*|[^\s\w-]|-")

_ROUND = re.compile(r"(?:hundred|thousand|million)\b")


class _Word:
    """A token for text2num."""

    __slots__ = ("word",)

    def __init__(self, word: str) -> None:
        self.word = word

    def text(self) -> str:
        return self.word

    def text_lowercase(self) -> str:
        return self.word

    def nt_separated(self, previous: object) -> bool:
        return False

    def not_a_number_part(self) -> bool:
        return not self.word.isalpha() or self.word == "o"


@cache
def _phrases(language: str) -> re.Pattern[str]:
    return re.compile(r"\b(?:" + "|".join(words(language)["numbers"]) + r")\b")


@cache
def _phrase(found: str, language: str) -> str:
    for pattern, value in words(language)["numbers"].items():
        if re.fullmatch(pattern, found):
            return str(value)
    return found


def _english(plain: str, language: str) -> Iterator[tuple[int, int, str]]:
    from text_to_num import find_numbers

    tokens = [m for m in _TOKEN.finditer(plain) if not _joins(plain, m)]
    found = []
    for item in find_numbers([_Word(m.group()) for m in tokens], "en", 0.0):
        start, end = tokens[item.start].start(), tokens[item.end - 1].end()
        if item.is_ordinal and plain[start:end] == "second" and _counted(tokens, item.start):
            continue
        if item.start and tokens[item.start - 1].group() == "a" and plain[start] in "htm":
            start = tokens[item.start - 1].start() if _ROUND.match(plain, start) else start
        found.append((start, end, item.text))
    known = [(*m.span(), _phrase(m.group(), language)) for m in _phrases(language).finditer(plain)]
    found = [n for n in found if not any(n[0] < k[1] and k[0] < n[1] for k in known)]
    yield from sorted(found + known)


def _joins(plain: str, match: re.Match[str]) -> bool:
    """A hyphen between letters: "twenty-two"."""
    at = match.start()
    return (
        match.group() == "-" and plain[at - 1 : at].isalpha() and plain[at + 1 : at + 2].isalpha()
    )


def _counted(tokens: list[re.Match[str]], at: int) -> bool:
    """ "a second", "one second": no ordinal."""
    return at > 0 and tokens[at - 1].group() in ("a", "one", "per", "every", "each")


# ── Chinese: cn2an on runs of numerals ──

_DIGITS = "零〇一二两三四五六七八九幺"
_RUN = re.compile(
    rf"(?<=[周期拜])(?P<weekday>[一二三四五六])(?!十?[月号日])|[{_DIGITS}十百千万亿廿]+|\d+[万亿千百](?:[{_DIGITS}\d]+[千百十])*[{_DIGITS}]*"
)
_ABOUT = re.compile(r"一两|两三|三四|四五|五六|六七|七八|八九|十几")
_VALUES = {char: str(number) for number, char in enumerate("零一二三四五六七八九")} | {
    **{"〇": "0", "两": "2", "幺": "1"}
}


def _chinese(plain: str) -> Iterator[tuple[int, int, str]]:
    for match in _RUN.finditer(plain):
        fraction = plain[: match.start()].endswith("点")
        number = "" if match["weekday"] else _numeral(match.group(), fraction)
        if number:
            yield *match.span(), number


@lru_cache(maxsize=1024)
def _numeral(run: str, fraction: bool) -> str:
    """ "一百二" → "120", "三零二" → "302", "" for what is no number or only about one ("三四")."""
    if all(char in _VALUES for char in run):
        return (
            "" if _ABOUT.fullmatch(run) and not fraction else "".join(_VALUES[char] for char in run)
        )
    if run[0] in "百千万亿" or run.startswith("幺"):
        return ""
    import cn2an

    try:
        value = cn2an.cn2an(run.replace("〇", "零"), "smart")
    except ValueError:
        return ""
    return f"{value:.0f}"
