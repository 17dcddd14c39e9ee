"""Dates out of words, relative to a given day.

What was decided where speech leaves it open:
- a bare weekday, "the 12th" or "May 12th" is the next one; the weekday of today means in a week;
- "this Friday" is today if it is one, else the coming one; 这周五 is of this week, even past;
- "next Friday" and 下周五 are the one of the next week (weeks begin on Monday);
- 12/5 is month/day, unless only day/month makes a date;
- where only the past makes sense (`past`: when something was bought), the next one is the last one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from functools import cache
from typing import NamedTuple

from assistant.mind.slot_calendar import back, coming, coming_day, later, months_later, weekday
from assistant.mind.slot_view import Candidate, View, either, words

_Resolve = Callable[[str, re.Match[str], date], date | None]
"""(language, what was said, today) → date; ValueError when there is no such day"""


class _Rule(NamedTuple):
    pattern: re.Pattern[str]
    resolve: _Resolve
    bare: bool = False
    """a date only when one was wanted"""
    rolls: str = ""
    """of what it is the next one: a day of the "week", "month" or "year" """


def read_dates(view: View, today: date, wanted: bool, *, past: bool = False) -> Iterator[Candidate]:
    """Every date in a text, more exact readings first."""
    for rule in _rules(view.language):
        if rule.bare and not wanted:
            continue
        for match in rule.pattern.finditer(view.digits):
            try:
                found = rule.resolve(view.language, match, today)
                if found and past and found > today and _rolled(match):
                    found = back(found, rule.rolls)
            except (ValueError, OverflowError):
                continue
            if found:
                yield view.candidate(found.isoformat(), match)


def _rolled(match: re.Match[str]) -> bool:
    """Whether neither a year nor "next" was said."""
    said = match.groupdict()
    ahead = (said.get("which") or said.get("month") or "").startswith(("next", "下"))
    return not said.get("year") and not ahead


@cache
def _table(language: str, name: str) -> str:
    return "(?:" + "|".join(words(language)[name]) + ")"


@cache
def _meaning(language: str, name: str, said: str) -> int:
    table = words(language)[name]
    return next(int(table[key]) for key in table if re.fullmatch(key, said))


@cache
def _rules(language: str) -> tuple[_Rule, ...]:
    return (*_WRITTEN, *(_chinese(language) if language == "zh" else _english(language)))


def _iso(language: str, match: re.Match[str], today: date) -> date:
    return date(int(match[1]), int(match[2]), int(match[3]))


def _slashes(language: str, match: re.Match[str], today: date) -> date | None:
    first, second, year = int(match[1]), int(match[2]), match[3]
    month, day = (first, second) if first <= 12 else (second, first)
    if year:
        return date(int(year) + (2000 if len(year) == 2 else 0), month, day)
    return coming(today, month, day)


_WRITTEN = (
    _Rule(re.compile(r"(?<!\d)(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?!\d)"), _iso),
    _Rule(
        re.compile(r"(?<![\d/.:])(\d{1,2})/(\d{1,2})(?:/(?P<year>\d{4}|\d\d))?(?![\d/])"),
        _slashes,
        rolls="year",
    ),
)


def _relative(language: str, match: re.Match[str], today: date) -> date:
    return today + timedelta(_meaning(language, "days", match[0]))


# ── English ──

_OF_WEEK = {"next": "+1", "this": "0", "last": "-1"}
_WHICH = {"this": "this", "coming": "this", "next": "+1", "last": "last", "on": "", "": ""}


def _counted(language: str, match: re.Match[str], today: date) -> date:
    count = 1 if match[1] in ("a", "an") else int(match[1])
    return later(today, -count if match[0].endswith("ago") else count, match[2])


def _of_week(language: str, match: re.Match[str], today: date) -> date:
    day = _meaning(language, "weekdays", match["day"] or match["day2"])
    return weekday(today, day, _OF_WEEK[match["week"] or match["week2"]])


def _week_on(language: str, match: re.Match[str], today: date) -> date:
    return weekday(today, _meaning(language, "weekdays", match["day"]), "") + timedelta(7)


def _on_weekday(language: str, match: re.Match[str], today: date) -> date:
    day = _meaning(language, "weekdays", match["day"])
    return weekday(today, day, _WHICH[match["which"] or ""])


def _month_day(language: str, match: re.Match[str], today: date) -> date | None:
    number = _meaning(language, "months", match["month"])
    if match["year"]:
        return date(int(match["year"]), number, int(match["n"]))
    return coming(today, number, int(match["n"]))


def _day_only(language: str, match: re.Match[str], today: date) -> date | None:
    return coming_day(today, int(match[1]))


def _of_month(language: str, match: re.Match[str], today: date) -> date:
    first = months_later(today.replace(day=1), 1 if match["which"] == "next" else 0)
    return first.replace(day=int(match[1]))


def _english(language: str) -> tuple[_Rule, ...]:
    day, month = _table(language, "weekdays"), _table(language, "months")
    nth = r"(\d{1,2})(?:st|nd|rd|th)"
    year = r"(?:,? (?P<year>20\d\d))?(?!\d)"
    ending = rf"(?=\s*(?:$|[^\w\s])|\s+{either(language, 'after_range')}\b)"
    before = rf"(?:{day},? )?"
    relation = r"from (?:now|today)|later"
    return (
        _Rule(re.compile(rf"\b{_table(language, 'days')}\b"), _relative),
        _Rule(
            re.compile(r"\bin (an?|\d{1,3}) (day|week|fortnight|month|year)s?\b(?! or)"), _counted
        ),
        _Rule(
            re.compile(rf"\b(an?|\d{{1,3}}) (day|week|fortnight|month)s? (?:{relation}|ago)\b"),
            _counted,
        ),
        _Rule(
            re.compile(
                rf"\b(?:(?P<week>next|this|last) week(?:'s|,)? (?:on )?(?P<day>{day})|"
                rf"(?P<day2>{day}),? (?P<week2>next|this|last) week)\b"
            ),
            _of_week,
        ),
        _Rule(re.compile(rf"\ba week (?:on|from) (?P<day>{day})\b"), _week_on),
        _Rule(
            re.compile(
                rf"\b{before}(?P<month>{month})\.? (?:the )?"
                rf"(?P<n>\d{{1,2}})(?:st|nd|rd|th)?(?![:\d]){year}"
            ),
            _month_day,
            rolls="year",
        ),
        _Rule(
            re.compile(
                rf"\b{before}(?:the )?(?P<n>\d{{1,2}})(?:st|nd|rd|th)? (?:of )?(?P<month>{month})\b"
                rf"\.?{year}"
            ),
            _month_day,
            rolls="year",
        ),
        _Rule(
            re.compile(rf"\b(?:(?P<which>this|coming|next|last|on) )?(?P<day>{day})\b"),
            _on_weekday,
            rolls="week",
        ),
        _Rule(
            re.compile(rf"\b{before}(?:the )?{nth} (?:of )?(?P<which>next|this) month\b"), _of_month
        ),
        _Rule(re.compile(rf"\b{day},? (?:the )?{nth}\b"), _day_only, rolls="month"),
        _Rule(re.compile(rf"\b(?:on|for|by) the {nth}\b{ending}"), _day_only, rolls="month"),
        _Rule(re.compile(rf"\bthe (?![123](?:st|nd|rd)){nth}\b{ending}"), _day_only, rolls="month"),
        _Rule(re.compile(rf"\b(?:the )?{nth}\b"), _day_only, bare=True, rolls="month"),
    )


# ── Chinese ──

_WEEKS = {"上上": "-2", "上": "-1", "这": "0", "本": "0", "下": "+1", "下下": "+2", "": ""}
_YEAR = {"今": 0, "明": 1, "后": 2, "去": -1}


def _zh_counted(language: str, match: re.Match[str], today: date) -> date:
    count = int(match["n"])
    return later(today, -count if "前" in match["way"] else count, match["u"])


def _zh_weekday(language: str, match: re.Match[str], today: date) -> date:
    day = _meaning(language, "weekdays", match["day"])
    return weekday(today, day, _WEEKS[match["which"] or ""])


def _zh_month_day(language: str, match: re.Match[str], today: date) -> date | None:
    year, month, day = match["year"], int(match["month"]), int(match["n"])
    if not year:
        return coming(today, month, day)
    return date(today.year + _YEAR[year] if year in _YEAR else int(year), month, day)


def _zh_day(language: str, match: re.Match[str], today: date) -> date | None:
    if not match["month"]:
        return coming_day(today, int(match["n"]))
    first = months_later(today.replace(day=1), 1 if match["month"].startswith("下") else 0)
    return first.replace(day=int(match["n"]))


def _chinese(language: str) -> tuple[_Rule, ...]:
    day = _table(language, "weekdays")
    beside = rf"(?:[,\s(]?(?:周|星期|礼拜){day})?"
    unit = r"(?P<u>天|日|周|个?星期|个?礼拜|个?月)"
    return (
        _Rule(re.compile(_table(language, "days")), _relative),
        _Rule(
            re.compile(rf"(?<!\d)(?P<n>\d{{1,3}}){unit}(?P<way>之后|以后|后|之前|以前|前)"),
            _zh_counted,
        ),
        _Rule(re.compile(rf"(?:再)?过(?P<n>\d{{1,3}}){unit}(?P<way>)"), _zh_counted),
        _Rule(
            re.compile(
                rf"(?P<which>上上|下下|上|这|本|下)?个?(?:周|星期|礼拜)(?P<day>{day})"
                r"(?!\d*[个周年])"
            ),
            _zh_weekday,
            rolls="week",
        ),
        _Rule(
            re.compile(
                rf"(?:(?:周|星期|礼拜){day}[,\s]*)?"
                r"(?:(?P<year>20\d\d|[今明后去])年)?(?<!\d)(?P<month>\d{1,2})月(?P<n>\d{1,2})[号日]?(?!\d)"
                + beside
            ),
            _zh_month_day,
            rolls="year",
        ),
        _Rule(
            re.compile(
                r"(?P<month>下个?月|这个?月|本月)?(?<!\d)(?P<n>\d{1,2})[号日](?![楼线室门机会桌馆厅仓])"
                + beside
            ),
            _zh_day,
            rolls="month",
        ),
    )
