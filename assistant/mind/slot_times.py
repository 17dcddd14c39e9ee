"""Times of day and spans of time out of words.

Hours said without am or pm belong to the office day: 7 to 11 are in the morning, 12 is noon, 1 to 6
are in the afternoon. A part of the day ("tonight at nine", 晚上八点) decides before that.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import datetime
from itertools import pairwise
from typing import NamedTuple

from assistant.mind.slot_clocks import Grammar, grammar
from assistant.mind.slot_durations import lengths
from assistant.mind.slot_view import Candidate, View, words

DAY = 24 * 60
LATEST = DAY - 1
_UNSURE = 0.6
"""of a single hour that stands for a span, said where nobody had asked for one"""

_SHORT = 24
"""characters of an answer in which any number is the hour that was asked for"""


class Clock(NamedTuple):
    """A time of day as said, before it is decided which half of the day is meant."""

    hour: int
    minute: int
    half: str
    """ "am", "pm", a part of the day, "24" for the 24-hour clock, or "" """
    start: int
    end: int
    strong: bool
    """a time by its own form: "2:30", "2 pm", 两点"""


_HALVES: dict[str, Callable[[int], int]] = {
    "am": lambda hour: hour % 12,
    "pm": lambda hour: hour % 12 + 12,
    "dawn": lambda hour: hour % 12,
    "morning": lambda hour: hour,
    "noon": lambda hour: hour if hour > 9 else hour + 12,
    "afternoon": lambda hour: hour % 12 + 12,
    "evening": lambda hour: hour + 12 if hour < 12 else 0,
    "night": lambda hour: hour if hour < 5 else (hour + 12) % 24,
}
"""part of the day → hour said (1 to 12) → hour meant"""
_SPOKEN_HOURS = {
    **{"dawn": range(1, 7), "morning": range(5, 13), "noon": (11, 12, 1, 2)},
    **{"afternoon": (12, *range(1, 8)), "evening": range(4, 13), "night": (*range(6, 13), 1, 2, 3)},
}
"""the hours that a part of the day named elsewhere in the sentence can be about"""


def _readings(said: Clock) -> tuple[int, ...]:
    """Minutes since midnight, the likeliest first; none when there is no such time."""
    hour, minute = said.hour, said.minute
    if hour > 24 or minute > 59 or (hour == 24 and minute):
        return ()
    if hour in (0, 24) or hour > 12 or said.half == "24":
        return (hour % 24 * 60 + minute,)
    if said.half in _HALVES:
        return (_HALVES[said.half](hour) * 60 + minute,)
    early, late = hour % 12, hour % 12 + 12
    order = (late, early) if hour < 7 or hour == 12 else (early, late)
    return tuple(each * 60 + minute for each in order)


def clock(minutes: int) -> str:
    """Minutes since midnight → "14:30"; the day ends at 23:59."""
    minutes = min(minutes, LATEST)
    return f"{minutes // 60:02}:{minutes % 60:02}"


def span_of(start: int, end: int) -> str:
    """Two times in minutes → "14:30-16:00"."""
    return f"{clock(start)}-{clock(end)}"


def read_times(view: View, wanted: bool, now: datetime) -> Iterator[Candidate]:
    """Every time of day; "in 20 minutes" counts from now."""
    rules = grammar(view.language)
    for start, end, minutes in lengths(view):
        match = rules.ahead.search(view.digits[:start]) if rules.ahead else None
        behind = rules.behind.match(view.digits, end) if rules.behind else None
        if match or behind:
            at = (now.hour * 60 + now.minute + minutes) % DAY
            begin, stop = (match.start() if match else start), (behind.end() if behind else end)
            yield Candidate(clock(at), *view.span(begin, stop))
    for said in _clocks(view, rules, rules.time):
        readings = _readings(said)
        if readings and _is_time(view, rules, said, wanted):
            sure = 1.0 if _is_time(view, rules, said, False) else 0.9
            yield Candidate(clock(readings[0]), *view.span(said.start, said.end), sure)


def read_ranges(view: View, wanted: bool) -> Iterator[Candidate]:
    """Every span of time; a part of the day or a single hour only when there is nothing better."""
    rules = grammar(view.language)
    clocks = list(_clocks(view, rules, rules.atom))
    found = list(_pairs(view, rules, clocks, wanted)) or list(_lasting(view, rules, clocks, wanted))
    if not found:
        found = list(_singles(view, rules, clocks, wanted))
    if not any(candidate.sure > _UNSURE for candidate in found):
        found += _open_ended(view, rules, clocks)
        found += () if found else _parts(view, rules)
    yield from found


def _pairs(view: View, rules: Grammar, clocks: list[Clock], wanted: bool) -> Iterator[Candidate]:
    for first, second in pairwise(clocks):
        if rules.counted.match(view.digits, second.end) and not second.strong:
            continue
        joined = rules.joiner.fullmatch(view.digits, first.end, second.start)
        if not joined:
            continue
        lead = rules.lead.search(view.digits, 0, first.start)
        if not (
            wanted or first.strong or second.strong or lead
            or rules.ending.match(view.digits, second.end)
        ):  # fmt: skip
            continue
        if joined["and"] and not (lead and lead["between"]):
            continue
        span = _between(first, second)
        if span:
            start = lead.start() if lead and not lead["day"] else first.start
            yield Candidate(span, *view.span(start, second.end))


def _between(first: Clock, second: Clock) -> str:
    """The likeliest span, "" when there is none: what is said on one side decides the other."""
    starts, ends = _readings(first), _readings(second)
    if not starts or not ends:
        return ""
    if len(starts) > 1 and len(ends) == 1:
        last = ends[0] or DAY
        before = [start for start in starts if start < last]
        return span_of(max(before), last) if before else ""
    if len(ends) == 1 and ends[0] <= starts[0] and second.half != "24":
        ends = _readings(second._replace(half="")) or ends
    after = [end for end in (*ends, *([DAY] if 0 in ends else [])) if end > starts[0]]
    return span_of(starts[0], min(after)) if after else ""


def _lasting(view: View, rules: Grammar, clocks: list[Clock], wanted: bool) -> Iterator[Candidate]:
    """ "at ten for two hours", in any order, when it is the only time and the only length."""
    found = [item for item in lengths(view) if not rules.ahead.search(view.digits[: item[0]])]
    times = [c for c in clocks if not any(s < c.end and c.start < e for s, e, _ in found)]
    times = [c for c in times if wanted or c.strong or _cued(view, rules, c, loose=True)]
    if len(found) != 1 or len(times) != 1:
        return
    start, end, minutes = found[0]
    readings = _readings(times[0])
    if readings and readings[0] + minutes <= DAY:
        yield Candidate(
            span_of(readings[0], readings[0] + minutes),
            *view.span(min(start, times[0].start), max(end, times[0].end)),
        )


def _singles(view: View, rules: Grammar, clocks: list[Clock], wanted: bool) -> Iterator[Candidate]:
    for said in clocks:
        readings = _readings(said)
        if readings and _is_time(view, rules, said, wanted):
            sure = 0.9 if wanted else _UNSURE
            span = span_of(readings[0], min(readings[0] + 60, DAY))
            yield Candidate(span, *view.span(said.start, said.end), sure)


def _open_ended(view: View, rules: Grammar, clocks: list[Clock]) -> Iterator[Candidate]:
    """ "after three" until the end of the office day, "before noon" from its beginning."""
    day = str(words(view.language)["parts"]["day"][0])
    opens, closes = (int(part[:2]) * 60 + int(part[3:]) for part in day.split("-"))
    for said in clocks:
        readings = _readings(said)
        word = rules.until.search(view.digits, 0, said.start) if readings else None
        after = rules.since.match(view.digits, said.end) if readings else None
        if not readings or not (word or after):
            continue
        way = (word and word.lastgroup) or (after and after.lastgroup)
        start, end = (readings[0], closes) if way == "after" else (opens, readings[0])
        if start < end:
            begin = word.start() if word else said.start
            stop = after.end() if after else said.end
            yield Candidate(span_of(start, end), *view.span(begin, stop), 0.8)


def _parts(view: View, rules: Grammar) -> Iterator[Candidate]:
    for match in rules.part.finditer(view.digits):
        value = words(view.language)["parts"][match.lastgroup or ""][0]
        yield view.candidate(value, match, 0.95)


def _is_time(view: View, rules: Grammar, said: Clock, wanted: bool) -> bool:
    if said.strong:
        return True
    if rules.counted.match(view.digits, said.end):
        return False
    if wanted and (len(view.digits) <= _SHORT or rules.ending.match(view.digits, said.end)):
        return True
    return _cued(view, rules, said)


def _cued(view: View, rules: Grammar, said: Clock, *, loose: bool = False) -> bool:
    """Whether the words around a bare number make it a time: "at three"."""
    if not rules.cue.search(view.digits, 0, said.start):
        return False
    return loose or bool(rules.ending.match(view.digits, said.end))


def _clocks(view: View, rules: Grammar, pattern: re.Pattern[str]) -> Iterator[Clock]:
    """Every time that a pattern sees, in order."""
    parts = [
        (match.start(), match.end(), match.lastgroup or "")
        for match in rules.part.finditer(view.digits)
    ]
    for match in pattern.finditer(view.digits):
        said = _clock(view, match, [part for part in parts if part[2] not in ("day", "noon")])
        if said:
            yield said


def _clock(view: View, match: re.Match[str], parts: list[tuple[int, int, str]]) -> Clock | None:
    start, end = match.span()
    groups = match.groupdict()
    if groups["moment"]:
        value = _moment(view.language, groups["moment"])
        return Clock(int(value[:2]), int(value[3:]), "24", start, end, True)
    if groups["long"]:
        return _long(groups["long"], start, end, said=bool(groups["hours"]))
    written = groups["hour"] or groups["past_hour"]
    hour, minute = int(written), _minute(groups["minute"] or groups["past"] or "0")
    if groups["before"]:
        hour, minute = (hour - 1) % 24 or 12, 60 - _minute(groups["before"])
    half = _half(view.language, groups, hour)
    strong = bool(half or any(groups[name] for name in ("clock", "past", "before")))
    strong = strong or (groups["colon"] or ".") != "."
    if not half and len(written) == 2 and written.startswith("0"):
        half = "24"
    if not half and parts:
        near = min(parts, key=lambda part: max(part[0] - end, start - part[1]))
        half = near[2] if hour in _SPOKEN_HOURS.get(near[2], ()) else ""
    return Clock(hour, minute, half, start, end, strong)


def _long(digits: str, start: int, end: int, *, said: bool) -> Clock | None:
    """ "1400 hours"; "930" where a time is likely, though not "200"."""
    hour, minute = int(digits[:-2]), int(digits[-2:])
    whole = len(digits) == 4 and (hour > 12 or digits[0] == "0")
    if not said and (minute % 5 or (not minute and not whole)):
        return None
    return Clock(hour, minute, "24" if said or whole else "", start, end, said)


def _half(language: str, groups: dict[str, str], hour: int) -> str:
    """am, pm or the part of the day that is said with the time itself."""
    if groups["half"]:
        return groups["half"][0] + "m"
    said = groups["part"]
    if not said:
        return ""
    table = words(language)["parts"]
    name = next((name for name in table if re.search(table[name][1], said)), "")
    return "am" if name == "morning" and hour == 12 else name


_FRACTIONS = {"half": 30, "半": 30, "quarter": 15, "1刻": 15, "2刻": 30, "3刻": 45}


def _minute(said: str) -> int:
    said = said.removeprefix("a ")
    return _FRACTIONS[said] if said in _FRACTIONS else int(re.sub(r"\D", "", said) or 0)


def _moment(language: str, said: str) -> str:
    table = words(language)["moments"]
    return next(str(table[key]) for key in table if re.fullmatch(key, said))
