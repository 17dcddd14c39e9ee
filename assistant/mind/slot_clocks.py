"""How times of day are said: the regular expressions of each language, over digits."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from assistant.mind.slot_view import either, words


@dataclass(frozen=True, slots=True)
class Grammar:
    """Patterns over View.digits; those that look at what stands before end with $."""

    time: re.Pattern[str]
    """a time: groups moment, long, hour, past_hour, minute, past, before, colon, …"""
    atom: re.Pattern[str]
    """a time without "10 to 12" for ten minutes to twelve: a side of a span"""
    joiner: re.Pattern[str]
    """between the sides of a span"""
    lead: re.Pattern[str]
    """before a span: "from", or a day"""
    cue: re.Pattern[str]
    """before a bare hour: "at" """
    ending: re.Pattern[str]
    """after a bare hour: nothing that it could count"""
    counted: re.Pattern[str]
    """after a number that is no hour: "people", "minutes" """
    until: re.Pattern[str]
    since: re.Pattern[str]
    ahead: re.Pattern[str]
    """before a length that counts from now: "in" """
    behind: re.Pattern[str]
    """after a length that counts from now: 之后"""
    part: re.Pattern[str]
    """parts of the day, one group each"""


@cache
def grammar(language: str) -> Grammar:
    """The patterns of a language."""
    return _chinese(language) if language == "zh" else _english(language)


def _parts(language: str) -> str:
    table = words(language)["parts"]
    return "|".join(f"(?P<{name}>{table[name][1]})" for name in table)


def _any_part(language: str) -> str:
    table = words(language)["parts"]
    return "(?:" + "|".join(table[name][1] for name in table if name != "day") + ")"


def money_words(language: str) -> str:
    """The alternatives of all words for currencies."""
    return "|".join(word for each in words(language)["money"].values() for word in each)


_NEVER = re.compile(r"(?!)")


def _english(language: str) -> Grammar:
    half = "(?:" + "|".join([*words(language)["am"], *words(language)["pm"]]) + ")"
    moments = "|".join(words(language)["moments"])
    past, before = either(language, "past"), either(language, "before")
    currencies = money_words(language)
    oh, clock = either(language, "oh"), either(language, "clock_words")
    tail = (
        rf"(?: ?(?P<clock>{clock})\b)?(?: ?(?P<half>{half}))?"
        rf"(?:,? (?:(?:in the|at|this|tomorrow|today|in) )?(?P<part>{_any_part(language)})\b"
        rf"| (?=tonight))?"
    )
    side = "(?:-|to |until |till )"

    def pattern(some_past: str, some_before: str) -> re.Pattern[str]:
        return re.compile(
            rf"(?<![\w:/$€£¥])(?<!\d[.,])(?<![a-ln-z]-)(?!(?<=\d{{4}}-)\d\d-)(?<!\d\d-\d\d-)"
            rf"(?:(?P<moment>{moments})\b|"
            rf"(?:(?:(?P<past>{some_past}) {past}|"
            rf"(?<!from )(?<!between )(?P<before>{some_before}) {before}) "
            rf"(?P<past_hour>\d{{1,2}})(?![\d:/])|"
            rf"(?P<long>(?:[01]?\d|2[0-3])[0-5]\d)(?!\d|[:.,/]\d|%|st|nd|rd|th)"
            rf"(?:(?P<hours> ?(?:hours|hrs)\b)|(?<=\bat \d{{4}})|(?<=\bat \d{{3}})|"
            rf"(?= ?{side}\d{{1,4}}\b)|(?<=\d-\d{{3}})|(?<=\d-\d{{4}})|(?<= to \d{{3}})|"
            rf"(?<= to \d{{4}}))|"
            rf"(?P<hour>\d{{1,2}})(?:(?:(?P<colon>[:.h])|-(?=[345]\d)|,? (?:{oh} )?)"
            rf"(?P<minute>(?<= {oh[3]} )\d|(?<= oh )\d|[0-5]\d)(?!\d|[:.,/]\d|%|st|nd|rd|th))?"
            rf"(?![\d:/%€$£]|[.,]\d|st\b|nd\b|rd\b|th\b)){tail})"
        )

    days = "|".join([*words(language)["days"], *words(language)["weekdays"]])
    fraction = r"half|a quarter|quarter|\d{1,2} minutes?|[12]?5|[12]0"
    table = _parts(language)
    return Grammar(
        time=pattern(fraction, fraction.removeprefix("half|")),
        atom=pattern(fraction, r"a quarter|quarter|\d{1,2} minutes?"),
        joiner=re.compile(rf"(?: ?[-~] ?|,? (?:(?P<and>and)|{either(language, 'range_words')}) )"),
        lead=re.compile(
            rf"\b(?:(?P<between>between)|from|(?P<day>{days}|(?<!good ){_any_part(language)})),? $"
        ),
        cue=re.compile(rf"(?:\b{either(language, 'at')}|@)(?: (?:about|around|exactly))? $"),
        ending=re.compile(
            rf"(?=\s*(?:$|[^\w\s%€$£])|\s+(?:{either(language, 'after_range')}|"
            rf"{either(language, 'range_words')})\b)"
        ),
        counted=re.compile(
            rf" ?(?:{either(language, 'counted')}|hours?|hrs?|minutes?|mins?|days?|weeks?|months?|"
            rf"%|percent|{currencies})(?!\w)"
        ),
        until=re.compile(r"\b(?:(?P<after>after|from|since)|(?P<before>before|until|till|by)) $"),
        since=re.compile(r" (?P<after>or later|onwards?)\b"),
        ahead=re.compile(r"\b(?:in|within) (?:about )?$"),
        behind=re.compile(r" from now\b"),
        part=re.compile(
            rf"(?<!good )\b(?:(?:in|during|over|for|at) )?(?:(?:the|all|this|early|late) )*"
            rf"(?:{table})s?\b"
        ),
    )


def _chinese(language: str) -> Grammar:
    parts, moments = _any_part(language), "|".join(words(language)["moments"])
    half = "(?:" + "|".join([*words(language)["am"], *words(language)["pm"]]) + ")"
    currencies = money_words(language)
    counted = either(language, "counted")  # "四点十个人" is four o'clock, for ten
    minute = rf"半|[123]刻|[0-5]?\d(?=分(?!钟))|0\d|[1-5]\d(?!{counted})"
    stops = r"(?<![第有这那几\d.:/])"
    one = r"(?<![早快好大多少慢高低])1(?=点(?:[半钟整过到至\d~-]|[之以前后开见]|\s*(?:$|[^\w\s])))"
    bare = rf"(?:{one}|(?!1点)\d{{1,2}})"
    joiner = r"\s*(?:到|至|-+|~)\s*"

    def pattern(bare_hours: str) -> re.Pattern[str]:
        return re.compile(
            rf"(?P<moment>{moments})(?!的?[,\s]*\d)(?P<long>(?!))?(?P<hours>(?!))?|"
            rf"(?:(?P<part>{parts})的?[,\s]*)?(?P<past>(?!))?"
            rf"(?:差(?P<before>1刻|\d{{1,2}}分钟?)(?P<past_hour>\d{{1,2}})点|"
            rf"{stops}(?:(?P<hour>{bare}(?=点|时(?![间候])|:)|{bare_hours})"
            rf"(?:(?P<colon>:(?=\d\d)|点|时(?![间候长])))?(?P<clock>钟|整)?(?:过)?(?P<minute>{minute})?分?"
            rf"(?: ?(?P<half>{half}))?))"
        )

    return Grammar(
        time=pattern(r"\d{1,2}(?!\d|[^\s,.!?;吧啊呢了])"),
        atom=pattern(r"\d{1,2}(?!\d|[^\s,.!?;吧啊呢了到至~-])"),
        joiner=re.compile(rf"(?P<and>(?!))?{joiner}"),
        lead=re.compile(r"(?:从|在)(?P<between>(?!))?(?P<day>(?!))?$"),
        cue=re.compile(r"(?!)"),
        ending=_NEVER,
        counted=re.compile(rf"(?:{counted}|{currencies})"),
        until=_NEVER,
        since=re.compile(r"(?:(?P<after>之后|以后|后|开始|起)|(?P<before>之前|以前|前))"),
        ahead=_NEVER,
        behind=re.compile(r"(?:之后|以后|后)"),
        part=re.compile(rf"(?:{_parts(language)})(?!{either(language, 'greetings_after')})"),
    )
