"""A note gets a key, so that newer words about the same thing replace older ones."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from assistant.mind.state import Fact, State
from assistant.mind.values import values
from assistant.mind.words import Clause, stems

_EN = r"(?P<who>the user(?:'s [\w' -]+?)?|(?!the user)[\w' -]+?)"
_ZH = r"(?P<who>用户(?:的[\u4e00-\u9fff]{1,4}?)?|(?!用户)[\u4e00-\u9fffA-Za-z]{1,6}?)"
_ADVERB = r"(?:really |also |always |absolutely |now |still |just |only |mostly |never )*"

LASTING: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (name, re.compile(pattern, re.I))
    for name, pattern in (
        ("name", rf"^{_EN}(?:'s name)? (?:is|are) (?:called|named) (?P<what>.+)$"),
        ("name", rf"^{_EN}'s name is (?P<what>.+)$"),
        (
            "allergy",
            rf"^{_EN} (?:is|are|has an?|has got an?) {_ADVERB}(?:not )?(?P<what>(?:\w+ )?allerg.+|.*intoleran.*|diabetic.*)$",
        ),
        ("favourite", rf"^{_EN}(?:'s)? (?P<what>favou?rite \w+).*$"),
        (
            "diet",
            rf"^{_EN} (?:is|are|has been|became) {_ADVERB}(?:not )?(?:an? )?(?P<what>vegetarian|vegan|pescatarian|kosher|halal)",
        ),
        (
            "birthday",
            rf"^(?:{_EN}'s (?P<what>birthday) is .+|it is (?P<whose>.+)'s birthday.*|{_EN.replace('who', 'born')} was born .+)$",
        ),
        (
            "age",
            rf"^{_EN} (?:is|are|just turned|turned|turns) (?P<what>[\w-]+(?: years old)?)$(?<=old)",
        ),
        (
            "home",
            rf"^{_EN} {_ADVERB}(?:lives?|(?:is|are) living|moved|has moved|comes? from|is from)\b(?P<what>.*)$",
        ),
        (
            "work",
            rf"^{_EN} {_ADVERB}(?:works?|is working|studies|teaches|is retired|retired)\b(?P<what>.*)$",
        ),
        (
            "taste",
            rf"^{_EN} {_ADVERB}(?:does not |do not |can not |no longer )?{_ADVERB}(?:likes?|loves?|hates?|prefers?|enjoys?|dislikes?|"
            r"adores?|stand|eats?|drinks?|collects?|plays?|speaks?|drives?|owns?|takes)\b (?P<what>.+)$",
        ),
        ("taste", rf"^{_EN} is {_ADVERB}(?:a fan of|fond of|into) (?P<what>.+)$"),
        (
            "family",
            rf"^{_EN} (?:has|has got|have) (?:an?|no|two|three|four|five|six|\d+) (?P<what>(?:\w+ ){{0,2}}(?:sisters?|brothers?|sons?|daughters?|"
            r"child(?:ren)?|kids?|dogs?|cats?|birds?|fish|horses?|cars?|bikes?|gardens?|wife|husband|twins?|grandchild(?:ren)?)).*$",
        ),
        ("married", rf"^{_EN} (?:is|are) (?P<what>married|divorced|single|engaged)\b.*$"),
        ("is", rf"^{_EN} is (?P<what>an? (?!bit|little)[\w ]+|(?-i:[A-Z])\w+(?:an|ish|ese|ch))$"),
        ("name", rf"^{_ZH}(?:的名字)?叫(?P<what>.+)$"),
        ("name", rf"^{_ZH}的名字[是叫](?P<what>.+)$"),
        ("allergy", rf"^{_ZH}(?:也|还)?对(?P<what>.+)过敏.*$"),
        ("favourite", rf"^{_ZH}(?P<what>最(?:喜欢|爱)的.+?)是.+$"),
        ("birthday", rf"^{_ZH}的?(?P<what>生日).*$"),
        ("age", rf"^{_ZH}(?:今年|已经|快)?(?P<what>[\d零一二两三四五六七八九十百]+岁).*$"),
        ("diet", rf"^{_ZH}(?:是|只)?(?P<what>吃素|素食).*$"),
        (
            "home",
            rf"^{_ZH}(?:现在|一直|已经)?(?:住|搬到|搬去|家在|来自|是(?P<from>.+)人)(?P<what>.*)$",
        ),
        (
            "work",
            rf"^{_ZH}(?:现在)?(?:在(?P<at>.+)(?:工作|上班|上学|读书)|是(?:一?[个名位])?(?P<what>.*(?:师|生|员|工|官|者|家|司机|警察|护士|退休)).*)$",
        ),
        (
            "taste",
            rf"^{_ZH}(?:也|都|还|最|很|特别|非常|比较|从来)*(?:不)?(?:太|怎么)?(?:喜欢|爱|讨厌|吃|喝|偏爱)(?P<what>.+)$",
        ),
        (
            "family",
            rf"^{_ZH}(?:还|也)?(?:有|养了?|没有)(?:[一两三四五六\d]*[个只条位辆])?(?P<what>[\u4e00-\u9fff]{{1,6}})$",
        ),
    )
)
"""What stays true beyond a task; everything else is a fact of the task."""

_GENERIC = frozenset(
    stems(
        "the user users is are has have was be a an and to of at on in for with by that this it will would wants want "
        "needs need do does not no go going now get got like rather really also my us his her their our from as"
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
        if match and not (dated and name not in ("name", "birthday", "age", "allergy", "work")):
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
        key += " " + " ".join(word for word in stems(what) if word not in _GENERIC)
    value = what.strip() if what.strip() and what.strip() in clause.text else clause.text
    return Typed(key.strip(), value.strip(" .,。，"), True)


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
