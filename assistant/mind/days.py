"""Days in a sentence: from "on Friday" to a date that is still right in a year, and back.

What was decided where speech leaves it open (further: mind/slot_dates.py):
- a bare "Friday" is the next one, a week ahead when today is one; today only where "today" or
  "this" was said; after a verb of the past ("met Anna on Friday") it is the last one;
- "next Friday" and 下周五 are the one of the next week, weeks begin on Monday;
- what comes again ("every Monday", "on Mondays", 每周一) stays as it was said;
- birthdays and other yearly days get a date without a year: "on 4 December", 12月4日;
- a month, a week, a weekend or a year is named as such: "in May 2027", "in the week of 2026-12-07".
Hours ("in two hours") are none of its business.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Iterator
from datetime import date, timedelta
from functools import cache

from assistant.mind import days_said
from assistant.mind.days_found import Phrase, phrases
from assistant.mind.texts import prompts
from assistant.mind.words import is_cjk

_ISO = re.compile(r"(?<![\d-])(\d{4})-(\d{2})-(\d{2})(?![\d-])")


@cache
def _any(language: str, name: str) -> str:
    return "(?:" + "|".join(prompts("days")[language][name]) + ")"


def absolute(text: str, said: date) -> str:
    """The sentence with its days as dates, `said` being the day it was said on."""
    language = "zh" if is_cjk(text) else "en"
    if _recurring(text, language):
        return text
    yearly = _found(_any(language, "yearly"), text, language)
    past = _past(text, language)
    result, last = text, len(text) + 1
    for phrase in reversed(list(phrases(text, language, said, past=past))):
        if phrase.end > last or (yearly and not phrase.relative):
            continue
        written = _written(phrase, language, yearly)
        put = _put_zh if language == "zh" else _put_en
        result = put(result, phrase, written)
        last = phrase.start
    return result


def relative(text: str, today: date) -> str:
    """A kept sentence as a person would say it today: "on 2026-12-01" → "tomorrow"."""
    return days_said.zh(text, today) if is_cjk(text) else days_said.en(text, today)


def day_of(text: str) -> str:
    """The last day a sentence is about as an ISO date, "" when it names none.

    Of a month that was written by `absolute` it is the last day, of a week or a weekend its Sunday.
    """
    found = [*_iso_days(text), *_month_ends(text)]
    return max(found, key=lambda item: item[0])[1].isoformat() if found else ""


def _iso_days(text: str) -> Iterator[tuple[int, date]]:
    for match in _ISO.finditer(text):
        try:
            day = date.fromisoformat(match.group())
        except ValueError:
            continue
        before, after = text[: match.start()], text[match.end() :]
        if before.endswith("week of ") or after.startswith("那一周"):
            day += timedelta(6)
        elif before.endswith("weekend of ") or after.startswith("那个周末"):
            day += timedelta(1)
        yield match.start(), day


def _month_ends(text: str) -> Iterator[tuple[int, date]]:
    for match in days_said.MONTH_EN.finditer(text):
        month, year = days_said.MONTHS.index(match["month"]) + 1, int(match["year"])
        yield match.start(), date(year, month, monthrange(year, month)[1])
    for match in days_said.MONTH_ZH.finditer(text):
        month, year = int(match["month"]), int(match["year"])
        if 1 <= month <= 12 and year:
            yield match.start(), date(year, month, monthrange(year, month)[1])


def _found(words: str, text: str, language: str) -> bool:
    pattern = words if language == "zh" else rf"\b{words}\b"
    return re.search(pattern, text, re.I) is not None


def _recurring(text: str, language: str) -> bool:
    """ "every Monday", "works from Monday to Friday", 每周一"""
    if _found(_any(language, "recurring"), text, language):
        return True
    if language == "zh":
        weekday = r"(?:周|星期|礼拜)[一二三四五六日天]"
        ranged = rf"(?<![下这上本个]){weekday}[到至]{weekday}|周[一二三四五六]{{2}}"
    else:
        weekday = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
        ranged = rf"(?<!next )(?<!this ){weekday} (?:to|through|till|until) {weekday}|{weekday}s\b"
    span = re.search(ranged, text, re.I)
    if span is None:
        return False
    said = span.group().lower()
    plural = said.endswith("s") or (language == "zh" and not re.search("[到至]", said))
    return plural or _found(_any(language, "habits"), text, language)


def _past(text: str, language: str) -> bool:
    """The sentence tells what has happened."""
    words = _any(language, "past")
    if language == "en":  # "has got an appointment", "is getting married" are of the present
        words = r"(?<!has )(?<!have )(?<!getting )(?<!get )(?<!is )(?<!are )(?<!be )" + words
    return _found(words, text, language) and not _found(_any(language, "not_past"), text, language)


def _written(phrase: Phrase, language: str, yearly: bool) -> str:
    if phrase.kind == "day" and yearly:
        return days_said.plain(date.fromisoformat(phrase.value), language, year=False)
    form = _FORMS[language][phrase.kind]
    value = phrase.value
    if phrase.kind == "month":
        year, month = value.split("-")
        name = days_said.MONTHS[int(month) - 1] if language == "en" else int(month)
        return form.format(year=year, month=name)
    return form.format(value=value)


_FORMS = {
    "en": {
        "day": "{value}",
        "week": "the week of {value}",
        "weekend": "the weekend of {value}",
        "month": "{month} {year}",
        "year": "{value}",
    },
    "zh": {
        "day": "{value}",
        "week": "{value}那一周",
        "weekend": "{value}那个周末",
        "month": "{year}年{month}月",
        "year": "{value}年",
    },
}
_BEFORE = {"day": "on", "week": "in", "weekend": "on", "month": "in", "year": "in"}


def _put_en(text: str, phrase: Phrase, written: str) -> str:
    before, after = text[: phrase.start], text[phrase.end :]
    part = f" {phrase.part}" if phrase.part else ""
    bare = re.sub(r"\b(?:on|in|at|over)\s+$", "", before, flags=re.I)
    needs = not re.search(rf"\b{_any('en', 'prepositions')}\s+$", bare, re.I)
    needs = needs and not re.match(r"'s\b", after)
    if not bare.strip() and re.match(r"\s+(?:is|was|will be|are)\b", after, re.I):
        needs = False
    if re.search(r"\d{4}-\d\d-\d\d (?:and|or)\s+$", bare):
        needs = False
    lead = f"{_BEFORE[phrase.kind]} " if needs else ""
    if not bare.strip():
        lead = lead[:1].upper() + lead[1:]
    return bare + lead + written + part + after


def _put_zh(text: str, phrase: Phrase, written: str) -> str:
    before, after = text[: phrase.start], text[phrase.end :]
    bare = before.rstrip()
    needs = bool(bare) and not re.search(rf"(?:{_any('zh', 'prepositions')}|[，,。、\d])$", bare)
    needs = needs and after[:1] != "的"
    after = after.lstrip()
    gap = (
        " " if re.match("[\\d零〇一二两三四五六七八九十]", phrase.part + after) else ""
    )  # no longer number
    return bare + ("在" if needs else "") + written + gap + phrase.part + after
