"""Higher-level sentences drawn from several memories, each with its sources (V12).

By rule: what came up in several conversations. With a model: what several notes have in common,
kept only when it is made of their own words. An insight is never a source, and it ends with the
first of its sources that is no longer believed.
"""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from assistant.memory.tidy import Step, Tick
from assistant.mind.english import negative
from assistant.mind.memories import Memory
from assistant.mind.texts import prompts
from assistant.mind.topics import naming
from assistant.mind.words import is_cjk, stems, tokens
from assistant.stages import Cancel, LanguageModel, Message

LEAST = 3
"""memories, and conversations they were said in, that an insight needs"""
MOST = 3
"""new ones of a run"""
IMPORTANCE = 0.4
READ = 8
"""notes that the model is shown"""
TOKENS = 32
_NUMBER = re.compile(r"\d")


def recurring(
    memories: Sequence[Memory], now: float, known: frozenset[str], tick: Tick
) -> Iterator[Step]:
    """What came up in at least three conversations; `known`: ids of insights there ever were."""
    groups: dict[tuple[str, str], list[tuple[Memory, str]]] = defaultdict(list)
    for one in memories:
        tick()
        if one.origin == "insight" or not one.session:
            continue
        for term, surface in naming(one.text):
            groups[one.language, term].append((one, surface))
    ranks = sorted(groups.items(), key=lambda item: (-_sessions(item[1]), -len(item[0][1]), item))
    used: set[str] = set()
    found = 0
    for (language, term), group in ranks:
        if found == MOST or _sessions(group) < LEAST:
            return
        ids = {one.id for one, _ in group}
        if len(ids - used) < LEAST:
            continue
        used |= ids
        key = _id(language, term)
        if key in known:
            continue
        found += 1
        words = [surface for _, surface in sorted(group, key=lambda pair: pair[0].said)]
        topic = max(words, key=words.count)
        text = prompts("consolidate")[language]["talks"].format(topic=topic)
        yield _drawn(key, text, topic, [one for one, _ in group], now)


def _sessions(group: Sequence[tuple[Memory, str]]) -> int:
    return len({one.session for one, _ in group})


def _id(language: str, about: str) -> str:
    """The same for the same conclusion: what the person had forgotten is not drawn again."""
    return hashlib.sha256(f"insight {language} {about}".encode()).hexdigest()[:12]


def _drawn(key: str, text: str, about: str, sources: Sequence[Memory], now: float) -> Step:
    language = sources[0].language
    new = Memory(
        text=text,
        subject="user",
        key=f"insight {about.lower()}",
        value=about,
        language=language,
        importance=IMPORTANCE,
        origin="insight",
        id=key,
        norm=f"insight {language} {about.lower()}",
        learned=now,
        said=now,
        sources=tuple(one.id for one in sources),
        version=1,
    )
    return Step("insight", (), tuple(sources), new)


def outdated(insights: Sequence[Memory], facts: Mapping[str, Memory], now: float) -> Iterator[Step]:
    """Insights one of whose sources is ended or gone; one that was merged is followed.

    `facts`: all rows, the ended ones too.
    """
    for one in insights:
        now_from = tuple(dict.fromkeys(_follow(key, facts) for key in one.sources))
        if now_from == one.sources:
            continue
        if "" in now_from or len(now_from) < LEAST:
            after = replace(one, ended=now, why_ended="superseded", version=one.version + 1)
        else:
            after = replace(one, sources=now_from, version=one.version + 1)
        yield Step("outdated", ((one, after),))


def _follow(key: str, facts: Mapping[str, Memory]) -> str:
    """The active memory that stands for a source; "" when there is none."""
    seen = set()
    while key in facts and key not in seen:
        seen.add(key)
        fact = facts[key]
        if fact.ended is None:
            return key
        if fact.why_ended != "merged":
            return ""
        key = fact.superseded_by
    return ""


def in_general(
    memories: Sequence[Memory],
    now: float,
    known: frozenset[str],
    model: LanguageModel,
    cancel: Cancel,
) -> Iterator[Step]:
    """What the model finds several notes of one kind have in common, as far as they say it.

    Of the small models nearly nothing passes `follows`: on seven groups none of the 1.5B one's.
    """
    kinds: dict[tuple[str, str, str], list[Memory]] = defaultdict(list)
    for one in memories:
        if one.origin != "insight" and one.lasting and one.key:
            kinds[one.language, one.subject, one.key.split()[0]].append(one)
    for (language, subject, kind), group in kinds.items():
        if len(group) < LEAST or len({one.session for one in group}) < 2:
            continue
        key = _id(language, f"{subject} {kind} in general")
        if key in known:
            continue
        sources = sorted(group, key=lambda one: -one.said)[:READ]
        said = "".join(model.stream(messages(sources), cancel, max_tokens=TOKENS)).strip()
        if cancel.cancelled:
            return
        if said and follows(said, sources):
            yield _drawn(key, said, f"{subject} {kind} in general", sources, now)
            return  # one of a run


def messages(sources: Sequence[Memory]) -> list[Message]:
    """The prompt for one sentence about several notes."""
    texts: Mapping[str, Any] = prompts("consolidate")[sources[0].language]["model"]
    notes = "\n".join(one.text for one in sources)
    return [{"role": "system", "content": texts["rules"]}, {"role": "user", "content": notes}]


def follows(said: str, sources: Sequence[Memory]) -> bool:
    """One sentence in the notes' language without a number, name or denial, whose every word is a
    general one or stands in nearly all notes: never more than was said.

    A word of one note alone is not allowed: "often ran in the rain" of somebody who did so once.
    """
    language = sources[0].language
    texts = prompts("consolidate")[language]["model"]
    if texts["nothing"] in said.lower() or "\n" in said or is_cjk(said) != (language == "zh"):
        return False
    if _NUMBER.search(" ".join(tokens(said))) or negative(said) or _names(said):
        return False
    told = [set(stems(one.text)) for one in sources]
    about = set(stems(said)) - set(stems(texts["general"]))
    least = max(LEAST, len(told) - 1)
    return bool(about) and all(sum(word in one for one in told) >= least for word in about)


def _names(text: str) -> bool:
    """A capital anywhere but at the beginning."""
    return re.search(r"(?<=\s)[A-Z]", text) is not None
