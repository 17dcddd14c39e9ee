"""What was talked about: a topic is a stretch of the person's own words, found by rules.

Nothing is named that was not said. It knows neither tasks nor what was stored.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, lru_cache

from assistant.mind.notes import grammar_of, stated
from assistant.mind.texts import prompts
from assistant.mind.values import values
from assistant.mind.words import CJK, is_cjk, stem, stems, tokens

MOST_WORDS = 5
MOST_WIDE = 10
"""words, or Chinese characters, of one topic"""
MOST_QUOTED = 48
"""characters of a question that is named by its own words"""

_WORD = re.compile(r"[^\W_]+(?:['’.-][^\W_]+)*")
_RUN = re.compile(rf"[{CJK}A-Za-z0-9]{{2,}}")


@dataclass(frozen=True, slots=True)
class Said:
    """One finished turn."""

    turn: int
    user: str
    reply: str = ""
    language: str = "en"
    task: bool = False
    """the rules handled it as part of a task"""


@dataclass(frozen=True, slots=True)
class _Words:
    """The word lists of a language."""

    small_talk: re.Pattern[str]
    recalls: re.Pattern[str]
    names: re.Pattern[str]
    polite: re.Pattern[str]
    questions: re.Pattern[str]
    frames: tuple[re.Pattern[str], ...]
    bland: frozenset[str]
    joins: frozenset[str]
    cut: re.Pattern[str]
    """Chinese words that are no part of a topic"""


@cache
def _words(language: str) -> _Words:
    texts = prompts("summing")[language]
    asked = "|".join(prompts(language)["grammar"]["questions"])
    bland = texts["bland"].split()
    return _Words(
        small_talk=re.compile("|".join(texts["small_talk"]), re.I),
        recalls=re.compile("|".join(texts["recalls"]), re.I),
        names=re.compile(texts["names"], re.I),
        polite=re.compile(texts["polite"], re.I),
        questions=re.compile(rf"^(?:{asked})\b" if language == "en" else asked, re.I),
        frames=tuple(re.compile(frame, re.I) for frame in texts["frames"]),
        bland=frozenset(stem(word) for word in bland),
        joins=frozenset(texts["joins"].split()),
        cut=re.compile("|".join(sorted(map(re.escape, bland), key=len, reverse=True))),
    )


@lru_cache(maxsize=1024)
def topics_of(said: Said) -> tuple[str, ...]:
    """What one turn was about; () for small talk, commands and what was asked back (V10)."""
    language = "zh" if is_cjk(said.user) else "en"
    words, text = _words(language), grammar_of(said.user).clean(said.user)
    if said.task or words.small_talk.search(text):
        return ()
    about = _asked(text, language)
    if about:
        return (about,)
    return tuple(topic for note in stated(said.user) if (topic := topic_of(note)))


def _asked(text: str, language: str) -> str:
    """The subject of a question, or the question itself where no rule knows its subject."""
    words = _words(language)
    bare = text.strip().rstrip("?？.。!！吗呢 ")
    bare = words.polite.sub("", bare).strip(" ,，")
    framed = next((found["what"] for one in words.frames if (found := one.search(bare))), "")
    asks = text.rstrip().endswith(("?", "？")) or words.questions.search(bare) is not None
    if not bare or not (framed or asks) or words.recalls.search(bare):
        return ""
    about = topic_of(framed) if framed else ""
    if about or not asks or len(bare) > MOST_QUOTED or len(_content(bare, language)) < 2:
        return about
    if any(value.kind in ("day", "date", "time") for value in values(bare)):
        return ""  # "tomorrow" would be another day when it is read
    return str(prompts("summing")[language]["quoted"].format(words=bare))


@lru_cache(maxsize=1024)
def topic_of(note: str) -> str:
    """The longest stretch of a sentence that names something; "" when there is none."""
    if _words("zh" if is_cjk(note) else "en").names.search(note):
        return ""
    for value in reversed(values(note)):
        if value.kind != "count":
            note = f"{note[: value.start]} , {note[value.end :]}"
    note = re.sub(r"\b\d{4}-\d\d-\d\d\b", ",", note)
    runs = _wide(note) if is_cjk(note) else _narrow(note)
    return max(runs, key=lambda run: len(run.split()) if " " in run else len(run) / 8, default="")


def _wide(note: str) -> list[str]:
    rest = _words("zh").cut.sub(" ", note)
    runs = (run.strip("的") for run in _RUN.findall(rest))
    return [run[:MOST_WIDE] for run in runs if len(run) > 1]


def _narrow(note: str) -> list[str]:
    """Runs of naming words; small words only between two of them."""
    words, runs, run, waiting = _words("en"), [""], "", ""
    place = 0
    for match in _WORD.finditer(note):
        low, apart = match.group().lower(), note[place : match.start()].strip(" ") != ""
        place = match.end()
        bare = re.sub(r"['’]s$", "", low)
        joins, bland = low in words.joins, set(stems(bare)) <= words.bland
        if apart or (bland and not joins):
            run, waiting = "", ""
        if joins and run:
            waiting += f" {match.group()}"
        elif not bland and not joins:
            run = f"{run}{waiting} {match.group()}".strip()
            waiting = ""
            if len(run.split()) > MOST_WORDS:
                run = match.group()
            runs.append(run)
    return [re.sub(r"['’]s$", "", one) for one in runs if len(one) > 1]


def _content(text: str, language: str) -> list[str]:
    if language == "zh":
        return re.findall(f"[{CJK}]", text)[2:]
    return [word for word in tokens(text) if stem(word) not in _words("en").bland]


@lru_cache(maxsize=32_768)
def naming(text: str) -> tuple[tuple[str, str], ...]:
    """The words of a sentence that may name a topic: (a form equal for like ones, as said).

    Chinese is not cut into words: every stretch of two to four characters is one.
    """
    for value in reversed(values(text)):
        text = f"{text[: value.start]} , {text[value.end :]}"
    if is_cjk(text):
        runs = [run for run in _wide(text) if not re.search("[A-Za-z0-9]", run)]
        cuts = {run[n : n + size] for run in runs for size in (2, 3, 4) for n in range(len(run))}
        return tuple((cut, cut) for cut in sorted(cuts) if len(cut) > 1)
    bland = _words("en")
    found = (re.sub(r"['’]s$", "", word) for word in _WORD.findall(text))
    named = {
        stem(word.lower()): word
        for word in found
        if len(word) > 2
        and word.isalpha()
        and word.lower() not in bland.joins
        and stem(word.lower()) not in bland.bland
    }
    return tuple(named.items())


def ranked(found: Iterable[tuple[int, str]], most: int) -> tuple[str, ...]:
    """Topics by how often and how lately (turn) they came up; like ones count as one."""
    groups: list[tuple[frozenset[str], int, int, str]] = []
    for turn, topic in found:
        about = _about(topic)
        if not about:
            continue
        for place, (old, count, last, name) in enumerate(groups):
            if old <= about or about <= old:
                longer = topic if len(topic) > len(name) else name
                groups[place] = (old | about, count + 1, max(last, turn), longer)
                break
        else:
            groups.append((about, 1, turn, topic))
    groups.sort(key=lambda group: (-group[1], -group[2]))
    return tuple(name for _, _, _, name in groups[:most])


@lru_cache(maxsize=1024)
def _about(topic: str) -> frozenset[str]:
    return frozenset(stems(topic)) - _words("en").joins
