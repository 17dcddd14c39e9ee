"""Phrases of days, weeks, months and years in a sentence, with what they mean.

Knows the calendar and the words; how a phrase is written anew is mind/days.py's business.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from assistant.mind.slot_calendar import months_later, weekday
from assistant.mind.slot_dates import read_dates
from assistant.mind.slot_view import View, view
from assistant.mind.texts import prompts


@dataclass(frozen=True, slots=True)
class Phrase:
    """A stretch of a text that names a time."""

    start: int
    end: int
    kind: str
    """day, week (its Monday), weekend (its Saturday), month (2027-05) or year"""
    value: str
    part: str = ""
    """what is said of the day itself: "in the evening", 晚上"""
    relative: bool = True
    """what it means depends on the day it was said on, not only on the year"""


class _Rule(NamedTuple):
    pattern: re.Pattern[str]
    read: Callable[[re.Match[str], date, bool], tuple[str, str, str] | None]
    """(match, day it was said on, tells of the past) → kind, value, part"""


def phrases(text: str, language: str, said: date, *, past: bool) -> list[Phrase]:
    """All of them in their order, none overlapping; what can be no date is left out."""
    seen = view(text, language)
    every = list(_spans(seen, said, past)) + list(_dates(seen, said, past))
    chosen: list[Phrase] = []
    for one in sorted(every, key=lambda one: one.start - one.end):
        if all(one.end <= other.start or other.end <= one.start for other in chosen):
            chosen.append(one)
    return _in_order(sorted(chosen, key=lambda one: one.start), seen)


def _in_order(found: list[Phrase], seen: View) -> list[Phrase]:
    """ "from Monday to Friday", "Monday and Tuesday": the second is after the first."""
    for index, (one, two) in enumerate(pairwise(found)):
        joint = seen.plain[one.end : two.start].strip()
        joined = joint in ("to", "till", "until", "through", "and", "and on", "到", "至", "和")
        if joined and one.kind == two.kind == "day" and two.value < one.value:
            day = date.fromisoformat(two.value) + timedelta(7)
            if day.isoformat() > one.value and _WEEKDAY.search(seen.plain[two.start : two.end]):
                found[index + 1] = replace(two, value=day.isoformat())
    return found


_WEEKDAY = re.compile(r"day\b|周|星期|礼拜")


def _spans(seen: View, said: date, past: bool) -> Iterator[Phrase]:
    for rule in _RULES[seen.language]:
        for match in rule.pattern.finditer(seen.digits):
            found = rule.read(match, said, past)
            if found:
                start, end = seen.span(*match.span())
                yield Phrase(start, end, found[0], found[1], found[2])


def _dates(seen: View, said: date, past: bool) -> Iterator[Phrase]:
    written = [seen.span(*m.span()) for m in _WRITTEN.finditer(seen.digits)]
    for found in read_dates(seen, said, False, past=past):
        if any(start < found.end and found.start < end for start, end in written):
            continue
        start, end, spoken = found.start, found.end, seen.plain[found.start : found.end]
        spoken = spoken.rstrip(".,")
        end = start + len(spoken)
        if re.match(r",? ?(?:19|20)\d\d\b", seen.plain[end:]):
            continue  # a year that the reader does not know
        lead = re.match(r"(?:on|for|by)\s+(?=the \d|\w)", spoken) if seen.language == "en" else None
        start += lead.end() if lead else 0
        if _named(seen, start, end) or (seen.language == "zh" and _address(seen, start, spoken)):
            continue
        end, part = _with_part(seen, start, end)
        day = date.fromisoformat(found.value)
        yield Phrase(start, end, "day", day.isoformat(), part, _is_relative(spoken))


_WRITTEN = re.compile(
    r"\d{4}-\d{2}-\d{2}|\d{1,2}(?:/\d{1,2}){1,2}|"
    r"(?<!\d )(?<!(?:st|nd|rd|th) )(?<!of )(?:january|february|march|april|may|june|july|august|"
    r"september|october|november|december) \d{4}\b"
)
"""Left as it stands: dates as `absolute` writes them, and 1/2, which may be a half."""


def _is_relative(spoken: str) -> bool:
    """Not for "the third of June" and 八月八号, which are the same in every year."""
    month = r"jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|\d月\d|[一二三四五六七八九十]月"
    return re.search(month, spoken) is None or "下" in spoken


def _named(seen: View, start: int, end: int) -> bool:
    """ "the Friday meeting": a name for a thing, no day."""
    if seen.language == "zh":
        return False
    words = "|".join(prompts("days")["en"]["determiners"])
    before, after = seen.plain[:start], seen.plain[end:]
    bare = re.fullmatch(r"(?:mon|tues|wednes|thurs|fri|satur|sun)day", seen.plain[start:end])
    told = re.search(rf"\b(?:{words})\s+$", before)
    street = re.search(r"\bat $", before) and re.match(r"\s+(?-i:[a-z])", after)
    return bool(bare and told) or bool(street and seen.plain[start].isdigit())


def _address(seen: View, start: int, spoken: str) -> bool:
    """中山路5号"""
    if re.search(r"月|周|星期|礼拜|天|日", spoken):
        return False
    words = "|".join(prompts("days")["zh"]["address"])
    return re.search(rf"(?:{words})\S{{0,3}}$", seen.plain[:start]) is not None


# ── the part of a day that is said together with it ──

_EN_PARTS = {"morning": "in the morning", "afternoon": "in the afternoon"} | {
    "evening": "in the evening", "night": "at night", "tonight": "in the evening",
}  # fmt: skip
_ZH_PARTS = {"今晚": "晚上", "明晚": "晚上", "昨晚": "晚上", "今早": "早上", "明早": "早上"}


def _with_part(seen: View, start: int, end: int) -> tuple[int, str]:
    """Where the phrase ends with its part of the day, and that part as it is written."""
    spoken = seen.plain[start:end]
    if seen.language == "zh":
        return end, _ZH_PARTS.get(spoken, "")
    for word, written in _EN_PARTS.items():
        if spoken == word or spoken.endswith(f"this {word}"):
            return end, written
    follows = re.match(r"\s+(morning|afternoon|evening|night)\b(?!'s)", seen.plain[end:])
    if follows:
        return end + follows.end(), _EN_PARTS[follows[1]]
    return end, ""


# ── weeks, weekends, months, years ──

_AWAY = {
    **{"last": -1, "past": -1, "this": 0, "the": 0, "next": 1, "coming": 0, "following": 1},
    **{"上": -1, "上个": -1, "这": 0, "这个": 0, "本": 0, "下": 1, "下个": 1, "": 0},
    **{"去": -1, "今": 0, "明": 1, "后": 2, "前": -2},
}


def _week(match: re.Match[str], said: date, past: bool) -> tuple[str, str, str]:
    monday = weekday(said, 0, str(_AWAY[match["which"]]))
    return "week", monday.isoformat(), ""


def _weekend(match: re.Match[str], said: date, past: bool) -> tuple[str, str, str]:
    away = _AWAY[match["which"] or ""]
    return "weekend", weekday(said, 5, str(away)).isoformat(), ""


def _month(match: re.Match[str], said: date, past: bool) -> tuple[str, str, str]:
    first = months_later(said.replace(day=1), _AWAY[match["which"]])
    return "month", first.isoformat()[:7], ""


def _year(match: re.Match[str], said: date, past: bool) -> tuple[str, str, str]:
    return "year", str(said.year + _AWAY[match["which"]]), ""


def _named_month(match: re.Match[str], said: date, past: bool) -> tuple[str, str, str] | None:
    which, month = match["which"] or "", match["month"]
    number = int(month) if month.isdigit() else _MONTH_NUMBERS[month[:3]]
    if not 1 <= number <= 12:
        return None
    year = said.year + (number < said.month)
    if which in ("去", "今", "明", "后", "前"):
        year = said.year + _AWAY[which]
    elif which == "last" or past:
        year = said.year - (number >= said.month if which else number > said.month)
    elif which == "next" and number == said.month:
        year += 1
    return "month", f"{year}-{number:02}", ""


def _years(match: re.Match[str], said: date, past: bool) -> tuple[str, str, str]:
    count = 1 if match["n"] in ("a", "an") else int(match["n"])
    ago = (match["way"] or "").startswith(("ago", "前", "以前", "之前"))
    return "year", str(said.year + (-count if ago else count)), ""


def _last_night(match: re.Match[str], said: date, past: bool) -> tuple[str, str, str]:
    return "day", (said - timedelta(1)).isoformat(), "at night"


_MONTH_NUMBERS = {
    name[:3].lower(): number
    for number, name in enumerate(prompts("slots")["en"]["spoken"]["months"], 1)
}


@cache
def _rule(pattern: str, read: Callable[..., tuple[str, str, str] | None]) -> _Rule:
    return _Rule(re.compile(pattern), read)


_EN_MONTH = (
    r"(?P<month>january|february|march|april|may|june|july|august|september|october|november|"
    r"december)\b(?! (?:\d|the \d))(?<!\d may)"
)
_RULES = {
    "en": (
        _rule(r"\b(?P<which>next|this|last|following) week\b(?! on)(?!end)", _week),
        _rule(r"\b(?P<which>next|this|last|the|coming) weekend\b(?! of)", _weekend),
        _rule(r"\b(?P<which>next|this|last) month\b", _month),
        _rule(r"\b(?P<which>next|this|last) year\b", _year),
        _rule(
            rf"(?:(?<=\bin )|(?<=\bby )|(?<=\bsince )|(?<=\buntil )|(?<=\bof )|(?<=\bfor )|"
            rf"\b(?=(?:last|next|this) ))(?:(?P<which>last|next|this) )?{_EN_MONTH}",
            _named_month,
        ),
        _rule(r"(?<=\bin )(?P<n>an?|\d{1,2}) years?\b(?! time)(?! or)(?P<way>)", _years),
        _rule(r"\b(?P<n>an?|\d{1,2}) years? (?P<way>ago)\b", _years),
        _rule(r"\blast night\b", _last_night),
    ),
    "zh": (
        _rule(r"(?P<which>下个?|这个?|本|上个?)(?:周|星期|礼拜)(?![1-7一二三四五六日天末])", _week),
        _rule(r"(?P<which>下个?|这个?|本|上个?|(?<!那个))周末", _weekend),
        _rule(r"(?P<which>下个?|这个?|本|上个?)月(?!\d)", _month),
        _rule(r"(?P<which>[去今明后前])年(?![\d])(?!.{0,6}岁)(?!初|底|轻)", _year),
        _rule(
            r"(?:(?P<which>[去今明后前])年|(?<![\d年个-]))(?P<month>\d{1,2})月份?(?![\d大])",
            _named_month,
        ),
        _rule(r"(?<![\d个])(?P<n>\d{1,2})年(?P<way>以后|之后|后|以前|之前|前)", _years),
    ),
}
