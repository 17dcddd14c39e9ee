"""A note gets a key, so that newer words about the same thing replace older ones."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from assistant.mind.state import Fact, State
from assistant.mind.texts import filled, prompts
from assistant.mind.values import values
from assistant.mind.words import Clause, stem, stems, tokens

_EN = r"(?P<who>the user(?:'s [\w' -]+?)?|(?!the user)[\w' -]+?)"
_ZH = r"(?P<who>用户(?:的[\u4e00-\u9fff]{1,4}?)?|(?!用户)[\u4e00-\u9fffA-Za-z]{1,6}?)"
_ADVERB = (
    r"(?:really |also |always |absolutely |now |still |just |only |mostly |never |both |recently |"
    r"usually |currently |very |a bit )*"
)


def _patterns(language: str, who: str) -> Iterator[tuple[str, re.Pattern[str]]]:
    for item in prompts(language)["lasting"]:
        pattern = item["pattern"].replace("<adverbs>", _ADVERB).replace("<who>", who)
        pattern = pattern.replace("<born>", who.replace("who", "born"))
        pattern = filled(pattern, prompts(language)["grammar"])
        yield item["kind"], re.compile(pattern, re.I)


LASTING = (*_patterns("en", _EN), *_patterns("zh", _ZH))
"""What stays true beyond a task; everything else is a fact of the task."""

_DATED = frozenset(
    (
        *("name", "birthday", "age", "allergy", "work", "home", "address", "origin"),
        *("household", "health", "phone", "email", "height", "routine"),
    )
)
"""Kinds that stay true although a day is named; "I drink tea on Friday" does not."""
_THINGS = frozenset(
    ("allergy", "taste", "family", "favourite", "is", "health", "fear", "routine", "skill")
)
"""Kinds of which there are several: what they are about belongs to the key."""
_NOBODY = re.compile(
    r"\b(?:says?|said|thinks?|thought|told|believes?|the user|has|have|had|been|is|are|was|were|do|"
    rf"does|did|not|{'|'.join(prompts('en')['grammar']['events'])})\b|[说问]",
    re.I,
)
"""No words for a person: "the appointment has been moved to Monday" is no home."""
_CONTRACTED = (
    (r"\bcan't\b|\bcannot\b", "can not"), (r"\bwon't\b", "will not"), (r"n't\b", " not"),
)  # fmt: skip
_GENERIC = frozenset(
    stems(
        "the user users is are has have was be a an and to of at on in for with by that this it "
        "will would wants want needs need do does not no go going now get got like rather "
        "really any more anymore all lot much very too also my us his her their our from as"
    )
) | set("用户的是有了要在和我去到把也还会想都个一位子")


@dataclass(frozen=True, slots=True)
class Typed:
    """Where a note belongs."""

    key: str
    value: str
    lasting: bool


@dataclass(frozen=True, slots=True)
class Reading:
    """What a note says that stays true beyond a task."""

    kind: str
    """one of [[lasting]] in prompts/*.toml"""
    who: str
    """"user", or of the user's what: "sister anna" """
    what: str
    """the words that say it"""


def reading(note: str) -> Reading | None:
    """None for a note that is of no lasting kind."""
    bare = note.rstrip(" .!。！")
    for short, full in _CONTRACTED:
        bare = re.sub(short, full, bare)
    dated = any(value.kind in ("day", "time", "date") for value in values(bare))
    for name, pattern in LASTING:
        match = pattern.match(bare)
        if match and (not dated or name in _DATED):
            found = _reading(name, match)
            return None if _NOBODY.search(found.who) else found
    return None


def _reading(name: str, match: re.Match[str]) -> Reading:
    groups = match.groupdict()
    who = groups.get("who") or groups.get("whose") or groups.get("born") or "the user"
    who = re.sub(r"^(?:the user's |the |用户的?)", "", who.lower()).strip() or "user"
    who = "user" if who in ("the user", "it", "user", "") else who
    what = next((groups[key] for key in ("what", "at", "from") if groups.get(key)), "")
    return Reading(name, who, what)


def typed(note: str, clause: Clause, language: str, state: State) -> Typed:
    """Key and value of a note. `clause` is what the user said; the value is a span of it."""
    found = reading(note)
    if found:
        return _lasting(found, clause)
    bare = note.rstrip(" .!。！")
    about = content(bare)
    key = _existing(about, state.facts) or " ".join(about[:5]) or bare.lower()
    return Typed(key, _value(clause.text), False)


def _lasting(found: Reading, clause: Clause) -> Typed:
    key = found.kind if found.who == "user" else f"{found.who} {found.kind}"
    if found.kind in _THINGS:
        key += " " + " ".join(named(found.what))
    said = found.what.replace("the user's", "my").replace("用户的", "我的").strip()
    value = said if said and said in clause.text else clause.text
    return Typed(key.strip(), value.strip(" .,。，"), True)


def named(what: str) -> Iterator[str]:
    """The words a person would name it by, one form for one and for many."""
    for word in tokens(what):
        if stem(word) not in _GENERIC:
            plural = len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is"))
            yield word[:-1] if plural else word


def content(note: str) -> list[str]:
    """Content words without the values that may change: what the note is about."""
    rest = note
    for value in reversed(values(note)):
        rest = rest[: value.start] + " " + rest[value.end :]
    return [word for word in stems(rest) if word not in _GENERIC]


def _existing(about: list[str], known: Mapping[str, Fact]) -> str:
    """The key of the newest fact about the same thing, "" when there is none."""
    new = set(about)
    for key, fact in reversed(list(known.items())):
        old = set(content(fact.note))
        if new and old and (new <= old or old <= new or len(new & old) / len(new | old) >= 0.6):
            return key
    return ""


def _value(text: str) -> str:
    """From the first to the last value that was said; the whole clause when there is none."""
    found = values(text)
    return text[found[0].start : found[-1].end] if found else text.strip(" .,。，")
