"""What holds for any text and any value: no exception, true spans, canonical forms, round trips."""

from __future__ import annotations

import re
from datetime import date, timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from assistant.mind.flows import TYPES
from assistant.mind.slots import MAYBE, read, spoken
from tests.test_slots import CASES_WORDS, NOW, ROOMS, SLOTS

FORMS = {
    "number": r"-?\d+(\.\d+)?",
    "money": r"\d+(\.\d+)?( [A-Z]{3})?",
    "date": r"\d{4}-\d{2}-\d{2}",
    "time": r"([01]\d|2[0-3]):[0-5]\d",
    "time_range": r"([01]\d|2[0-3]):[0-5]\d-([01]\d|2[0-3]):[0-5]\d",
    "duration": r"\d+",
    "quantity": r"-?\d+(\.\d+)?( \S+)?",
    "code": r"[A-Za-z]*[- ]?\d+",
    "flag": r"yes|no",
}
TEXTS = st.one_of(
    st.text(max_size=60),
    st.lists(st.sampled_from(CASES_WORDS), max_size=12).map(" ".join),
    st.lists(st.sampled_from(CASES_WORDS), max_size=12).map("".join),
)
LANGUAGES = st.sampled_from(("en", "zh"))


def test_every_type_has_a_reader() -> None:
    assert {slot.type for slot in SLOTS.values()} == set(TYPES)


@given(text=TEXTS, language=LANGUAGES, name=st.sampled_from(sorted(SLOTS)), wanted=st.booleans())
@example(
    text="99/99/9999 99:99 9999999999999999999999 euros", language="en", name="date", wanted=True
)
@example(text="February 30th, ９９９９年９９月９９日", language="zh", name="date", wanted=True)
@example(text="in 999 years", language="en", name="date", wanted=True)
def test_m5_any_text_is_read_without_harm(
    text: str, language: str, name: str, wanted: bool
) -> None:
    slot = SLOTS[name]
    found = read(slot, text, language, NOW, ROOMS if name == "room" else (), wanted=wanted)
    for item in found:
        assert 0 <= item.start < item.end <= len(text)
        assert text[item.start : item.end] == item.spoken
        assert MAYBE <= item.sure <= 1.0
        if slot.type in FORMS:
            assert re.fullmatch(FORMS[slot.type], item.value), item
        if slot.type == "date":
            date.fromisoformat(item.value)
        if slot.type == "time_range":
            start, _, end = item.value.partition("-")
            assert start < end
        if slot.type == "choice":
            known = {c.value for c in (*slot.choices, *ROOMS)}
            assert item.value in known
    assert [f.sure for f in found] == sorted((f.sure for f in found), reverse=True)


def back(name: str, value: str, language: str) -> None:
    slot = SLOTS[name]
    said = spoken(slot.type, value, language, NOW)
    found = read(slot, said, language, NOW, wanted=True)
    assert found, said
    assert found[0].value == value, said


@given(days=st.integers(-1, 800), language=LANGUAGES)
def test_dates_come_back(days: int, language: str) -> None:
    back("date", (NOW.date() + timedelta(days)).isoformat(), language)


@given(minutes=st.integers(0, 1439), language=LANGUAGES)
def test_times_come_back(minutes: int, language: str) -> None:
    back("time", f"{minutes // 60:02}:{minutes % 60:02}", language)


@given(
    sides=st.tuples(st.integers(0, 287), st.integers(0, 287)).filter(lambda s: s[0] < s[1]),
    language=LANGUAGES,
)
def test_spans_of_time_come_back(sides: tuple[int, int], language: str) -> None:
    start, end = (f"{side * 5 // 60:02}:{side * 5 % 60:02}" for side in sides)
    back("range", f"{start}-{end}", language)


@given(
    cents=st.integers(1, 10_000_000),
    currency=st.sampled_from(("EUR", "USD", "GBP", "CNY", "JPY")),
    language=LANGUAGES,
)
def test_sums_of_money_come_back(cents: int, currency: str, language: str) -> None:
    amount = f"{cents / 100:.2f}".rstrip("0").rstrip(".")
    back("money", f"{amount} {currency}", language)


@given(number=st.integers(1, 500), language=LANGUAGES)
def test_numbers_come_back(number: int, language: str) -> None:
    back("number", str(number), language)


@given(minutes=st.integers(1, 1439), language=LANGUAGES)
def test_durations_come_back(minutes: int, language: str) -> None:
    back("duration", str(minutes), language)


@pytest.mark.parametrize(
    ("kind", "value", "language", "said"),
    [
        ("date", "2026-05-13", "en", "today"),
        ("date", "2026-05-14", "en", "tomorrow"),
        ("date", "2026-05-15", "en", "Friday"),
        ("date", "2026-06-12", "en", "the 12th of June"),
        ("date", "2028-05-12", "en", "the 12th of May 2028"),
        ("date", "2026-05-15", "zh", "后天"),
        ("date", "2026-05-16", "zh", "周六"),
        ("date", "2026-06-12", "zh", "六月十二号"),
        ("time", "14:30", "en", "2:30 pm"),
        ("time", "12:00", "en", "noon"),
        ("time", "14:30", "zh", "下午两点半"),
        ("time_range", "10:00-12:00", "en", "10 to 12"),
        ("time_range", "14:00-16:00", "en", "2 to 4 pm"),
        ("time_range", "10:00-14:30", "en", "10 am to 2:30 pm"),
        ("time_range", "10:00-12:00", "zh", "上午十点到十二点"),
        ("time_range", "14:00-16:00", "zh", "下午两点到四点"),
        ("money", "50 EUR", "en", "50 euros"),
        ("money", "1 USD", "en", "1 dollar"),
        ("money", "500 CNY", "zh", "五百元"),
        ("duration", "90", "en", "1 hour 30 minutes"),
        ("quantity", "3 箱", "zh", "三箱"),
        ("quantity", "100 box", "en", "100 boxes"),
        ("flag", "yes", "en", "yes"),
        ("code", "A302", "en", "A302"),
        ("text", "visiting a customer", "en", "visiting a customer"),
        ("date", "some day", "en", "some day"),
    ],
)
def test_values_are_said_as_people_say_them(
    kind: str, value: str, language: str, said: str
) -> None:
    assert spoken(kind, value, language, NOW) == said
