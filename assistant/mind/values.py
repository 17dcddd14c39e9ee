"""Times, days, dates and amounts inside a sentence, each with its kind."""

from __future__ import annotations

import re
from dataclasses import dataclass

_NUM = r"(?:\d{1,2}|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)"
_MONTH = (
    r"(?:january|february|march|april|may|june|july|august|september|october|november|december)"
)
_DAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_ORDINAL = (
    r"(?:\d{1,2}(?:st|nd|rd|th)|first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|"
    r"eleventh|twelfth|thirteenth|fourteenth|fifteenth|sixteenth|seventeenth|eighteenth|nineteenth|"
    r"twentieth|twenty[- ]first|twenty[- ]second|twenty[- ]third|twenty[- ]fourth|twenty[- ]fifth|"
    r"twenty[- ]sixth|twenty[- ]seventh|twenty[- ]eighth|twenty[- ]ninth|thirtieth|thirty[- ]first)"
)
_ZH = r"[\d零〇一二两三四五六七八九十]+"
_PART = r"(?:早上|上午|中午|下午|傍晚|晚上|凌晨)"

KINDS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(pattern, re.I))
    for kind, pattern in (
        (
            "date",
            rf"\b(?:the )?{_ORDINAL}(?: of)? {_MONTH}\b|"
            rf"\b{_MONTH} (?:the )?(?:{_ORDINAL}|\d{{1,2}})\b",
        ),
        ("date", rf"\bthe {_ORDINAL}\b(?! \w+(?:day|time|floor|one)\b)"),
        ("date", rf"{_ZH}月{_ZH}[号日]|下个月{_ZH}号|{_ZH}号|(?<!个){_ZH}月份?(?!\d)"),
        ("date", rf"(?<=\bin ){_MONTH}\b"),
        (
            "time",
            rf"\b(?:half past|(?:a )?quarter (?:past|to)) {_NUM}\b|"
            rf"\b\d{{1,2}}:\d\d(?: ?[ap]\.?m\b\.?)?|\b{_NUM} ?(?:[ap]\.?m\b\.?|o['’]?clock)|"
            rf"(?<=\bat ){_NUM}(?: (?:thirty|fifteen|forty[- ]five))?\b|\b(?:noon|midnight)\b",
        ),
        (
            "time",
            rf"{_PART}?{_ZH}点(?:半|一刻|{_ZH}分|[零〇]?[一二三四五六七八九]?十[一二三四五六七八九]?)?|{_PART}?\d{{1,2}}[:：]\d\d",
        ),
        (
            "day",
            rf"\b(?:(?:next|this|last) )?{_DAY}\b|\bthe day after tomorrow\b|\btomorrow\b|"
            r"\btoday\b|\btonight\b|\b(?:next|this) (?:week|weekend|month|year)\b",
        ),
        (
            "day",
            r"(?:下|这|本|上)?个?(?:周|星期|礼拜)[一二三四五六日天]|大?后天|明天|今天|明晚|今晚|下(?:周|个月)",
        ),
        ("part", r"\b(?:in the )?(?:morning|afternoon|evening)\b|\bat night\b"),
        ("part", _PART),
        (
            "count",
            rf"(?<=\bfor ){_NUM}\b(?: (?:people|persons|guests))?|\b{_NUM} (?:people|guests)\b",
        ),
        ("count", rf"{_ZH}(?:个人|位|人|个)"),
    )
)
"""Order matters: what an earlier pattern took is not read again."""


@dataclass(frozen=True, slots=True)
class Value:
    """A stretch of a text that can be exchanged for another of its kind."""

    kind: str
    text: str
    start: int
    end: int


def values(text: str) -> list[Value]:
    """All values of a text in their order, none overlapping."""
    found: list[Value] = []
    for kind, pattern in KINDS:
        for match in pattern.finditer(text):
            start, end = match.span()
            if end > start and all(end <= old.start or start >= old.end for old in found):
                found.append(Value(kind, match.group(), start, end))
    return sorted(found, key=lambda value: value.start)
