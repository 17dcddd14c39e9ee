"""What a new sentence ends besides what it replaces: "I no longer work there", 我们分手了.

The wordings are data (prompts/memories.toml, [[ending]]). Compares values only; that the subjects
fit and which was said later is the caller's (memory/succession.py).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from assistant.mind.described import DATA, pattern, phrase
from assistant.mind.keys import named
from assistant.mind.memories import Memory
from assistant.mind.norms import meaning, negative
from assistant.mind.texts import filled, prompts
from assistant.mind.words import is_cjk, stems, tokens


@dataclass(frozen=True, slots=True)
class Ending:
    """What is over."""

    keys: tuple[str, ...] = ()
    """first words of the keys that end; none: what `what` names"""
    what: frozenset[str] = frozenset()
    """its words, in the form that is compared"""
    whose: str = ""
    """partner: what is said of a partner ends too; subject: all that is said of the subject"""
    name: str = ""
    """whom the words name: "Max and I broke up" """


@cache
def _patterns(language: str) -> tuple[tuple[re.Pattern[str], tuple[str, ...], str], ...]:
    words = prompts(language)["grammar"]
    return tuple(
        (
            re.compile(filled(one["pattern"], words), re.I),
            tuple(one.get("keys", ())),
            str(one.get("whose", "")),
        )
        for one in DATA[language]["ending"]
    )


def ending(new: Memory) -> Ending | None:
    """None for a sentence that ends nothing by itself."""
    language = "zh" if is_cjk(new.text) else "en"
    bare = new.text.strip(" .!。！")
    for found, keys, whose in _patterns(language):
        match = found.search(bare)
        if match is None:
            continue
        groups = match.groupdict()
        what = frozenset(_words(groups.get("what") or "", language))
        if what or keys or whose:
            return Ending(keys, what, whose, groups.get("name") or "")
    return None


def ends(old: Memory, new: Memory, over: Ending) -> bool:
    """`old` is no longer so after `new`."""
    if old.day and old.day < new.day:
        return False
    if over.whose == "partner":
        return _of_partner(old, over.name)
    if over.whose == "subject":
        return _of_the_dead(old, new)
    if negative(old.text) or ending(old) is not None:
        return False
    if over.keys:
        return old.subject == new.subject and old.key.split(" ")[0] in over.keys
    return over.what <= frozenset(_words(old.text, "zh" if is_cjk(old.text) else "en"))


def partner(subject: str) -> bool:
    """ "girlfriend paula", 女朋友"""
    language = "zh" if is_cjk(subject) else "en"
    return phrase(language, "partners").search(subject) is not None


def replaced(old: Memory, new: Memory) -> bool:
    """ "is a nurse now" after "is a teacher"; "goes to secondary school now" after "primary".

    Only words that say it is so from now on end what is of no single kind.
    """
    language = "zh" if is_cjk(new.text) else "en"
    now = phrase(language, "from_now").search(new.text)
    if now is None or negative(old.text) or negative(new.text) or (old.day or new.day):
        return False
    if old.key.startswith("is ") and new.key.startswith("is "):
        besides = phrase(language, "roles_besides")
        return not (besides.search(old.text) or besides.search(new.text))
    about = set(_words(new.subject, language)) | set(_words(now.group(), language))
    before, after = (set(meaning(one.text)) - about for one in (old, new))
    same, gone = before & after, before - after
    return len(same) >= 2 and len(gone) == len(after - before) == 1


def _of_partner(old: Memory, name: str) -> bool:
    """What is said of the partner, and that there is one."""
    if name and name.lower() not in old.text.lower():
        return False
    if old.subject != "user":
        return partner(old.subject) or bool(name)
    language = "zh" if is_cjk(old.text) else "en"
    is_one = old.key.split(" ")[0] in ("family", "married", "household")
    return is_one and phrase(language, "partners").search(old.text) is not None


def _of_the_dead(old: Memory, new: Memory) -> bool:
    """All but the name, the birthday and what has ended already; that the user has it, too."""
    if old.subject == "user":
        head = new.subject.split(" ")[0]
        language = "zh" if is_cjk(new.text) else "en"
        kept = old.key.split(" ")[0] == "family" and not negative(old.text)
        return kept and (head in old.key if language == "zh" else head in old.key.split(" "))
    return old.key not in ("name", "birthday", "born", "nickname") and not ending(old)


def _words(text: str, language: str) -> list[str]:
    if language == "zh":
        small = set(DATA["zh"]["words"]["empty"]) | set("去再不")
        return [word for word in tokens(text) if word not in small]
    bare = pattern("en", "from_now").sub(" ", text)
    return [word for word in stems(" ".join(named(bare))) if word not in ("there", "ther")]
