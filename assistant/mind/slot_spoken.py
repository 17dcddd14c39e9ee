"""Typed values as a person says them: what slots.read reads, the other way round."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, timedelta
from functools import lru_cache

from assistant.mind.slot_view import words

Say = Callable[[str, str, date], str]


def say(slot_type: str, value: str, language: str, now: datetime) -> str:
    """A value in its canonical form → its words. A value in no such form is said as it is."""
    speak = _SAYS.get(slot_type)
    if speak is None:
        return value
    try:
        return speak(value, language, now.date())
    except (ValueError, KeyError, IndexError):
        return value


def _date(value: str, language: str, today: date) -> str:
    day, table = date.fromisoformat(value), words(language)["spoken"]
    away = (day - today).days
    near = {-1: "yesterday", 0: "today", 1: "tomorrow", 2: "after_tomorrow"}.get(away, "")
    if near in table:
        return str(table[near])
    if 1 < away < 7:
        return str(table["weekdays"][day.weekday()])
    dated = "date" if today <= day < today + timedelta(360) else "dated"
    if language == "zh":
        year = "".join("零一二三四五六七八九"[int(digit)] for digit in str(day.year))
        gaps = {"year": year, "month": _chinese(day.month), "day": _chinese(day.day)}
    else:
        month = table["months"][day.month - 1]
        gaps = {"year": str(day.year), "month": month, "day": _ordinal(day.day)}
    return str(table[dated].format(**gaps))


def _ordinal(number: int) -> str:
    if number // 10 == 1:
        return f"{number}th"
    return f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th') }"


def _time(value: str, language: str, today: date) -> str:
    hour, minute = _clock(value)
    return _zh_time(hour, minute) if language == "zh" else _en_time(hour, minute)


def _clock(value: str) -> tuple[int, int]:
    hour, _, minute = value.partition(":")
    return int(hour), int(minute)


def _en_time(hour: int, minute: int, *, half: bool = True) -> str:
    table = words("en")["spoken"]
    if half and not minute and hour in (0, 12):
        return str(table["noon" if hour else "midnight"])
    said = f"{hour % 12 or 12}:{minute:02}" if minute else f"{hour % 12 or 12}"
    return f"{said} {table['pm' if hour > 11 else 'am']}" if half else said


def _zh_part(hour: int) -> str:
    parts = words("zh")["spoken"]["parts"]
    return str(max((p for p in parts if p["from"] <= hour), key=lambda p: p["from"])["word"])


def _zh_time(hour: int, minute: int, *, part: bool = True) -> str:
    table = words("zh")["spoken"]
    if minute == 30:
        minutes = table["half"]
    elif minute:
        form = table["minute"] if minute > 9 else table["oh_minute"]
        minutes = form.format(minutes=_chinese(minute))
    else:
        minutes = ""
    twelve = hour if hour < 13 else hour - 12
    number = "两" if twelve == 2 else _chinese(twelve)
    said = table["hour"].format(part=_zh_part(hour) if part else "", hour=number, minutes=minutes)
    return str(said)


def _time_range(value: str, language: str, today: date) -> str:
    """ "10 to 12" within the office morning, "2 to 4 pm" within a half of the day."""
    start, end = (_clock(side) for side in value.split("-"))
    if language == "zh":
        same = _zh_part(start[0]) == _zh_part(end[0]) or (9 <= start[0] < 12 and end == (12, 0))
        sides = (_zh_time(*start), _zh_time(*end, part=not same))
    elif (7, 0) <= start < (12, 0) and (7, 0) < end <= (12, 59):
        sides = (_en_time(*start, half=False), _en_time(*end, half=False))
    elif start[0] // 12 == end[0] // 12 and start[0] not in (0, 12):
        sides = (_en_time(*start, half=False), _en_time(*end))
    else:
        sides = (_en_time(*start), _en_time(*end))
    return str(words(language)["spoken"]["to"].format(**{"from": sides[0], "to": sides[1]}))


def _unit(value: str, language: str, today: date) -> str:
    number, _, unit = value.partition(" ")
    said = number_words(number, language)
    if not unit:
        return said
    one, more = words(language)["spoken"].get(unit, (unit, unit))
    gap = "" if language == "zh" else " "
    return f"{said}{gap}{one if number == '1' else more}"


def number_words(number: str, language: str) -> str:
    """Digits, in Chinese as characters: "500" → "五百"."""
    return _chinese(float(number)) if language == "zh" else number


@lru_cache(maxsize=1024)
def _chinese(number: float) -> str:
    import cn2an

    plain = f"{number:f}".rstrip("0").rstrip(".") if isinstance(number, float) else number
    said = str(cn2an.an2cn(str(plain), "low"))
    return said.replace("一十", "十", 1) if said.startswith("一十") else said


def _duration(value: str, language: str, today: date) -> str:
    hours, minutes = divmod(int(value), 60)
    table, parts = words(language)["spoken"], []
    for count, name in ((hours, "hours"), (minutes, "minutes")):
        if count:
            number = number_words(str(count), language)
            gap = "" if language == "zh" else " "
            parts.append(f"{number}{gap}{table[name][count != 1]}")
    return ("" if language == "zh" else " ").join(parts) or value


def _flag(value: str, language: str, today: date) -> str:
    return str(words(language)["spoken"][value])


_SAYS: dict[str, Say] = {
    "date": _date,
    "time": _time,
    "time_range": _time_range,
    "money": _unit,
    "quantity": _unit,
    "number": _unit,
    "duration": _duration,
    "flag": _flag,
}
