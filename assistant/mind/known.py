"""Which known sentences does a question ask for, and is what it asks for known at all?

Rules on words, so that the answer waits for no model. Only clear cases count as unknown: a small
model invents a brother, but denying what was told is worse.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from assistant.mind.texts import prompts
from assistant.mind.words import is_cjk, stems

_FRAME = prompts("concepts")["frame"]
_ASKS = {"en": re.compile(_FRAME["asks_en"], re.I), "zh": re.compile(_FRAME["asks_zh"])}
_ADVICE = {"en": re.compile(_FRAME["advice_en"], re.I), "zh": re.compile(_FRAME["advice_zh"])}
_MINE = {"en": re.compile(_FRAME["mine_en"], re.I), "zh": re.compile(_FRAME["mine_zh"])}
_OWN_ASPECT = {
    "en": re.compile(_FRAME["own_aspect"], re.I),
    "zh": re.compile(_FRAME["own_aspect_zh"]),
}
_OWN_THING = re.compile(_FRAME["own_thing"], re.I)
_OWN = re.compile(_FRAME["own"], re.I)
_EMPTY = frozenset(stems(_FRAME["empty"]))
_NAME = re.compile(r"(?<=[a-z'’] )[A-Z][a-z]+")
_SCAFFOLD = frozenset(
    stems(
        "the user users a an my me i you your it is are was do did does have has what when where "
        "who which how and or to of at on in for with by that this will not can"
    )
)
_GENERIC = frozenset(stems("remember recall know tell please again"))


@dataclass(frozen=True, slots=True)
class _Concept:
    """Words for one thing in both languages."""

    kind: str
    words: frozenset[str]
    wide: re.Pattern[str] | None
    ask: re.Pattern[str] | None = None
    also: re.Pattern[str] | None = None

    def within(self, line: str) -> bool:
        """True when a known sentence speaks of it."""
        return bool(
            not self.words.isdisjoint(_stems(line))
            or (self.wide and self.wide.search(line))
            or (self.also and self.also.search(line))
        )

    def asked(self, question: str) -> bool:
        if self.ask and not is_cjk(question):
            return bool(self.ask.search(question.strip(" .?!")))
        return self.within(question)


def _pattern(item: dict[str, str], name: str) -> re.Pattern[str] | None:
    return re.compile(item[name], re.I) if item.get(name) else None


_CONCEPTS = tuple(
    _Concept(
        item.get("kind", "thing"),
        frozenset(stems(item["en"])),
        *(_pattern(item, name) for name in ("zh", "ask", "also")),
    )
    for item in prompts("concepts")["concept"]
)
_PEOPLE = [item for item in prompts("concepts")["concept"] if item.get("kind") == "person"]
_OF_OTHERS = re.compile(
    _FRAME["of_others"]
    .replace("<people>", "|".join("|".join(item["en"].split()) for item in _PEOPLE))
    .replace("<people_zh>", "|".join(item["zh"] for item in _PEOPLE)),
    re.I,
)


@lru_cache(4096)
def _stems(text: str) -> frozenset[str]:
    return frozenset(stems(text))


def unknown(question: str, known: Iterable[str]) -> bool:
    """True when the user asks for something of their own that no known sentence speaks of."""
    language = "zh" if is_cjk(question) else "en"
    bare = question.strip(" .?!。？！")
    if not _ASKS[language].search(bare) or _ADVICE[language].search(bare):
        return False
    lines = [part for line in known for part in re.split(r"(?<=[.。!?])\s*", line) if part]
    people = _asked(bare, "person") if _MINE[language].search(bare) else []
    aspects = _asked(bare, "aspect")
    if people:
        return not _told_of(people, aspects, lines)
    if aspects and _of_user(bare, language):
        own = [line for line in lines if _OWN.search(line) and not _OF_OTHERS.search(line)]
        return not any(_speaks(line, aspects) for line in own)
    return _thing_unknown(bare, language, lines)


def _asked(question: str, kind: str) -> list[_Concept]:
    return [one for one in _CONCEPTS if one.kind == kind and one.asked(question)]


def _of_user(question: str, language: str) -> bool:
    """Asked of the user themselves: "where do I live", "my phone number"; not "Leo's birthday"."""
    return bool(_OWN_ASPECT[language].search(question))


def _told_of(people: Sequence[_Concept], aspects: Sequence[_Concept], lines: Sequence[str]) -> bool:
    """A sentence speaks of that person and, where one is asked for, of that aspect."""
    about = [line for line in lines if any(one.within(line) for one in people)]
    names = {name for line in about for name in _NAME.findall(line)}
    about += [line for line in lines if line not in about and any(name in line for name in names)]
    # A name needs no word for it: "my sister Anna is coming".
    aspects = [one for one in aspects if one is not _CONCEPTS[0]]
    return any(_speaks(line, aspects) for line in about)


def _speaks(line: str, aspects: Sequence[_Concept]) -> bool:
    return not aspects or any(one.within(line) for one in aspects)


def _thing_unknown(question: str, language: str, lines: Sequence[str]) -> bool:
    """ "my piano lesson": none of its words, nor a word for the same thing, was ever said."""
    if language == "zh":
        asked = _asked(question, "thing") + _asked(question, "day")
        words: set[str] = set()
        mine = bool(_MINE["zh"].match(question) and asked)
    else:
        match = _MINE["en"].search(question)
        words = set(stems(match["what"])) - _EMPTY if match else set()
        if not words and _OWN_THING.search(question):  # "what am I allergic to?"
            named = {word for one in _asked(question, "thing") for word in one.words}
            words = set(stems(question)) & named
        asked = [one for one in _CONCEPTS if one.words & words]
        # A word that no concept knows cannot be looked for in the other language.
        mine = bool(words) and (bool(asked) or not any(is_cjk(line) for line in lines))
    return mine and not any(
        words & _stems(line) or any(one.within(line) for one in asked) for line in lines
    )


def relevant(question: str, known: Sequence[str]) -> str:
    """The known sentence that shares most with the question, in any language; "" when none does."""
    if is_cjk(question) and _ADVICE["zh"].search(question):
        return ""
    asked = [one for one in _CONCEPTS if one.within(question)]
    words = _stems(question) - _SCAFFOLD - _GENERIC

    def score(line: str) -> int:
        things = sum(one.within(line) * (1 if one.kind in ("day", "taste") else 2) for one in asked)
        return things + (0 if is_cjk(question) else 2 * len(words & _stems(line)))

    best = max(known, key=score, default="")
    return best if best and score(best) > 1 else ""
