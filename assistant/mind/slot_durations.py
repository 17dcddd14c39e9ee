"""Lengths of time out of words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from assistant.mind.slot_view import Candidate, View

Length = tuple[int, int, int]
"""(start, end, minutes) in View.digits"""

_UNITS = {"h": 60, "小": 60, "钟": 60, "m": 1, "分": 1, "d": 1440, "天": 1440, "刻": 15, "w": 10080}


def lengths(view: View) -> Iterator[Length]:
    """Every length of time of a minute or more."""
    for match in _pattern(view.language == "zh").finditer(view.digits):
        minutes = sum(_part(match, name) for name in ("first", "second"))
        if minutes >= 1:
            yield match.start(), match.end(), round(minutes)


def read_durations(view: View, wanted: bool) -> Iterator[Candidate]:
    """Every duration in minutes; of a bare number, 8 or less are hours, if it was wanted."""
    found = list(lengths(view))
    for start, end, minutes in found:
        yield Candidate(str(minutes), *view.span(start, end))
    if found or not wanted:
        return
    for match in re.finditer(r"(?<![a-z\d.:])\d{1,3}(?![a-z\d]|[.:]\d)", view.digits):
        number = int(match[0])
        if number:
            yield view.candidate(str(number * 60 if number <= 8 else number), match, 0.7)


def _part(match: re.Match[str], name: str) -> float:
    count, unit = match[name], match[name + "_unit"]
    if not count or not unit:
        return 0.0
    number = _COUNTS.get(count.strip())
    number = float(count) if number is None else number
    if match[name + "_half"] or (name == "first" and match["half"]):
        number += 0.5
    return number * _UNITS[unit.lstrip("个")[0]]


_COUNTS = {
    **{"a": 1, "an": 1, "and": 1, "half an": 0.5, "half a": 0.5, "half": 0.5, "半": 0.5},
    **{"a quarter of an": 0.25, "quarter of an": 0.25, "3 quarters of an": 0.75},
}


@cache
def _pattern(chinese: bool) -> re.Pattern[str]:
    number = r"(?<![\d.:])\d{1,4}(?:\.\d{1,2})?"
    if chinese:
        unit = "个?小时|个?钟头|分钟|刻钟|天(?![前后之以])"
        return re.compile(
            rf"(?P<first>{number}|半)(?P<first_half>个半)?(?P<first_unit>{unit})(?P<half>半)?"
            rf"(?:零|又)?(?:(?P<second>\d{{1,2}})(?P<second_half>半)?(?P<second_unit>分钟?|刻钟))?"
        )
    unit = r"hours?|hrs?|minutes?|mins?|days?|weeks?"
    count = rf"(?:half|(?:a |3 )?quarters? of) an?|half|and?(?= hour and)|an?|{number}"
    return re.compile(
        rf"(?<![\w.:])(?P<first>{count})(?P<first_half> and a half)?[ -]?(?P<first_unit>{unit})\b"
        rf"(?P<half> and a half)?"
        rf"(?:,? (?:and )?(?P<second>{number})(?P<second_half> and a half)? "
        rf"(?P<second_unit>{unit})\b)?"
    )
