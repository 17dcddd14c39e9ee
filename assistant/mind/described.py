"""What a sentence says of whom, how much it matters, and whether only one such can be true.

Works on sentences about "the user" as they are kept. Knows no state and no database.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from assistant.mind import chinese, pronouns
from assistant.mind.keys import Reading, content, named, reading
from assistant.mind.norms import negative, without_time
from assistant.mind.texts import prompts
from assistant.mind.words import is_cjk, stems

DATA: dict[str, Any] = prompts("memories")
_SINGLE = frozenset(DATA["kinds"]["single"])
_SEVERAL = frozenset(DATA["kinds"]["several"])
_ISO = re.compile(r"(?:on |在)?\d{4}-\d{2}-\d{2}(?:那一周|那个周末)? ?|\d{4}年(?:\d{1,2}月)?")
_TASTE = re.compile(
    r"\b(own|drive|speak|play|collect|take|wear|like|love|hate|prefer|enjoy|dislike|adore|stand|"
    r"eat|drink|fond|into|fan|keen|crazy)s?\b"
)
_KEPT_VERBS = frozenset(("own", "drive", "speak", "play", "collect", "take", "wear"))
_EXACT = re.compile(
    r"\d|\bat (?:half|quarter|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|"
    r"noon)\b|"
    r"[一二三四五六七八九十两]+[点号岁块元]"
)
"""A value that is of use only when it is exact."""
_OBJECT_END = re.compile(
    r"\s+(?:in|at|on|with|when|because|after|before|but|to|than|for|from|every|during|rather|and|"
    r"any ?more|only)\b|[,;，]"
)


@dataclass(frozen=True, slots=True)
class Described:
    """Where a sentence belongs."""

    subject: str
    key: str
    kind: str
    """of [[lasting]], "" for none"""
    single: bool
    importance: float


@cache
def pattern(language: str, name: str) -> re.Pattern[str]:
    """One list of prompts/memories.toml."""
    return re.compile("(?:" + "|".join(DATA[language]["words"][name]) + ")", re.I)


@cache
def phrase(language: str, name: str) -> re.Pattern[str]:
    """The same as whole words."""
    words = "|".join(DATA[language]["words"][name])
    return re.compile(words if language == "zh" else rf"\b(?:{words})\b", re.I)


def language_of(text: str) -> str:
    return "zh" if is_cjk(text) else "en"


def describe(text: str, people: Mapping[str, str] | None = None, *, day: str = "") -> Described:
    """Read a kept sentence. `people`: as `people_in` gives them; `day`: Memory.day."""
    language = language_of(text)
    bare = re.sub(r"\s+", " ", _ISO.sub("", text)).strip()
    found = reading(bare)
    kind = _kind(found, bare, language)
    subject = _subject(bare, found, language)
    key = _key(kind, found, bare, language)
    if kind != "name":
        subject = (people or {}).get(subject, subject)
    family = key.split(" ", 1)[0]
    single = family in _SINGLE and not (family == "name" and subject == "")
    weight = _importance(found, bare, language, day)
    return Described(subject, key, found.kind if found else "", single, weight)


def people_in(notes: Iterable[str]) -> dict[str, str]:
    """ "sister" and "anna" → "sister anna", where only one such person was ever spoken of."""
    found: dict[str, set[str]] = {}
    for note in notes:
        whole = (
            _english_person(note) if not is_cjk(note) else _chinese_person(note, named_only=True)
        )
        words = whole.split()
        if len(words) > 1:
            for part in (" ".join(words[:-1]), words[-1]):
                found.setdefault(part, set()).add(whole)
    return {part: next(iter(wholes)) for part, wholes in found.items() if len(wholes) == 1}


# ── whom it is about ──


def _subject(text: str, found: Reading | None, language: str) -> str:
    if language == "zh":
        return "user" if found and found.kind == "nickname" else _zh_subject(text)
    if found and found.kind in ("name", "nickname"):
        return re.sub(r"'s(?: name)?$", "", found.who)
    return _english_person(text) or _thing(text) or _other(text)


def _thing(text: str) -> str:
    """ "The user's car …" → car, "The plumber …" → plumber; "" for what is the user's own."""
    own = re.match(r"^(?:the user's|the(?! user)) (?P<rest>.+)$", text, re.I)
    if not own:
        return ""
    thing = phrase("en", "things").match(own["rest"])
    if thing:
        return thing.group().lower()
    return "" if text.lower().startswith("the user") else own["rest"].split()[0].lower()


def _other(text: str) -> str:
    if re.match(r"^(?:the user\b|it is the user's|on \w|in \w)", text, re.I):
        return _whose(text)
    first = re.match(r"^[\w'-]+", text)
    return first.group().lower() if first else "user"


def _whose(text: str) -> str:
    """ "It is the user's sister's birthday" → sister"""
    inner = re.match(r"^it is (the user's .+)$", text, re.I)
    person = _english_person(inner[1][0].upper() + inner[1][1:]) if inner else ""
    return person or "user"


def _english_person(note: str) -> str:
    words = pronouns.person(note)
    if words and pronouns.person(note) and re.match(r"^the user (?!')", note, re.I):
        return ""  # "The user has a dog": it is about the user
    return re.sub(r"^the user's ", "", words, flags=re.I).lower()


def _zh_subject(text: str) -> str:
    person = _chinese_person(text)
    if person:
        return person.replace(" ", "") if not re.match(r".+叫", text) else person.split(" ")[0]
    own = re.match(r"^用户的?(?=\S)", text)
    if own:
        thing = phrase("zh", "things").match(text, own.end())
        return thing.group() if thing and "的" in own.group() else "user"
    other = re.match(
        r"^[\u4e00-\u9fffA-Za-z]{2,4}?(?=[周星下明后今的是在要会对叫住有去来吃喜不也很每\d一二三四五六七八九十两]|$)",
        text,
    )
    return other.group() if other else "user"


def _chinese_person(note: str, *, named_only: bool = False) -> str:
    """ "妹妹 小兰" out of 用户的妹妹小兰…, 用户的妹妹叫小兰"""
    return chinese.person_of(note, named_only=named_only)


# ── what it says of it ──


def _kind(found: Reading | None, text: str, language: str) -> str:
    """The kind with what distinguishes facts that can be true side by side."""
    if found is None:
        return ""
    if found.kind in ("home", "work"):
        return _home(found, language) if found.kind == "home" else _work(found, text, language)
    if found.kind == "birthday" and re.search(r"born|出生", text):
        return "born" if re.search(r"\d|[年月]", text) else "birthplace"
    blood = found.kind == "health" and re.search(r"blood (?:type|group)|血型", text)
    return "blood" if blood else found.kind


def _home(found: Reading, language: str) -> str:
    what = found.what.strip()
    if pattern(language, "at_number").match(what):
        return "address"
    return "place" if pattern(language, "no_place").match(what) or not what else "home"


def _work(found: Reading, text: str, language: str) -> str:
    """An occupation, who gives the work, or what else is said of it."""
    what = found.what.strip()
    if language == "zh":
        named_so = re.search(r"是|当", text) is not None
        return "profession" if named_so else "employer" if "在" in text else "work"
    if re.search(r"\bretired\b|\bstud(?:y|ies)\b|\bteaches\b", text):
        return "work"
    if pattern(language, "as_what").match(what):
        return "profession"
    place = re.match(r"(?:at|for|in)\b(?! (?:the )?(?:morning|evening|night))", what)
    return "employer" if place else "work"


def _key(kind: str, found: Reading | None, text: str, language: str) -> str:
    if found is None:
        return _about(text, language)
    if kind == "taste":
        return _taste(found, text, language)
    if kind in ("place", "work", "origin"):
        return f"{kind} {_object(found.what)}".strip()
    if kind in _SEVERAL:
        said = re.sub(r"\ballerg\w+(?: to| against)? ?", "", found.what)
        what = _object(said) if language == "en" else "".join(named(said))
        what = re.sub(r"^最喜欢|^favou?rite ", "", what).strip()
        what = _head(what, language) if kind == "family" else what
        return f"{kind} {what}".strip()
    return kind


def _head(what: str, language: str) -> str:
    """ "brown dog" → dog"""
    if language == "en":
        return what.rsplit(maxsplit=1)[-1] if what else ""
    people = list(re.finditer("|".join(prompts("zh")["grammar"]["people"]), what))
    return people[-1].group() if people and people[-1].end() == len(what) else what


def _object(what: str) -> str:
    cut = _OBJECT_END.split(what.strip(), maxsplit=1)[0] or what
    return " ".join(list(named(cut))[:4])


def _taste(found: Reading, text: str, language: str) -> str:
    if language == "zh":
        what = re.sub(r"^(?:吃|喝|看|听|玩)", "", found.what)
        return "taste " + "".join(named(re.split("[，,不]", what, maxsplit=1)[0] or what))
    verb = _TASTE.search(text)
    name = verb[1] if verb and verb[1] in _KEPT_VERBS else "taste"
    what = re.sub(r"^(?:drink|eat|watch|listen|play|read)ing (?:to )?", "", found.what.strip())
    return f"{name} {_object(what)}".strip()


def _about(text: str, language: str) -> str:
    words = DATA[language]["words"]["moved"]
    moved = set(stems(words)) if language == "en" else set(words)
    about = [word for word in content(text.rstrip(" .!。！")) if word not in moved]
    return " ".join(about[:6]) or text.lower()


# ── how much it matters ──


def _importance(found: Reading | None, text: str, language: str, day: str) -> float:
    weights = DATA["importance"]
    if found is not None:
        weight = weights.get(found.kind, weights["lasting"])
    elif phrase(language, "wants").search(text):
        weight = weights["want"]
    else:
        weight = weights["dated" if day else "lasting"]
    exact = _EXACT.search(text)
    return round(min(1.0, float(weight) + (weights["exact"] if exact else 0.0)), 3)


__all__ = [
    "DATA",
    "Described",
    "describe",
    "language_of",
    "negative",
    "pattern",
    "people_in",
    "phrase",
    "without_time",
]
