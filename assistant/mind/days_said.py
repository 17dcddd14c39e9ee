"""Dates in a kept sentence as a person would say them today. Knows the calendar only."""

from __future__ import annotations

import re
from datetime import date, timedelta
from functools import partial

from assistant.mind.texts import prompts

MONTHS: tuple[str, ...] = tuple(prompts("slots")["en"]["spoken"]["months"])
_WEEKDAYS: dict[str, tuple[str, ...]] = {
    name: tuple(prompts("slots")[name]["spoken"]["weekdays"]) for name in ("en", "zh")
}
_ISO = r"(?P<day>\d{4}-\d{2}-\d{2})(?![\d-])"
_PART = r"(?: (?P<part>in the morning|in the afternoon|in the evening|at night))?"
_EN = re.compile(
    rf"(?<![\d-])(?:(?P<span>(?:in the week|on the weekend|the week|the weekend) of) {_ISO}|"
    rf"(?P<on>on )?{_ISO.replace('day', 'iso')}{_PART})",
    re.I,
)
MONTH_EN = re.compile(rf"\b(?P<month>{'|'.join(MONTHS)}) (?P<year>\d{{4}})\b")
MONTH_ZH = re.compile(r"(?<!\d)(?P<year>[12]\d{3})年(?P<month>\d{1,2})月(?!\d)")
_ZH = re.compile(rf"(?P<at>在)?(?<![\d-]){_ISO}(?P<span>那一周|那个周末)?(?P<tail>的)? ?")


def plain(day: date, language: str, *, year: bool) -> str:
    """ "1 December" or, with the year, "1 December 2027"; 12月1日."""
    form = prompts("days")[language]["dated" if year else "date"]
    month = day.month if language == "zh" else MONTHS[day.month - 1]
    return str(form.format(day=day.day, month=month, year=day.year))


def en(text: str, today: date) -> str:
    """A kept English sentence, its dates as they are said today."""
    said = _EN.sub(partial(_en_phrase, today=today), text)
    return MONTH_EN.sub(partial(_en_month, today=today), said)


def zh(text: str, today: date) -> str:
    """A kept Chinese sentence, its dates as they are said today."""
    said = _ZH.sub(partial(_zh_phrase, today=today), text)
    return re.sub(rf"(?<!\d){today.year}年(?=\d{{1,2}}月)", "", said)


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def _en_month(match: re.Match[str], today: date) -> str:
    near = int(match["year"]) == today.year and MONTHS.index(match["month"]) + 1 >= today.month
    return match["month"] if near else match.group()


def _en_phrase(match: re.Match[str], today: date) -> str:
    day = _day(match["day"] or match["iso"])
    if day is None:
        return match.group()
    said = _en_span(match, day, today) if match["span"] else _en_day(match, day, today)
    begins = match.start() == 0 or match.string[: match.start()].rstrip()[-1:] in (".", "!", "?")
    return said[:1].upper() + said[1:] if begins else said


def _en_span(match: re.Match[str], day: date, today: date) -> str:
    name = "weekend" if "weekend" in match["span"].lower() else "week"
    weeks = ((day - timedelta(day.weekday())) - (today - timedelta(today.weekday()))).days // 7
    near = {-1: "last", 0: "this", 1: "next"}.get(weeks)
    if near:
        return f"{near} {name}"
    return f"{match['span']} {plain(day, 'en', year=day.year != today.year)}"


def _en_day(match: re.Match[str], day: date, today: date) -> str:
    away, on, part = (day - today).days, match["on"] or "", match["part"] or ""
    short = part.rsplit(" ", 1)[-1]
    if away == 0:
        return (f"this {short}" if short != "night" else "tonight") if part else "today"
    if away == -1 and short == "night":
        return "last night"
    near = {-1: "yesterday", 1: "tomorrow"}.get(away)
    if near:
        return f"{near} {short}".strip()
    if 1 < away < 7:
        return f"{on}{_WEEKDAYS['en'][day.weekday()]} {short}".strip()
    if -7 <= away < -1:
        return f"last {_WEEKDAYS['en'][day.weekday()]} {short}".strip()
    return f"{on}{plain(day, 'en', year=day.year != today.year)} {part}".strip()


def _zh_phrase(match: re.Match[str], today: date) -> str:
    day = _day(match["day"])
    if day is None:
        return match.group()
    near = _zh_span(day, today, match["span"]) if match["span"] else _zh_day(day, today)
    said = near or plain(day, "zh", year=day.year != today.year) + (match["span"] or "")
    follows = match.string[match.end() :]
    keeps = not near or match["tail"] or not follows.strip(" 。.！!")
    return (match["at"] or "" if keeps else "") + said + (match["tail"] or "")


def _zh_span(day: date, today: date, span: str) -> str:
    weeks = ((day - timedelta(day.weekday())) - (today - timedelta(today.weekday()))).days // 7
    which = {-1: "上", 0: "这", 1: "下"}.get(weeks)
    name = "周" if span == "那一周" else "周末"
    return f"{which}{'个' if weeks == 0 else ''}{name}" if which else ""


def _zh_day(day: date, today: date) -> str:
    away = (day - today).days
    near = {-2: "前天", -1: "昨天", 0: "今天", 1: "明天", 2: "后天"}.get(away, "")
    name = _WEEKDAYS["zh"][day.weekday()]
    if near:
        return near
    if 2 < away < 7:
        return name
    if -7 <= away < -2:
        return ("这" if day.isocalendar()[:2] == today.isocalendar()[:2] else "上") + name
    return ""
