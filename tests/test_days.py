"""Days in kept sentences: absolute when they are stored, as a person says them when read."""

from __future__ import annotations

import re
from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.mind.days import absolute, day_of, relative

MONDAY = date(2026, 11, 30)
DAYS = st.dates(date(2000, 1, 1), date(2090, 12, 31))


def user(said: str) -> str:
    return f"The user {said}."


@pytest.mark.parametrize(
    ("said", "stored"),
    [
        (
            "has a dentist appointment tomorrow at ten",
            "has a dentist appointment on 2026-12-01 at ten",
        ),
        (
            "has got an exam on Thursday at half past two",
            "has got an exam on 2026-12-03 at half past two",
        ),
        (
            "is meeting the landlord next Monday at nine",
            "is meeting the landlord on 2026-12-07 at nine",
        ),
        ("is free on Monday", "is free on 2026-12-07"),
        ("is free this Monday", "is free on 2026-11-30"),
        ("is free today", "is free on 2026-11-30"),
        ("has the interview the day after tomorrow", "has the interview on 2026-12-02"),
        ("takes the train in three days", "takes the train on 2026-12-03"),
        ("has a meeting in two weeks", "has a meeting on 2026-12-14"),
        ("has to pay on the 5th", "has to pay on 2026-12-05"),
        ("starts work on the first of March", "starts work on 2027-03-01"),
        ("needs the report by Friday", "needs the report by 2026-12-04"),
        ("is nervous about tomorrow's exam", "is nervous about 2026-12-01's exam"),
        ("is in Rome from Monday to Friday", "is in Rome from 2026-12-07 to 2026-12-11"),
        ("cooks dinner tonight", "cooks dinner on 2026-11-30 in the evening"),
        ("has an exam on Friday morning", "has an exam on 2026-12-04 in the morning"),
        ("is going to Italy in May", "is going to Italy in May 2027"),
        ("travels next week", "travels in the week of 2026-12-07"),
        ("is away this weekend", "is away on the weekend of 2026-12-05"),
        ("moves next month", "moves in December 2026"),
        ("is getting married next year", "is getting married in 2027"),
        # what has happened
        ("saw the doctor yesterday", "saw the doctor on 2026-11-29"),
        ("met Anna last Friday", "met Anna on 2026-11-27"),
        ("met Anna on Friday", "met Anna on 2026-11-27"),
        ("visited Rome in May", "visited Rome in May 2026"),
        ("quit smoking two years ago", "quit smoking in 2024"),
        ("moved to Leeds last year", "moved to Leeds in 2025"),
    ],
)
def test_dates_are_made_absolute(said: str, stored: str) -> None:
    assert absolute(user(said), MONDAY) == user(stored)


@pytest.mark.parametrize(
    ("said", "stored"),
    [
        ("用户明天上午十点有牙医预约。", "用户在2026-12-01上午十点有牙医预约。"),
        ("用户后天要开会。", "用户在2026-12-02要开会。"),
        ("用户大后天去北京。", "用户在2026-12-03去北京。"),
        ("用户下周三要去上海出差。", "用户在2026-12-09要去上海出差。"),
        ("用户这周五考试。", "用户在2026-12-04考试。"),
        ("用户的牙医预约是星期四上午九点。", "用户的牙医预约是2026-12-03上午九点。"),
        ("用户三天后考试。", "用户在2026-12-03考试。"),
        ("用户5号要交房租。", "用户在2026-12-05要交房租。"),
        ("用户下个月3号搬家。", "用户在2026-12-03搬家。"),
        ("用户今晚和朋友吃饭。", "用户在2026-11-30晚上和朋友吃饭。"),
        ("会议改到周五。", "会议改到2026-12-04。"),
        ("用户七月要去意大利。", "用户在2027年7月要去意大利。"),
        ("用户明年五月结婚。", "用户在2027年5月结婚。"),
        ("用户周末要去爬山。", "用户在2026-12-05那个周末要去爬山。"),
        ("用户昨天去了医院。", "用户在2026-11-29去了医院。"),
        ("用户周五见了小王。", "用户在2026-11-27见了小王。"),
        ("用户去年搬到上海。", "用户在2025年搬到上海。"),
    ],
)
def test_dates_are_made_absolute_in_chinese(said: str, stored: str) -> None:
    assert absolute(said, MONDAY) == stored


@pytest.mark.parametrize(
    "text",
    [
        "The user swims every Monday.",
        "The user swims on Mondays.",
        "The user usually cooks on Sunday.",
        "The user works from Monday to Friday.",
        "The user likes the Friday meeting.",
        "The user lives at 14 Park Road.",
        "The user lives at 12 May Street.",
        "The user has a daughter called April.",
        "The user may come.",
        "The user's birthday is on the third of June.",
        "The user was born on 3 May 1990.",
        "The user eats 1/2 a pizza.",
        "The user called at five.",
        "用户每周一去游泳。",
        "用户周一到周五上班。",
        "用户住在中山路5号。",
        "用户的生日是八月八号。",
        "用户今年四十五岁。",
        "用户喜欢喝绿茶。",
    ],
)
def test_what_names_no_single_day_stays_as_it_was_said(text: str) -> None:
    assert absolute(text, MONDAY) == text
    assert relative(text, MONDAY) == text


def test_a_birthday_comes_every_year() -> None:
    assert absolute(user("'s birthday is tomorrow"), MONDAY) == user("'s birthday is on 1 December")
    assert absolute("明天是用户的生日。", MONDAY) == "12月1日是用户的生日。"


@pytest.mark.parametrize(
    ("away", "said"),
    [
        (-30, "on 31 October"),
        (-7, "last Monday"),
        (-3, "last Friday"),
        (-1, "yesterday"),
        (0, "today"),
        (1, "tomorrow"),
        (2, "on Wednesday"),
        (6, "on Sunday"),
        (7, "on 7 December"),
        (40, "on 9 January 2027"),
    ],
)
def test_a_date_is_said_as_a_person_would_today(away: int, said: str) -> None:
    day = MONDAY + timedelta(away)
    assert relative(f"The user flies on {day}.", MONDAY) == f"The user flies {said}."


@pytest.mark.parametrize(
    ("away", "said"),
    [(-1, "昨天"), (0, "今天"), (1, "明天"), (4, "周五"), (8, "在12月8日"), (40, "在2027年1月9日")],
)
def test_a_date_is_said_as_a_person_would_today_in_chinese(away: int, said: str) -> None:
    day = MONDAY + timedelta(away)
    assert relative(f"用户在{day}要去上海。", MONDAY) == f"用户{said}要去上海。"


def test_the_day_it_is_about() -> None:
    assert day_of("The user flies from 2026-12-01 to 2026-12-05.") == "2026-12-05"
    assert day_of("The user is in Italy in May 2027.") == "2027-05-31"
    assert day_of("The user travels in the week of 2026-12-07.") == "2026-12-13"
    assert day_of("用户在2027年7月要去意大利。") == "2027-07-31"
    assert day_of("The user likes tea.") == ""
    assert day_of("The user has ticket 2026-99-99.") == ""


PHRASES = st.sampled_from(
    [
        "today",
        "tomorrow",
        "tonight",
        "tomorrow morning",
        "the day after tomorrow",
        "on Friday",
        "next Monday",
        "this Sunday",
        "next Tuesday",
        "in three days",
        "in two weeks",
        "on the 5th",
        "on 3 March",
        "this weekend",
        "next week",
        "in May",
        "next month",
        "in ten days",
        "on Saturday night",
        "on December 31st",
    ]
)
PHRASES_ZH = st.sampled_from(
    [
        "今天",
        "明天",
        "后天",
        "大后天",
        "周五",
        "下周三",
        "三天后",
        "5号",
        "下个月3号",
        "今晚",
        "周末",
        "下周",
        "五月",
        "三月八号",
    ]
)


@given(PHRASES, DAYS)
def test_said_back_on_the_same_day_it_means_the_same(phrase: str, today: date) -> None:
    stored = absolute(f"The user has an exam {phrase}.", today)
    said = relative(stored, today)
    assert absolute(said, today) == stored
    assert not re.search(r"\bon (?:today|tomorrow|yesterday|last|next|this)\b|  ", said)
    assert day_of(stored) >= today.isoformat()


@given(PHRASES_ZH, DAYS)
def test_said_back_on_the_same_day_it_means_the_same_in_chinese(phrase: str, today: date) -> None:
    stored = absolute(f"用户{phrase}要考试。", today)
    said = relative(stored, today)
    assert absolute(said, today) == stored
    assert day_of(stored) >= today.isoformat()


@given(PHRASES, DAYS, DAYS)
def test_a_stored_date_does_not_move(phrase: str, today: date, later: date) -> None:
    stored = absolute(f"The user has an exam {phrase}.", today)
    assert absolute(stored, later) == stored


@given(st.text(max_size=80), DAYS)
def test_any_text_is_survived(text: str, today: date) -> None:
    day_of(relative(absolute(text, today), today))


@given(st.integers(1, 400), DAYS)
def test_a_future_date_survives_being_said_and_heard(away: int, today: date) -> None:
    day = today + timedelta(away)
    for stored in (f"The user flies on {day}.", f"用户在{day}要去上海。"):
        assert absolute(relative(stored, today), today) == stored
