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
from contextlib import suppress
from datetime import date, timedelta
from functools import cache
from typing import NamedTuple

from assistant.mind.slot_view import Candidate, View, either, words

_YEARS = 3
"""how far a year is looked for in which a day exists (29 February takes more: it is not rolled)"""


_Resolve = Callable[[re.Match[str], date], date | None]


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
                found = rule.resolve(match, today)
                if found and past and found > today and _rolled(match):
                    found = _back(found, rule.rolls)
            except (ValueError, OverflowError):
                continue
            if found:
                yield view.candidate(found.isoformat(), match)


def _rolled(match: re.Match[str]) -> bool:
    """Whether neither a year nor "next" was said."""
    said = match.groupdict()
    ahead = (said.get("which") or said.get("month") or "").startswith(("next", "下"))
    return not said.get("year") and not ahead


def _back(found: date, rolls: str) -> date:
    """The one before the next one."""
    if rolls == "week":
        return found - timedelta(7)
    step = {"month": 1, "year": 12}.get(rolls)
    if step is None:
        return found
    for months in range(step, _YEARS * 12 + 1, step):
        year, month = divmod(found.year * 12 + found.month - 1 - months, 12)
        with suppress(ValueError):
            return found.replace(year=year, month=month + 1)
    return found


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


def _iso(match: re.Match[str], today: date) -> date:
    return date(int(match[1]), int(match[2]), int(match[3]))


def _slashes(match: re.Match[str], today: date) -> date | None:
    first, second, year = int(match[1]), int(match[2]), match[3]
    month, day = (first, second) if first <= 12 else (second, first)
    if year:
        return date(int(year) + (2000 if len(year) == 2 else 0), month, day)
    return _coming(today, month, day)


_WRITTEN = (
    _Rule(re.compile(r"(?<!\d)(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?!\d)"), _iso),
    _Rule(
        re.compile(r"(?<![\d/.:])(\d{1,2})/(\d{1,2})(?:/(?P<year>\d{4}|\d\d))?(?![\d/])"),
        _slashes,
        rolls="year",
    ),
)


def _coming(today: date, month: int, day: int) -> date | None:
    """The next such day from today on."""
    for year in range(today.year, today.year + _YEARS):
        try:
            found = date(year, month, day)
        except ValueError:
            continue
        if found >= today:
            return found
    return None


def _coming_day(today: date, day: int) -> date | None:
    """The next "12th" from today on."""
    for months in range(_YEARS * 12):
        year, month = divmod(today.year * 12 + today.month - 1 + months, 12)
        try:
            found = date(year, month + 1, day)
        except ValueError:
            continue
        if found >= today:
            return found
    return None


def _months_later(today: date, months: int) -> date:
    year, month = divmod(today.year * 12 + today.month - 1 + months, 12)
    for day in range(today.day, 0, -1):
        try:
            return date(year, month + 1, day)
        except ValueError:
            continue
    raise ValueError(months)


def _weekday(today: date, weekday: int, which: str) -> date:
    """ "" the next one, "this", "next", "last", and the same for whole weeks: "+1", "-1", "0"."""
    ahead = (weekday - today.weekday()) % 7
    if which == "this":
        return today + timedelta(ahead)
    if which == "last":
        return today + timedelta(ahead - 7)
    if which:
        return today + timedelta(weekday - today.weekday() + 7 * int(which))
    return today + timedelta(ahead or 7)


def _later(today: date, count: int, unit: str) -> date:
    if unit.startswith(("month", "月")):
        return _months_later(today, count)
    if unit.startswith(("year", "年")):
        return _months_later(today, count * 12)
    return today + timedelta(count * (1 if unit.startswith(("day", "天", "日")) else 7))


# ── English ──

_OF_WEEK = {"next": "+1", "this": "0", "last": "-1"}
_WHICH = {"this": "this", "coming": "this", "next": "+1", "last": "last", "on": "", "": ""}


def _english(language: str) -> tuple[_Rule, ...]:
    day, month = _table(language, "weekdays"), _table(language, "months")
    nth = r"(\d{1,2})(?:st|nd|rd|th)"

    def relative(match: re.Match[str], today: date) -> date:
        return today + timedelta(_meaning(language, "days", match[0]))

    def counted(match: re.Match[str], today: date) -> date:
        count = 1 if match[1] in ("a", "an") else int(match[1])
        return _later(today, -count if match[0].endswith("ago") else count, match[2])

    def of_week(match: re.Match[str], today: date) -> date:
        weekday = _meaning(language, "weekdays", match["day"] or match["day2"])
        return _weekday(today, weekday, _OF_WEEK[match["week"] or match["week2"]])

    def week_on(match: re.Match[str], today: date) -> date:
        weekday = _meaning(language, "weekdays", match["day"])
        return _weekday(today, weekday, "") + timedelta(7)

    def weekday(match: re.Match[str], today: date) -> date:
        found = _meaning(language, "weekdays", match["day"])
        return _weekday(today, found, _WHICH[match["which"] or ""])

    def month_day(match: re.Match[str], today: date) -> date | None:
        number = _meaning(language, "months", match["month"])
        if match["year"]:
            return date(int(match["year"]), number, int(match["n"]))
        return _coming(today, number, int(match["n"]))

    def day_only(match: re.Match[str], today: date) -> date | None:
        return _coming_day(today, int(match[1]))

    year = r"(?:,? (?P<year>20\d\d))?(?!\d)"
    ending = rf"(?=\s*(?:$|[^\w\s])|\s+{either(language, 'after_range')}\b)"
    relation = r"from (?:now|today)|later"
    return (
        _Rule(re.compile(rf"\b{_table(language, 'days')}\b"), relative),
        _Rule(re.compile(r"\bin (an?|\d{1,3}) (day|week|month|year)s?\b(?! or)"), counted),
        _Rule(re.compile(rf"\b(an?|\d{{1,3}}) (day|week|month)s? (?:{relation}|ago)\b"), counted),
        _Rule(
            re.compile(
                rf"\b(?:(?P<week>next|this|last) week(?:'s|,)? (?:on )?(?P<day>{day})|"
                rf"(?P<day2>{day}),? (?P<week2>next|this|last) week)\b"
            ),
            of_week,
        ),
        _Rule(re.compile(rf"\ba week (?:on|from) (?P<day>{day})\b"), week_on),
        _Rule(
            re.compile(
                rf"\b(?P<month>{month})\.? (?:the )?(?P<n>\d{{1,2}})(?:st|nd|rd|th)?(?![:\d]){year}"
            ),
            month_day,
            rolls="year",
        ),
        _Rule(
            re.compile(
                rf"\b(?:the )?(?P<n>\d{{1,2}})(?:st|nd|rd|th)? (?:of )?(?P<month>{month})\b"
                rf"\.?{year}"
            ),
            month_day,
            rolls="year",
        ),
        _Rule(
            re.compile(rf"\b(?:(?P<which>this|coming|next|last|on) )?(?P<day>{day})\b"),
            weekday,
            rolls="week",
        ),
        _Rule(re.compile(rf"\b(?:on|for|by) the {nth}\b{ending}"), day_only, rolls="month"),
        _Rule(re.compile(rf"\bthe (?![123](?:st|nd|rd)){nth}\b{ending}"), day_only, rolls="month"),
        _Rule(re.compile(rf"\b(?:the )?{nth}\b"), day_only, bare=True, rolls="month"),
    )


# ── Chinese ──

_WEEKS = {"上上": "-2", "上": "-1", "这": "0", "本": "0", "下": "+1", "下下": "+2", "": ""}


def _chinese(language: str) -> tuple[_Rule, ...]:
    day = _table(language, "weekdays")

    def relative(match: re.Match[str], today: date) -> date:
        return today + timedelta(_meaning(language, "days", match[0]))

    def counted(match: re.Match[str], today: date) -> date:
        count = int(match["n"])
        return _later(today, -count if match["way"] and "前" in match["way"] else count, match["u"])

    def weekday(match: re.Match[str], today: date) -> date:
        found = _meaning(language, "weekdays", match["day"])
        return _weekday(today, found, _WEEKS[match["which"] or ""])

    def month_day(match: re.Match[str], today: date) -> date | None:
        year, month, n = match["year"], int(match["month"]), int(match["n"])
        if not year:
            return _coming(today, month, n)
        ahead = {"今": 0, "明": 1, "后": 2, "去": -1}
        return date(today.year + ahead[year] if year in ahead else int(year), month, n)

    def day_of(match: re.Match[str], today: date) -> date | None:
        if not match["month"]:
            return _coming_day(today, int(match["n"]))
        first = _months_later(today.replace(day=1), 1 if match["month"].startswith("下") else 0)
        return first.replace(day=int(match["n"]))

    unit = r"(?P<u>天|日|周|个?星期|个?礼拜|个?月)"
    return (
        _Rule(re.compile(_table(language, "days")), relative),
        _Rule(
            re.compile(rf"(?<!\d)(?P<n>\d{{1,3}}){unit}(?P<way>之后|以后|后|之前|以前|前)"),
            counted,
        ),
        _Rule(re.compile(rf"(?:再)?过(?P<n>\d{{1,3}}){unit}(?P<way>)"), counted),
        _Rule(
            re.compile(
                rf"(?P<which>上上|下下|上|这|本|下)?个?(?:周|星期|礼拜)(?P<day>{day})"
                r"(?!\d*[个周年])"
            ),
            weekday,
            rolls="week",
        ),
        _Rule(
            re.compile(
                r"(?:(?P<year>20\d\d|[今明后去])年)?(?<!\d)(?P<month>\d{1,2})月(?P<n>\d{1,2})[号日]?(?!\d)"
            ),
            month_day,
            rolls="year",
        ),
        _Rule(
            re.compile(
                r"(?P<month>下个?月|这个?月|本月)?(?<!\d)(?P<n>\d{1,2})[号日](?![楼线室门机会桌馆厅仓])"
            ),
            day_of,
            rolls="month",
        ),
    )
