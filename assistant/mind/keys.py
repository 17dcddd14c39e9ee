"""A note gets a key, so that newer words about the same thing replace older ones."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from assistant.mind.state import Fact, State
from assistant.mind.texts import prompts
from assistant.mind.values import values
from assistant.mind.words import Clause, stem, stems, tokens

_EN = r"(?P<who>the user(?:'s [\w' -]+?)?|(?!the user)[\w' -]+?)"
_ZH = r"(?P<who>用户(?:的[\u4e00-\u9fff]{1,4}?)?|(?!用户)[\u4e00-\u9fffA-Za-z]{1,6}?)"
_ADVERB = r"(?:really |also |always |absolutely |now |still |just |only |mostly |never )*"


def _patterns(language: str, who: str) -> Iterator[tuple[str, re.Pattern[str]]]:
    for item in prompts(language)["lasting"]:
        pattern = item["pattern"].replace("<adverbs>", _ADVERB).replace("<who>", who)
        pattern = pattern.replace("<born>", who.replace("who", "born"))
        yield item["kind"], re.compile(pattern, re.I)


LASTING = (*_patterns("en", _EN), *_patterns("zh", _ZH))
"""What stays true beyond a task; everything else is a fact of the task."""

_DATED = frozenset(("name", "birthday", "age", "allergy", "work"))
"""Kinds that stay true although a day is named; "I drink tea on Friday" does not."""
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


def typed(note: str, clause: Clause, language: str, state: State) -> Typed:
    """Key and value of a note. `clause` is what the user said; the value is a span of it."""
    bare = note.rstrip(" .!。！")
    dated = any(value.kind in ("day", "time", "date") for value in values(bare))
    for name, pattern in LASTING:
        match = pattern.match(bare)
        if match and (not dated or name in _DATED):
            return _lasting(name, match, clause)
    about = content(bare)
    key = _existing(about, state.facts) or " ".join(about[:5]) or bare.lower()
    return Typed(key, _value(clause.text), False)


def _lasting(name: str, match: re.Match[str], clause: Clause) -> Typed:
    groups = match.groupdict()
    who = groups.get("who") or groups.get("whose") or groups.get("born") or "the user"
    who = re.sub(r"^(?:the user's |用户的?)", "", who.lower()).strip() or "user"
    who = "user" if who in ("the user", "it", "") else who
    what = next(
        (text for text in (groups.get("what"), groups.get("at"), groups.get("from")) if text), ""
    )
    key = name if who == "user" else f"{who} {name}"
    if name in ("allergy", "taste", "family", "favourite", "is"):
        key += " " + " ".join(_named(what))
    said = what.replace("the user's", "my").replace("用户的", "我的").strip()
    value = said if said and said in clause.text else clause.text
    return Typed(key.strip(), value.strip(" .,。，"), True)


def _named(what: str) -> Iterator[str]:
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
