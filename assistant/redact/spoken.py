"""Secrets that are announced: "my password is …", "… is the PIN", 密码是…

A spoken password has no end of its own: it goes on until its sentence does, or until what is
clearly another clause begins. Inside the clause too much is taken rather than too little.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from assistant.redact.lexicon import (
    CODE,
    Cue,
    Grammar,
    cues,
    digits_in,
    grammars,
)
from assistant.redact.patterns import (
    NEAR,
    STRONG,
    WORD,
    Words,
    asking,
    assent,
    bare_words,
    clause_end,
    colon,
    comma,
    correction,
    ends_open,
    innocent,
    length,
    masked,
    numbered,
    other_code,
    others,
    refusal,
    reverse_end,
    sentence_start,
    that,
    trimmed,
    unit,
    use,
    used,
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
_CHUNK = re.compile(r"[^\s,。、；！？]+")
_PARTICLE = re.compile(r"\s+(?:in|down)$")
_SERIES = re.compile(r"[a-z]{2} (?=[0-9])")
_GROUPED = re.compile(r"[A-Z0-9]{3,}(?:-[A-Z0-9]{2,})+")


def announced(low: str, text: str) -> list[Span]:
    """Every secret that is announced in the text. `low`: the plain text."""
    spans: list[Span] = []
    taken: list[Words] = []
    bare = ""
    for cue in cues():
        if not any(hint in low for hint in cue.hints):
            continue
        bare = bare or masked(low)
        for noun in cue.noun.finditer(bare):
            start, end = noun.span()
            if any(first < end and start < last for first, last in taken):
                continue  # part of a secret already, or of a longer name
            if found := list(_Reader(cue, bare, text).read(start, end)):
                taken += [(start, end), *((one.start, one.end) for one in found)]
                spans += found
    return spans


def answered(low: str, after: str) -> list[Span]:
    """The secret that was asked for just before, or that the last words broke off at."""
    cue = _wanted(after)
    if cue is None:
        return []
    bare = masked(low)
    if cue.least:
        runs = [one for one in CODE.finditer(bare) if digits_in(one.group()) >= cue.least]
        return [Span(*trimmed(bare, *one.span()), cue.gives) for one in runs]
    start = 0
    for lead in (assent(), *(grammar.lead for grammar in grammars())):
        if match := lead.match(bare, start):
            start = match.end()
    start, end = trimmed(bare, start, clause_end(bare, start))
    value = bare[start:end]
    if not value or refusal().match(value) or innocent(value):
        return []
    if len(WORD.findall(value)) > SHORT and not STRONG.search(value) and cue.said != "many":
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
            if (open_end or asking().search(after)) and not other_code(cue, after, noun.start()):
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
        if other_code(self._cue, self._low, start):
            return
        found = self._forward(start, end) or self._backward(start, end)
        while found is not None:
            yield Span(*found, self._cue.gives)
            found = self._corrected(found[1])

    def _forward(self, start: int, end: int) -> Words | None:
        linked = False
        for grammar in grammars():
            for way in grammar.after:
                match = way.match(self._low, end)
                if match and (found := self._value(match.end())):
                    return found
                linked = linked or (match is not None and way is grammar.after[0])
        match = comma().match(self._low, end)  # "the password for the router, admin1234"
        at = match.end() if match else end
        if match and STRONG.search(self._low, at, clause_end(self._low, at)):
            return self._value(at)
        for grammar in grammars():
            match = grammar.here.match(self._low, end)
            if match and (found := self._value(match.end(), doubtful=True)):
                return found
        return None if linked else self._adjacent(start, end)

    def _adjacent(self, start: int, end: int) -> Words | None:
        """ "password hunter2", 密码1234: no word between the two."""
        english, chinese = grammars()
        after = english.lead.match(self._low, end)
        assert after is not None
        at = after.end()
        if self._cue.said not in ("words", "many"):
            return self._value(at)
        if english.not_after.match(self._low, at) or chinese.not_after.match(self._low, at):
            return None
        value = self._low[at : clause_end(self._low[: at + NEAR], at)]
        chunk = _CHUNK.match(self._low, at)
        spelled = CODE.match(self._low, at)
        sure = (
            (chunk and STRONG.search(chunk.group()))
            or (spelled and digits_in(spelled.group()) >= 3)
            or _QUOTED.match(self._low, at)
            or (value and numbered().search(value))
            or used().search(self._low, max(0, start - NEAR), start)
            or colon().search(self._low, end, at)
        )
        if not sure or (spelled and self._measured(spelled.end())):
            return None
        return self._value(at)

    def _value(self, at: int, *, doubtful: bool = False) -> Words | None:
        """The value that begins here."""
        said = self._cue.said
        if said in ("code", "bare"):
            return self._code(at)
        if said == "token":
            return self._token(at)
        quoted = _QUOTED.match(self._low, at)
        if quoted and not innocent(quoted[1]):
            return quoted.span(1)
        end = self._many(at) if said == "many" else clause_end(self._low, at)
        start, end = trimmed(self._low, at, end)
        value = self._low[start:end]
        if not value or innocent(value):
            return None
        if doubtful and not STRONG.search(value) and not bare_words(value):
            return None
        return start, end

    def _many(self, at: int) -> int:
        """A seed phrase goes on over full stops until it has its words."""
        end = clause_end(self._low, at)
        while end < len(self._low) and length(self._low[at:end]) < MANY:
            end = clause_end(self._low, end + 1)
        return end

    def _code(self, at: int) -> Words | None:
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
        start, end = trimmed(self._low, at, end)
        piece = self._low[start:end]
        if digits_in(piece) < self._cue.least:
            return None
        if self._cue.said == "bare" and re.search(r"[a-z][- ]?[0-9]|[0-9][a-z]", piece):
            return None  # A302, O-1002
        return start, end

    def _measured(self, end: int) -> bool:
        return unit().match(self._low, end) is not None

    def _token(self, at: int) -> Words | None:
        chunk = _CHUNK.match(self._text, at)
        code = CODE.match(self._low, at)
        end = chunk.end() if chunk else at
        whole = self._text[at:end].rstrip(".,;!?")
        strong = STRONG.search(whole.lower()) or random_looking(whole) or _GROUPED.match(whole)
        if code and digits_in(code.group()) >= 2 and code.end() >= end:
            strong, end = strong or code, code.end()
        if not strong or end - at < TOKEN:
            return None
        return trimmed(self._low, at, end)

    def _backward(self, start: int, end: int) -> Words | None:
        """ "hunter2 is my password", 用蓝马当密码"""
        if not reverse_end().match(self._low, end):
            return None
        begin = sentence_start(self._low, start)
        for grammar in grammars():
            match = grammar.before.search(self._low, begin, start)
            if match and (found := self._before(grammar, begin, match.start())):
                return found
        return None

    def _before(self, grammar: Grammar, begin: int, end: int) -> Words | None:
        if match := that().search(self._low, begin, end):
            end = match.start()  # "…, that's my password"
        if match := _PARTICLE.search(self._low, begin, end):
            end = match.start()  # "put … in as my password"
        if self._cue.said in ("code", "bare", "token"):
            return self._code_before(begin, end)
        used = use().search(self._low, begin, end)
        start = used.end() if used else begin
        start, end = trimmed(self._low, start, end)
        value = self._low[start:end]
        if not value or grammar.not_before.match(value) or ends_open().search(value):
            return None
        linked = re.match(r"\s*(?:as|for|into|in|to)\b", self._low[end:])
        if linked and not used and not STRONG.search(value):
            return None  # "thanks for the password"
        return None if innocent(value) else (start, end)

    def _code_before(self, begin: int, end: int) -> Words | None:
        for match in CODE.finditer(self._low, begin, end):
            start, stop = trimmed(self._low, *match.span())
            if stop >= end - 1 and digits_in(self._low[start:stop]) >= max(self._cue.least, 3):
                bare = self._cue.said == "bare" and re.search(r"[a-z]", self._low[start:stop])
                return None if bare else (start, stop)
        return None

    def _corrected(self, end: int) -> Words | None:
        """ "4711, no, 4712": both."""
        match = others().match(self._low, end)
        if match is None and self._cue.said in ("code", "bare"):
            match = correction().match(self._low, end)
        return self._value(match.end()) if match else None
