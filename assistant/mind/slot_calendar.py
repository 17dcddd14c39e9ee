"""Reckoning with days: the next 12th, Friday in a week. Knows the calendar, no words."""

from __future__ import annotations

from contextlib import suppress
from datetime import date, timedelta

_YEARS = 3
"""how far a year is looked for in which a day exists"""


def coming(today: date, month: int, day: int) -> date | None:
    """The next such day from today on."""
    for year in range(today.year, today.year + _YEARS):
        try:
            found = date(year, month, day)
        except ValueError:
            continue
        if found >= today:
            return found
    return None


def coming_day(today: date, day: int) -> date | None:
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


def months_later(today: date, months: int) -> date:
    """The same day of a later month, or the last one of it."""
    year, month = divmod(today.year * 12 + today.month - 1 + months, 12)
    for day in range(today.day, 0, -1):
        try:
            return date(year, month + 1, day)
        except ValueError:
            continue
    raise ValueError(months)


def weekday(today: date, weekday: int, which: str) -> date:
    """ "" the next one, "this", "next", "last", and the same for whole weeks: "+1", "-1", "0"."""
    ahead = (weekday - today.weekday()) % 7
    if which == "this":
        return today + timedelta(ahead)
    if which == "last":
        return today + timedelta(ahead - 7)
    if which:
        return today + timedelta(weekday - today.weekday() + 7 * int(which))
    return today + timedelta(ahead or 7)


def later(today: date, count: int, unit: str) -> date:
    """So many days, weeks, months or years from a day on."""
    unit = unit.removeprefix("个")
    if unit.startswith(("month", "月")):
        return months_later(today, count)
    if unit.startswith(("year", "年")):
        return months_later(today, count * 12)
    if unit.startswith("fortnight"):
        return today + timedelta(14 * count)
    return today + timedelta(count * (1 if unit.startswith(("day", "天", "日")) else 7))


def back(found: date, rolls: str) -> date:
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
