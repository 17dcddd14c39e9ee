"""Where a spoken secret ends, what says that there is none, and the words around it."""

from __future__ import annotations

import re
from functools import cache

from assistant.redact.lexicon import CJK, SPELLED, Cue, cues, either, grammars, table, word

_REDACTED = re.compile(either(rf"\[{cue.gives.lower()}\]" for cue in cues()))
STRONG = re.compile(
    r"[a-z][0-9]|[0-9][a-z](?<![0-9]s)|[0-9]{3}|[a-z][零一二三四五六七八九]|[零一二三四五六七八九]{3}|"
    r"[a-z0-9][@$%^&*_#!=+~][a-z0-9@$%^&*#!]|(?<![a-z])[a-z] [a-z] [a-z](?![a-z])"
)
"""in plain text: what no ordinary word looks like"""
WORD = re.compile(rf"[a-z0-9']+|[{CJK}]")
_SENTENCE = r"[.!?;](?=[\"')\]]*(?:\s|$))|[!?;](?=[\u4e00-\u9fff])|[。\n]"
_SENTENCE_END = re.compile(_SENTENCE)
_MASK = str.maketrans(".,;", "   ")
Words = tuple[int, int]
NEAR = 80
"""characters around a name that are looked at, where no clause says how many"""


def masked(low: str) -> str:
    """As long, without the stops between what is spelled and the words of what is redacted."""
    low = _REDACTED.sub(lambda match: "[" + "_" * (len(match[0]) - 2) + "]", low)
    return SPELLED.sub(lambda match: match[0].translate(_MASK), low)


@cache
def stop() -> re.Pattern[str]:
    en, zh = (table()[name]["grammar"] for name in ("en", "zh"))
    joint = either(en["joints"])
    return re.compile(
        rf"{_SENTENCE}"
        rf"|[\s,]+(?<![a-z]){either(en['breaks'])}(?![a-z])"
        rf"|\s*,\s*(?:{joint}\s+)*(?={either(en['starts'])})"
        rf"|\s+{joint}\s+(?:{joint}\s+)*(?={either(en['starts'])})"
        rf"|[,、\s]*{either(zh['breaks'])}"
        rf"|\s*[,、]\s*{either(zh['joints'])}?(?={either(zh['starts'])})"
    )


def clause_end(low: str, at: int) -> int:
    match = stop().search(low, at)
    return match.start() if match else len(low)


def sentence_start(low: str, end: int) -> int:
    start = 0
    for match in _SENTENCE_END.finditer(low, 0, end):
        start = match.end()
    return start


def innocent(value: str) -> bool:
    """Said of the secret, without telling it: "too long", "on the fridge", "[password]"."""
    if value.startswith("[") and "]" in value:
        return True
    english, chinese = grammars()
    if chinese.innocent.match(value):
        return not STRONG.search(value)
    match = english.innocent.match(value)
    return match is not None and not STRONG.search(value)


def other_code(cue: Cue, low: str, start: int) -> bool:
    """ "room code", "zip code": a bare code of which something says that it is none of ours."""
    return cue.said == "bare" and open().search(low, max(0, start - NEAR), start) is not None


def trimmed(low: str, start: int, end: int) -> Words:
    while start < end and low[start] in " \t,.:;\"'()、，。-":
        start += 1
    while end > start and low[end - 1] in " \t,.:;\"'()?、，。":
        end -= 1
    return start, end


def length(value: str) -> float:
    return sum(0.5 if one >= "\u4e00" else 1 for one in WORD.findall(value))


def bare_words(value: str) -> bool:
    """A few words that do not go on about the secret."""
    return len(WORD.findall(value)) <= 5 and not going_on().match(value)


@cache
def going_on() -> re.Pattern[str]:
    return re.compile(
        r"(?:an?|the|my|your|not|very|so|too|just|about|time|because|been|on|in|for|hard|easy)\b"
    )


@cache
def open() -> re.Pattern[str]:
    return re.compile(rf"{word(table()['open']['en'])}[\s-]+$")


@cache
def unit() -> re.Pattern[str]:
    en, zh = (table()[name]["grammar"] for name in ("en", "zh"))
    return re.compile(rf"[\s-]*(?:{either(en['units'])}(?![a-z])|{either(zh['units'])})")


@cache
def used() -> re.Pattern[str]:
    """What stands before a name that its value follows at once: "log in with password …"."""
    en = table()["en"]["grammar"]
    return re.compile(
        rf"(?<![a-z])(?:{either(en['with'])}\s+(?:(?:{either(en['owner'])}|{either(en['new'])})\s+)*"
        rf"|(?:^|[.!?,;]\s*|(?:and|so|but)\s+)(?:is|was|isn't)\s+(?:{either(en['owner'])}\s+)"
        rf"(?:{either(en['new'])}\s+)*)$"
    )


@cache
def numbered() -> re.Pattern[str]:
    """A number at the end of a few words: "blue horse forty two"."""
    numbers = either(table()["numbers"])
    return re.compile(rf"^(?:[a-z]+ ){{1,5}}(?:[0-9]{{2,}}|{numbers}(?: {numbers})*)$")


@cache
def colon() -> re.Pattern[str]:
    return re.compile(r"[:=]")


@cache
def use() -> re.Pattern[str]:
    """ "I use … as my password", 用…当密码"""
    en = table()["en"]["grammar"]
    zh = table()["zh"]["grammar"]
    return re.compile(rf"{word(en['use'])}\s+|{either(zh['use'])}")


@cache
def ends_open() -> re.Pattern[str]:
    en = table()["en"]["grammar"]
    return re.compile(
        rf"(?<![a-z]){either(en['not_before'])}$|[的不道是]$|(?<![a-z])(?:but|if|that)$"
    )


@cache
def reverse_end() -> re.Pattern[str]:
    return re.compile(
        r"\s*(?:$|[.,!?;。、]|(?:for|to|on|of|at|in|and|but|please|now|from|so|then|because|by|when|"
        r"okay|ok|i|you|don't|do|remember)(?![a-z])|请|帮|你|别|记|不|吧|哦|啊|呢|然后|但)"
    )


@cache
def correction() -> re.Pattern[str]:
    words = table()["asked"]["corrections"]
    return re.compile(rf"[\s,.]*(?:(?:{either(words)})[\s,.]*)+")


@cache
def comma() -> re.Pattern[str]:
    """ "for the router, admin1234", 来了，七七一二"""
    gap = either(table()["en"]["grammar"]["gap"])
    return re.compile(rf" {gap}(?: [a-z'-]+){{0,5}},\s+(?=\S+(?:[.,!?;]|$))|[{CJK}]{{1,8}},\s*")


@cache
def that() -> re.Pattern[str]:
    return re.compile(r"(?<=\w)[,;]\s*(?:(?:that|this|which|it)|[这那它]就?)$")


@cache
def others() -> re.Pattern[str]:
    return re.compile(rf"[\s,.;]*{either(table()['asked']['others'])}")


@cache
def asking() -> re.Pattern[str]:
    asked = table()["asked"]
    return re.compile(either([word(asked["en"]), *asked["zh"]]))


@cache
def assent() -> re.Pattern[str]:
    """ "Sure, it's …": what may stand before an answer."""
    return re.compile(rf"(?:{either(table()['asked']['assents'])}[\s,.!。]*)*")


@cache
def refusal() -> re.Pattern[str]:
    en, zh = table()["asked"]["refusals"]
    return re.compile(rf"(?:{en})(?![a-z0-9])|(?:{zh})")
