"""Written text into text that a voice reads right: no markup or emoji, numbers as they are said.

It knows nothing of voices. What differs between languages is data in speech/*.toml.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Callable
from datetime import date
from functools import cache, partial
from pathlib import Path
from typing import Any

SPEECH = Path(__file__).parent / "speech"

_HAN = r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_SCRIPTS = {
    "ja": r"[\u3040-\u30ff]",
    "ko": r"[\uac00-\ud7af\u1100-\u11ff]",
    "zh": rf"[{_HAN}]",
    "ru": r"[\u0400-\u04ff]+",
    "ar": r"[\u0600-\u06ff]+",
    "hi": r"[\u0900-\u097f]+",
    "th": r"[\u0e00-\u0e7f]+",
    "el": r"[\u0370-\u03ff]+",
    "he": r"[\u0590-\u05ff]+",
}
"""What one word (or, where words are not spaced, one character) of a language looks like."""
_LATIN_WORD = r"[A-Za-z\u00c0-\u024f]+(?:['’][A-Za-z]+)?"

_MARKUP = [
    (r"```.*?(?:```|$)", " "),  # a block of code is not read out
    (r"`([^`]*)`", r"\1"),
    (r"!?\[([^\]]*)\]\([^)]*\)", r"\1"),
    (r"<[/a-zA-Z][^>]*>", " "),
    (r"https?://(?:www\.)?([^\s/]+)[^\s,;!?)]*(?<![.])", r"\1"),
    (r"^\s{0,3}#{1,6}\s+", ""),
    (r"^\s*(?:[-*+•·▪◦]|>)\s+", ""),
    (r"^\s*[-*_=]{3,}\s*$", " "),
    (r"(?<=\d)\s*\*\s*(?=\d)", " × "),
    (r"\*+|_{2,}|~~", ""),
    (r"(?<!\w)_|_(?!\w)", ""),
    (r"_", " "),
]
_PUNCTUATION = [
    (r"[“”„«»]", '"'),
    (r"[‘’]", "'"),
    (r"\s+[–—-]+\s+|—", ", "),
    (r"(?:\.{2,}|…)(?=\s*\w)", ", "),
    (r"\.{2,}|…", "."),
    (r"([!?])[!?]+", r"\1"),
]
_END = ".!?,;:。！？，；：、"


def language_of(text: str, expected: str = "en") -> str:
    """ISO 639-1 code by script: the one with most words; `expected` where the script allows it."""
    counts = {code: len(re.findall(pattern, text)) for code, pattern in _SCRIPTS.items()}
    if counts["ja"] or (counts["zh"] and expected == "ja"):  # kana and Chinese characters mix
        counts["ja"] += counts.pop("zh")
    best = max(counts, key=lambda code: counts[code])
    words = len(re.findall(_LATIN_WORD, text))
    if counts[best] and counts[best] >= words:
        return best
    return "en" if words and expected in _SCRIPTS else expected


def speakable(text: str, language: str) -> str:
    """The text as it is to be read aloud; "" when nothing in it can be spoken."""
    table = _table(language)
    text = unicodedata.normalize("NFC", text)
    for find, say in _MARKUP:
        text = re.sub(find, say, text, flags=re.MULTILINE | re.DOTALL)
    text = _joined_lines(text)
    for find, say in _PUNCTUATION:
        text = re.sub(find, say, text)
    ended = text.rstrip().endswith(".")
    text = _abbreviations(text, table["abbreviations"])
    text = _currency(text, table["currency"])
    text = _units(text, table["units"])
    for rule in table["rules"]:
        text = re.sub(rule["find"], rule["say"], text)
    if language == "en":
        for find, convert in _ENGLISH_NUMBERS:
            text = re.sub(find, convert, text)
    text = _readable(text, language)
    if not any(char.isalnum() for char in text):
        return ""
    return text + "." if ended and text[-1] not in _END else text


@cache
def _table(language: str) -> dict[str, Any]:
    path = SPEECH / f"{language}.toml"
    if not path.is_file():
        return {"abbreviations": {}, "currency": {}, "units": {}, "rules": []}
    return tomllib.loads(path.read_text(encoding="utf-8"))


def _joined_lines(text: str) -> str:
    """One line; a line that ends without punctuation (a list, a heading) gets a full stop."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return " ".join(
        line if line[-1] in _END or number == len(lines) else line + "."
        for number, line in enumerate(lines, 1)
    )


def _abbreviations(text: str, table: dict[str, str]) -> str:
    for short, long in table.items():
        text = re.sub(rf"(?<![\w.]){re.escape(short)}(?!\w)", long, text)
    return text


def _currency(text: str, table: dict[str, list[str]]) -> str:
    """ "$3.50" is said "3 dollars and 50 cents"."""
    number = r"(?P<whole>\d{1,3}(?:,\d{3})+|\d+)(?:\.(?P<part>\d+))?"
    scale = r"(?P<scale> (?:hundred|thousand|million|billion|trillion))?"
    for sign, names in table.items():
        find = rf"{re.escape(sign)} ?{number}{scale}(?!\d)"
        text = re.sub(find, partial(_amount, names), text)
    return text


def _amount(names: list[str], match: re.Match[str]) -> str:
    one, many, cent, cents = names
    whole, part, scale = match["whole"], match["part"] or "", match["scale"] or ""
    if scale or (part and (len(part) != 2 or not cents)):
        return f"{whole}{'.' + part if part else ''}{scale} {many}"
    said = f"{whole} {one if whole == '1' else many}"
    if part.strip("0"):
        hundredths = str(int(part))
        small = f"{hundredths} {cent if hundredths == '1' else cents}"
        said = small if whole == "0" else f"{said} and {small}"
    return said


def _units(text: str, table: dict[str, list[str]]) -> str:
    for unit in sorted(table, key=len, reverse=True):
        one, many = table[unit]

        def say(match: re.Match[str], one: str = one, many: str = many) -> str:
            return f"{match[1]} {one if match[1] == '1' else many}"

        text = re.sub(rf"(?<![\w.,])(\d[\d.,]*) ?{re.escape(unit)}(?![\w°/])", say, text)
    return text


def _readable(text: str, language: str) -> str:
    """Drop emoji, symbols and letters of a script the language's voice cannot read."""
    if language == "en":
        text = re.sub(rf"[{_HAN}\u3040-\u30ff\uac00-\ud7af]+", " ", text)
    kept = "".join(char if _has_sound(char) else " " for char in text)
    kept = re.sub(r"\s+", " ", kept)
    kept = re.sub(r"\s+([,.;:!?)，。；：！？、）])", r"\1", kept)
    return re.sub(r"([.,;:])(?=[,;:.!?])", "", kept).lstrip(" ,;:.!?)").rstrip()


def _has_sound(char: str) -> bool:
    """Letters, digits, marks that belong to them, and signs that are read or make a pause."""
    kind = unicodedata.category(char)
    if kind[0] == "P":
        return char not in "#*`_[]{}\\"
    marks = kind in ("Mn", "Mc") and not "\ufe00" <= char <= "\ufe0f"
    return kind[0] in "LN" or kind in ("Zs", "Sc") or marks or char in "+=<>"


def _digits(text: str, zero: str = "zero") -> str:
    """One by one."""
    return " ".join(zero if digit == "0" else digit for digit in text)


def _code(match: re.Match[str]) -> str:
    """A302 is said A3 oh 2: a digit stays at the letter, or "A" is read as an article."""
    return match[1] + _digits(match[2], "oh")


def _time(match: re.Match[str]) -> str:
    hour, minute, half = int(match[1]), match[2], match[3] or ""
    if not half and (hour > 12 or hour == 0):
        hour, half = (hour - 12, " p.m.") if hour > 12 else (12, " a.m.")
    if minute == "00":
        said = str(hour) if half else f"{hour} o'clock"
    else:
        said = f"{hour} {_digits(minute, 'oh') if minute[0] == '0' else minute}"
    return f"{said} {half.strip()}" if half else said


def _year(match: re.Match[str]) -> str:
    century, rest = match[0][:2], match[0][2:]
    if century == "20" and rest[0] == "0":
        return match[0]  # two thousand five
    if rest == "00":
        return f"{century} hundred"
    return f"{century} {_digits(rest, 'oh') if rest[0] == '0' else rest}"


def _date(match: re.Match[str]) -> str:
    year, month, day = int(match[1]), int(match[2]), int(match[3])
    try:
        return f"{date(year, month, day):%B} {day}, {year}"
    except ValueError:
        return match[0]


_ENGLISH_NUMBERS: list[tuple[str, Callable[[re.Match[str]], str]]] = [
    (r"\b(\d{4})-(\d{2})-(\d{2})\b", _date),
    (r"\b([01]?\d|2[0-3]):([0-5]\d)\b(\s?[AaPp]\.?[Mm]\b\.?)?", _time),
    (r"\b(\d{1,2})/(\d{1,2})/(\d{4})\b", lambda m: f"{int(m[1])} {int(m[2])}, {m[3]}"),
    (r"\b(?:\d{3}-)?\d{3}-\d{4}\b", lambda m: ", ".join(map(_digits, m[0].split("-")))),
    (r"(?<![\d.,$])\b0\d+\b(?![.,]\d)", lambda m: _digits(m[0])),
    (r"(?<![\d.,])\b\d{7,}\b(?![.,]\d)", lambda m: _digits(m[0])),
    (r"\b([A-Z]{1,3})-?(\d{3,})\b", _code),
    (r"(?<=\d)\s*[-–—]\s*(?=\d)|(?<=\d[AaPp][Mm])[-–—](?=\d)", lambda m: " to "),
    (r"(?<![\d.,:])\b(?:1[1-9]|20)\d\d\b(?![\d:]|[.,]\d)", _year),
]  # fmt: skip
