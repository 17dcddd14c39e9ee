"""Secrets that are announced: "my password is …", "… is the PIN", 密码是…

A spoken password has no end of its own: it goes on until its sentence does, or until what is
clearly another clause begins. Inside the clause too much is taken rather than too little.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from assistant.redact.lexicon import (
    CJK,
    CODE,
    SPELLED,
    Cue,
    Grammar,
    cues,
    digits_in,
    either,
    grammars,
    table,
    word,
)
from assistant.redact.shapes import Span, random_looking

MANY = 12
"""words of the shortest seed phrase"""
SERIAL = ("ID number", "account number")
"""kinds that may begin with two letters"""
TOKEN = 6
"""characters of the shortest key"""
SHORT = 8
"""words of an answer that may be nothing but the secret"""
_QUOTED = re.compile(r"\s*\"([^\"]+)\"")
_STRONG = re.compile(
    r"[a-z][0-9]|[0-9][a-z](?<![0-9]s)|[0-9]{3}|[a-z][零一二三四五六七八九]|[零一二三四五六七八九]{3}|[a-z0-9][@$%^&*_#!=+~][a-z0-9@$%^&*#!]|(?<![a-z])[a-z] [a-z] [a-z](?![a-z])"
)
"""in plain text: what no ordinary word looks like"""
_REDACTED = re.compile(either(rf"\[{cue.gives.lower()}\]" for cue in cues()))
_WORD = re.compile(rf"[a-z0-9']+|[{CJK}]")
_SENTENCE = r"[.!?;](?=[\"')\]]*(?:\s|$))|[!?;](?=[\u4e00-\u9fff])|[。\n]"
_SENTENCE_END = re.compile(_SENTENCE)
_CHUNK = re.compile(r"[^\s,。、；！？]+")
_PARTICLE = re.compile(r"\s+(?:in|down)$")
_SERIES = re.compile(r"[a-z]{2} (?=[0-9])")
_GROUPED = re.compile(r"[A-Z0-9]{3,}(?:-[A-Z0-9]{2,})+")
_MASK = str.maketrans(".,;", "   ")
_Words = tuple[int, int]


def announced(low: str, text: str) -> list[Span]:
    """Every secret that is announced in the text. `low`: the plain text."""
    spans: list[Span] = []
    taken: list[_Words] = []
    masked = ""
    for cue in cues():
        if not any(hint in low for hint in cue.hints):
            continue
        masked = masked or _masked(low)
        for noun in cue.noun.finditer(masked):
            start, end = noun.span()
            if any(first < end and start < last for first, last in taken):
                continue  # part of a secret already, or of a longer name
            if found := list(_Reader(cue, masked, text).read(start, end)):
                taken += [(start, end), *((one.start, one.end) for one in found)]
                spans += found
    return spans


def _masked(low: str) -> str:
    """As long, without the stops between what is spelled and the words of what is redacted."""
    low = _REDACTED.sub(lambda match: "[" + "_" * (len(match[0]) - 2) + "]", low)
    return SPELLED.sub(lambda match: match[0].translate(_MASK), low)


def answered(low: str, after: str) -> list[Span]:
    """The secret that was asked for just before, or that the last words broke off at."""
    cue = _wanted(after)
    if cue is None:
        return []
    masked = _masked(low)
    if cue.least:
        runs = [one for one in CODE.finditer(masked) if digits_in(one.group()) >= cue.least]
        return [Span(*_trimmed(masked, *one.span()), cue.gives) for one in runs]
    start = 0
    for grammar in grammars():
        start = max(start, grammar.lead.match(masked).end())  # type: ignore[union-attr]
    start, end = _trimmed(masked, start, _clause_end(masked, start))
    value = masked[start:end]
    if not value or _refusal().match(value) or _innocent(value):
        return []
    if len(_WORD.findall(value)) > SHORT and not _STRONG.search(value) and cue.said != "many":
        return []
    return [Span(start, len(low) if cue.said == "many" else end, cue.gives)]


def _wanted(after: str) -> Cue | None:
    """The cue of the last sentence when it asks, or when nothing comes after its "is"."""
    for cue in cues():
        if not any(hint in after for hint in cue.hints):
            continue
        for noun in reversed(list(cue.noun.finditer(after))):
            open_end = any(
                (match := way.match(after, noun.end())) and match.end() >= len(after) - 1
                for grammar in grammars()
                for way in grammar.after
            )
            if (open_end or _asking().search(after)) and not _other_code(cue, after, noun.start()):
                return cue
    return None


class _Reader:
    """Reads the values around one cue."""

    def __init__(self, cue: Cue, low: str, text: str) -> None:
        self._cue = cue
        self._low = low
        self._text = text

    def read(self, start: int, end: int) -> Iterator[Span]:
        """The values of the name at low[start:end]."""
        if _other_code(self._cue, self._low, start):
            return
        found = self._forward(start, end) or self._backward(start, end)
        while found is not None:
            yield Span(*found, self._cue.gives)
            found = self._corrected(found[1])

    def _forward(self, start: int, end: int) -> _Words | None:
        linked = False
        for grammar in grammars():
            for way in grammar.after:
                match = way.match(self._low, end)
                if match and (found := self._value(match.end())):
                    return found
                linked = linked or (match is not None and way is grammar.after[0])
        match = _comma().match(self._low, end)  # "the password for the router, admin1234"
        if match and _STRONG.search(self._low, match.end(), _clause_end(self._low, match.end())):
            if found := self._value(match.end()):
                return found
        for grammar in grammars():
            match = grammar.here.match(self._low, end)
            if match and (found := self._value(match.end(), doubtful=True)):
                return found
        return None if linked else self._adjacent(start, end)

    def _adjacent(self, start: int, end: int) -> _Words | None:
        """ "password hunter2", 密码1234: no word between the two."""
        english, chinese = grammars()
        after = english.lead.match(self._low, end)
        assert after is not None
        at = after.end()
        if self._cue.said not in ("words", "many"):
            return self._value(at)
        if english.not_after.match(self._low, at) or chinese.not_after.match(self._low, at):
            return None
        value = self._low[at : _clause_end(self._low, at)]
        chunk = _CHUNK.match(self._low, at)
        spelled = CODE.match(self._low, at)
        sure = (
            (chunk and _STRONG.search(chunk.group()))
            or (spelled and digits_in(spelled.group()) >= 3)
            or _QUOTED.match(self._low, at)
            or (value and _numbered().search(value))
            or _used().search(self._low, 0, start)
            or _colon().search(self._low, end, at)
        )
        if not sure or (spelled and self._measured(spelled.end())):
            return None
        return self._value(at)

    def _value(self, at: int, *, doubtful: bool = False) -> _Words | None:
        """The value that begins here."""
        said = self._cue.said
        if said in ("code", "bare"):
            return self._code(at)
        if said == "token":
            return self._token(at)
        quoted = _QUOTED.match(self._low, at)
        if quoted:
            return quoted.span(1)
        end = self._many(at) if said == "many" else _clause_end(self._low, at)
        start, end = _trimmed(self._low, at, end)
        value = self._low[start:end]
        if not value or _innocent(value):
            return None
        if doubtful and not _STRONG.search(value) and not _bare_words(value):
            return None
        return start, end

    def _many(self, at: int) -> int:
        """A seed phrase goes on over full stops until it has its words."""
        end = _clause_end(self._low, at)
        while end < len(self._low) and _length(self._low[at:end]) < MANY:
            end = _clause_end(self._low, end + 1)
        return end

    def _code(self, at: int) -> _Words | None:
        letters = _SERIES.match(self._low, at) if self._cue.gives in SERIAL else None
        match = CODE.match(self._low, letters.end() if letters else at)
        if not match:
            return None
        end = match.end()
        if self._measured(end):  # "4711. 3 people": the last number counts something else
            last = self._low.rfind(" ", at, end)
            if last < 0:
                return None
            end = last
        start, end = _trimmed(self._low, at, end)
        piece = self._low[start:end]
        if digits_in(piece) < self._cue.least:
            return None
        if self._cue.said == "bare" and re.search(r"[a-z][- ]?[0-9]|[0-9][a-z]", piece):
            return None  # A302, O-1002
        return start, end

    def _measured(self, end: int) -> bool:
        return _unit().match(self._low, end) is not None

    def _token(self, at: int) -> _Words | None:
        chunk = _CHUNK.match(self._text, at)
        code = CODE.match(self._low, at)
        end = chunk.end() if chunk else at
        whole = self._text[at:end].rstrip(".,;!?")
        strong = _STRONG.search(whole.lower()) or random_looking(whole) or _GROUPED.match(whole)
        if code and digits_in(code.group()) >= 2 and code.end() >= end:
            strong, end = strong or code, code.end()
        if not strong or end - at < TOKEN:
            return None
        return _trimmed(self._low, at, end)

    def _backward(self, start: int, end: int) -> _Words | None:
        """ "hunter2 is my password", 用蓝马当密码"""
        if not _reverse_end().match(self._low, end):
            return None
        begin = _sentence_start(self._low, start)
        for grammar in grammars():
            match = grammar.before.search(self._low, begin, start)
            if match and (found := self._before(grammar, begin, match.start())):
                return found
        return None

    def _before(self, grammar: Grammar, begin: int, end: int) -> _Words | None:
        if match := _that().search(self._low, begin, end):
            end = match.start()  # "…, that's my password"
        if match := _PARTICLE.search(self._low, begin, end):
            end = match.start()  # "put … in as my password"
        if self._cue.said in ("code", "bare", "token"):
            return self._code_before(begin, end)
        used = None
        for used in _use().finditer(self._low, begin, end):
            break
        start = used.end() if used else begin
        start, end = _trimmed(self._low, start, end)
        value = self._low[start:end]
        if not value or grammar.not_before.match(value) or _ends_open().search(value):
            return None
        linked = re.match(r"\s*(?:as|for|into|in|to)\b", self._low[end:])
        if linked and not used and not _STRONG.search(value):
            return None  # "thanks for the password"
        return None if _innocent(value) else (start, end)

    def _code_before(self, begin: int, end: int) -> _Words | None:
        for match in CODE.finditer(self._low, begin, end):
            start, stop = _trimmed(self._low, *match.span())
            if stop >= end - 1 and digits_in(self._low[start:stop]) >= max(self._cue.least, 3):
                bare = self._cue.said == "bare" and re.search(r"[a-z]", self._low[start:stop])
                return None if bare else (start, stop)
        return None

    def _corrected(self, end: int) -> _Words | None:
        """ "4711, no, 4712": both."""
        match = _others().match(self._low, end)
        if match is None and self._cue.said in ("code", "bare"):
            match = _correction().match(self._low, end)
        return self._value(match.end()) if match else None


# ── where a value ends, and what is none ──


@cache
def _stop() -> re.Pattern[str]:
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


def _clause_end(low: str, at: int) -> int:
    match = _stop().search(low, at)
    return match.start() if match else len(low)


def _sentence_start(low: str, end: int) -> int:
    start = 0
    for match in _SENTENCE_END.finditer(low, 0, end):
        start = match.end()
    return start


def _innocent(value: str) -> bool:
    """Said of the secret, without telling it: "too long", "on the fridge", "[password]"."""
    if value.startswith("[") and "]" in value:
        return True
    english, chinese = grammars()
    if chinese.innocent.match(value):
        return not _STRONG.search(value)
    match = english.innocent.match(value)
    return match is not None and not _STRONG.search(value)


def _other_code(cue: Cue, low: str, start: int) -> bool:
    """ "room code", "zip code": a bare code of which something says that it is none of ours."""
    return cue.said == "bare" and _open().search(low, 0, start) is not None


def _trimmed(low: str, start: int, end: int) -> _Words:
    while start < end and low[start] in " \t,.:;\"'()、，。-":
        start += 1
    while end > start and low[end - 1] in " \t,.:;\"'()?、，。":
        end -= 1
    return start, end


def _length(value: str) -> float:
    return sum(0.5 if one >= "\u4e00" else 1 for one in _WORD.findall(value))


def _bare_words(value: str) -> bool:
    """A few words that do not go on about the secret."""
    return len(_WORD.findall(value)) <= 5 and not _going_on().match(value)


@cache
def _going_on() -> re.Pattern[str]:
    return re.compile(
        r"(?:an?|the|my|your|not|very|so|too|just|about|time|because|been|on|in|for|hard|easy)\b"
    )


@cache
def _open() -> re.Pattern[str]:
    return re.compile(rf"{word(table()['open']['en'])}[\s-]+$")


@cache
def _unit() -> re.Pattern[str]:
    en, zh = (table()[name]["grammar"] for name in ("en", "zh"))
    return re.compile(rf"[\s-]*(?:{either(en['units'])}(?![a-z])|{either(zh['units'])})")


@cache
def _used() -> re.Pattern[str]:
    """What stands before a name that its value follows at once: "log in with password …"."""
    en = table()["en"]["grammar"]
    return re.compile(
        rf"(?<![a-z])(?:{either(en['with'])}\s+(?:(?:{either(en['owner'])}|{either(en['new'])})\s+)*"
        rf"|(?:^|[.!?,;]\s*|(?:and|so|but)\s+)(?:is|was|isn't)\s+(?:{either(en['owner'])}\s+)"
        rf"(?:{either(en['new'])}\s+)*)$"
    )


@cache
def _numbered() -> re.Pattern[str]:
    """A number at the end of a few words: "blue horse forty two"."""
    numbers = either(table()["numbers"])
    return re.compile(rf"^(?:[a-z]+ ){{1,5}}(?:[0-9]{{2,}}|{numbers}(?: {numbers})*)$")


@cache
def _colon() -> re.Pattern[str]:
    return re.compile(r"[:=]")


@cache
def _use() -> re.Pattern[str]:
    """ "I use … as my password", 用…当密码"""
    en = table()["en"]["grammar"]
    zh = table()["zh"]["grammar"]
    return re.compile(rf"{word(en['use'])}\s+|{either(zh['use'])}")


@cache
def _ends_open() -> re.Pattern[str]:
    en = table()["en"]["grammar"]
    return re.compile(rf"(?<![a-z]){either(en['not_before'])}$|[的不道是]$|(?<![a-z])(?:but|if|that)$")


@cache
def _reverse_end() -> re.Pattern[str]:
    return re.compile(
        r"\s*(?:$|[.,!?;。、]|(?:for|to|on|of|at|in|and|but|please|now|from|so|then|because|by|when|"
        r"okay|ok|i|you|don't|do|remember)(?![a-z])|请|帮|你|别|记|不|吧|哦|啊|呢|然后|但)"
    )


@cache
def _correction() -> re.Pattern[str]:
    words = table()["asked"]["corrections"]
    return re.compile(rf"[\s,.]*(?:(?:{either(words)})[\s,.]*)+")


@cache
def _comma() -> re.Pattern[str]:
    gap = either(table()["en"]["grammar"]["gap"])
    return re.compile(rf" {gap}(?: [a-z'-]+){{0,5}},\s+(?=\S+(?:[.,!?;]|$))")


@cache
def _that() -> re.Pattern[str]:
    return re.compile(r"(?<=\w)[,;]\s*(?:(?:that|this|which|it)|[这那它]就?)$")


@cache
def _others() -> re.Pattern[str]:
    return re.compile(rf"[\s,.;]*{either(table()['asked']['others'])}")


@cache
def _asking() -> re.Pattern[str]:
    asked = table()["asked"]
    return re.compile(either([word(asked["en"]), *asked["zh"], r"\?"]))


@cache
def _refusal() -> re.Pattern[str]:
    en, zh = table()["asked"]["refusals"]
    return re.compile(rf"(?:{en})(?![a-z0-9])|(?:{zh})")
