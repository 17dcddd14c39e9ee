"""English clauses seen from outside: "my sister Anna is vegan" → The user's sister Anna is …

The word lists are data: prompts/en.toml, [grammar].
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from assistant.mind.texts import prompts
from assistant.mind.values import values
from assistant.mind.words import Clause, stems

_WORDS = prompts("en")["grammar"]


def _any(name: str) -> str:
    """The alternatives of one list of prompts/en.toml."""
    return "(?:" + "|".join(_WORDS[name]) + ")"


_AUX = _any("verbs")
_FILLER = re.compile(rf"\b{_any('fillers')}\b[,.]*\s*", re.I)
_REPEAT = re.compile(r"\b((?:[a-z']+ ){0,2}[a-z']+)[,.]? (?=\1\b)", re.I)
_RESTART = re.compile(rf"[,.]?\s*(?:-\s*)?\b{_any('restarts')}\b[,.]*\s+", re.I)
_SENTENCE = re.compile(r"(?<!\b[ap]\.m)(?<!\bDr)(?<!\bMr)(?<!\bMrs)(?<!\bSt)([.!?;]+)(?=\s|$)")
_START = (
    r"(?:i|i'm|i've|i'd|i'll|im|we|we're|we've|we'll|he|he's|she|she's|they|they're|it's)\b|"
    rf"(?:my|our|his|her|their|the) (?:[\w']+ ){{1,4}}{_AUX}\b|"
    rf"(?-i:[A-Z])\w+(?: (?-i:[A-Z])\w+)? {_AUX}\b"
)
_SPLIT = re.compile(
    r"(?:,\s*(?:and|but|so|because)?|\s+(?:and|but|because))\s+"
    rf"(?=(?:also |then |now )?(?:{_START}))",
    re.I,
)
_LEAD = re.compile(rf"^(?:{_any('leads')}\b[,.!]*\s*)+", re.I)
_REMEMBER = re.compile(rf"\b{_any('remember')}(?: that|,)?(?= (?:i|my|we|our)\b)", re.I)
_REQUEST = re.compile(
    rf"^(?:please |kindly )?(?:{_any('polite')} )?(?:please )?(?P<what>{_any('requests')} .+)$",
    re.I,
)
_FRAGMENT = re.compile(
    rf"^(?:(?:an?|the|one|two|three|four|\d+) )?(?:\w+ )?{_any('bookable')}\b(?! is\b)", re.I
)
_REMIND = re.compile(r"^remind (?:me|us)\b", re.I)
_GET = re.compile(r"^(?:get|find) (?:me|us) ", re.I)
_QUESTION = re.compile(rf"^{_any('questions')}\b", re.I)
_USER = re.compile(r"^(?:i|i'm|i've|i'd|i'll|im|we|we're|we've|we'd|we'll)\b", re.I)
_NAME = r"(?-i:[A-Z])[\w'-]+"
_ABOUT = re.compile(
    rf"^(?P<np>(?:my|our|the|his|her|their|its) (?:[\w'-]+ ){{1,6}}?|{_NAME} (?:{_NAME} )?)"
    rf"(?:\w+ly |also |still |now )?{_AUX}\b",
    re.I,
)
_MINE = re.compile(r"^(?P<np>(?:my|our) (?:[\w'-]+ ){1,3}?)[a-z]{3,}(?:s|ed|t)\b", re.I)
_PRONOUN = re.compile(r"^(he|she|they|it|his|her|their|its)(?=['’ ])", re.I)
_CALL_ME = re.compile(
    r"^(?:(?:you can |just |please )*call me|my (?:first )?name(?:'s| is)|(?:i am|i'm|im) called|"
    rf"the name's|this is)\s+(?P<name>[\w'-]+(?: {_NAME}){{0,2}})(?P<rest>\b.*)$",
    re.I,
)
_I_AM = re.compile(rf"^(?:i am|i'm) (?P<name>{_NAME}(?: {_NAME})?)$", re.I)
_NO_NAME = re.compile(rf"^{_any('not_names')}$", re.I)
_HAVE = re.compile(
    rf"^(?:i|we)(?:'ve| have)(?: got)? an? (?:\w+ )?(?P<who>{_any('relations')})"
    rf"(?: (?:called|named) (?P<name>{_NAME}))?",
    re.I,
)
_SURE = re.compile(rf"\b{_any('lasting')}|\b{_any('events')}\b|\b{_any('wishes')}", re.I)
_SMALL = re.compile(
    rf"^the user (?:is|was|feels|has been) (?:{_any('degrees')} )*{_any('moods')}\b|"
    rf"^the user (?:(?:really|just|also) )*{_any('mental')}\b(?! {_any('facts_after_not')}\b)|"
    rf"\b{_any('empty_objects')}\b|^it is not that\b",
    re.I,
)
_PAST = re.compile(rf"^{_any('past')}$")
_MODAL = re.compile(rf"^{_any('modals')}$")
_ADVERB = re.compile(rf"^{_any('adverbs')}$")


def clean(text: str) -> str:
    """Without fillers, stuttered words and false starts: what the person meant to say (V13)."""
    text = text.replace("’", "'")
    text = _FILLER.sub("", text)
    while (shorter := _REPEAT.sub("", text)) != text:
        text = shorter
    for match in reversed(list(_RESTART.finditer(text))):
        text = _restarted(text, match)
    return re.sub(r"\s+", " ", text).strip()


def _restarted(text: str, match: re.Match[str]) -> str:
    """ "the blue one, no the green one" → "the green one"; unchanged when nothing fits together."""
    before, after = text[: match.start()], text[match.end() :]
    if not before.strip() or not after:
        return text
    sentence = max(before.rfind(mark) for mark in ".!?") + 1
    tail = before[sentence:]
    new = [value for value in values("at " + after) if value.start <= 6]
    if new:
        same = [value for value in values(tail) if value.kind == new[0].kind]
        if same:
            old = same[-1]
            rest = _without_preposition(after) if _preposition(tail, old.start) else after
            return before[:sentence] + tail[: old.start] + rest
    first = re.match(r"(?:the|a|an|at|on|in|to|for|with|my|from)\b", after, re.I)
    if first:
        places = list(re.finditer(rf"\b{first.group()}\b", tail, re.I))
        if places:
            return before[:sentence] + tail[: places[-1].start()] + after
    return text


def _preposition(text: str, end: int) -> bool:
    return re.search(r"\b(?:at|on|for|in)\s+$", text[:end], re.I) is not None


def _without_preposition(text: str) -> str:
    return re.sub(r"^(?:at|on|for|in)\s+", "", text, flags=re.I)


def clauses(text: str) -> list[Clause]:
    """The clauses of cleaned words, each rewritten in the third person."""
    result: list[Clause] = []
    about = ""
    asked = _REMEMBER.search(text) is not None
    for part, question in _parts(text):
        clause = _clause(part, question, about)
        if asked and clause.kind == "statement":
            clause = replace(clause, sure=True)
        result.append(clause)
        about = _next_about(part, clause, about)
    return result


def _parts(text: str) -> Iterator[tuple[str, bool]]:
    """(clause, is a question)"""
    pieces = _SENTENCE.split(text)
    for index in range(0, len(pieces), 2):
        mark = pieces[index + 1] if index + 1 < len(pieces) else ""
        for part in _joined(_SPLIT.split(pieces[index])):
            bare = _LEAD.sub("", part.strip(" ,-")).strip(" ,-")
            if bare:
                yield bare, "?" in mark


def _joined(parts: list[str]) -> Iterator[str]:
    """ "my wife" + "I are away" was one subject."""
    waiting = ""
    for part in parts:
        whole = f"{waiting} and {part}" if waiting else part
        waiting = whole if re.fullmatch(r"(?i:my|our) [a-z]+(?: [A-Z]\w+)?", whole.strip()) else ""
        if not waiting:
            yield whole
    if waiting:
        yield waiting


def _clause(part: str, question: bool, about: str) -> Clause:
    asked = question or _QUESTION.match(part) is not None
    special = _name(part, question) or _request(part) or (Clause(part) if asked else None)
    if special is not None:
        return special
    subject = _subject(part, about)
    note = _outside(part, about) if subject else ""
    if not subject or _SMALL.search(note):
        return Clause(part, subject=subject)
    dated = any(value.kind != "count" for value in values(part)) and subject != "it"
    return Clause(part, note, subject, "statement", dated or bool(_SURE.search(note)))


def _name(part: str, question: bool) -> Clause | None:
    name = _CALL_ME.match(part) or _I_AM.match(part)
    if not name or _NO_NAME.match(name["name"]):
        return None
    given = name["name"][:1].upper() + name["name"][1:]
    return Clause(part, f"The user is called {given}.", "user", "statement", not question)


def _request(part: str) -> Clause | None:
    """ "book a table for two", or only "a table for two on Friday"."""
    request = _REQUEST.match(part)
    if request:
        sure = bool(values(part)) or bool(_REMIND.match(request["what"]))
        return Clause(part, _requested(request["what"]), "user", "request", sure)
    if _FRAGMENT.match(part) and any(value.kind != "part" for value in values(part)):
        wanted = re.sub(r",? please$", "", part.rstrip(" ."), flags=re.I)
        note = f"The user wants {_swap(wanted[0].lower() + wanted[1:])}."
        return Clause(part, note, "user", "request", True)
    return None


def _subject(part: str, about: str) -> str:
    """ "user", the words it is about, or "" when this is no statement."""
    if _USER.match(part):
        return "user"
    pronoun = _PRONOUN.match(part)
    if pronoun and pronoun.group().lower() not in ("it", "its"):
        return about or pronoun.group().lower()
    if re.match(r"^(?:it|that|this)(?:'s| is| was| will)\b", part, re.I):
        return "it"
    found = _ABOUT.match(part) or _MINE.match(part)
    if found:
        return re.sub(r"^(?:my|our|the)\s+", "", found["np"].strip(), flags=re.I).lower()
    return ""


def _next_about(part: str, clause: Clause, about: str) -> str:
    """Whom "he", "she" or "they" means in the next clause, as words of a note."""
    have = _HAVE.match(part)
    if have:
        return f"the user's {have['who']}" + (f" {have['name']}" if have["name"] else "")
    found = _ABOUT.match(part)
    if clause.kind == "statement" and found and not _PRONOUN.match(part):
        words = re.sub(r"'s name$", "", found["np"].strip())
        return _swap(words)
    return about


def _requested(what: str) -> str:
    what = what.rstrip(" .!")
    if _REMIND.match(what):
        what = "be reminded" + _REMIND.sub("", what)
    elif _GET.match(what):
        return f"The user wants {_swap(_GET.sub('', what))}."
    else:
        what = what[0].lower() + what[1:]
    return re.sub(r",? please$", "", f"The user wants to {_swap(what)}") + "."


def _outside(part: str, about: str) -> str:
    """The clause in the third person, as a sentence."""
    part = part.rstrip(" .!")
    if about:
        part = re.sub(
            r"^(he|she|they|it)'s(?= \w+(?:ed|en)\b)(?! called| named)", r"\1 has", part, flags=re.I
        )
        part = re.sub(r"^(he|she|it)'s\b", r"\1 is", part, flags=re.I)
        part = re.sub(r"^(?:he|she|they)(?=['’ ])", about, part, flags=re.I)
        part = re.sub(r"^(?:his|her|their)(?= )", f"{about}'s", part, flags=re.I)
        if part.lower().startswith(about.lower()):
            part = re.sub(r"'re\b", " are", part, count=1)
    if _USER.match(part):
        part = _third_person(part)
    note = _swap(part).strip()
    return note[:1].upper() + note[1:] + "."


def _third_person(part: str) -> str:
    """ "I really like tea" → "the user really likes tea"."""
    words = _expand(part).split(" ")
    result = ["the user"]
    rest = words[1:]
    while (
        rest
        and _ADVERB.match(rest[0].lower())
        and not (rest[0].lower() == "do" and len(rest) > 1 and rest[1].lower() == "not")
    ):
        if rest[0].lower() != "do":
            result.append(rest[0])
        rest = rest[1:]
    if rest:
        result.append(_verb(rest[0], rest[1] if len(rest) > 1 else ""))
    return " ".join(result + rest[1:])


def _expand(part: str) -> str:
    for pattern, full in (
        (r"^(i|we)(?:'m|'re)\b", r"\1 am"), (r"^im\b", "i am"), (r"^(i|we)'ve\b", r"\1 have"),
        (r"^(i|we)'ll\b", r"\1 will"), (r"^(i|we)'d\b", r"\1 would"),
        (r"\bcan't\b|\bcannot\b", "can not"), (r"\bwon't\b", "will not"), (r"n't\b", " not"),
    ):  # fmt: skip
        part = re.sub(pattern, full, part, flags=re.I)
    return part


def _verb(verb: str, after: str) -> str:
    low = verb.lower()
    fixed = {"am": "is", "are": "is", "have": "has", "do": "does", "go": "goes", "were": "was"}
    if low in fixed:
        return fixed[low]
    if _MODAL.match(low) or (_PAST.match(low) and low not in ("need", "read", "put", "cut")):
        return low
    if low.endswith("y") and low[-2:-1] not in "aeiou":
        return low[:-1] + "ies"
    return low + ("es" if low.endswith(("s", "sh", "ch", "x", "o")) else "s")


def _swap(text: str) -> str:
    """First person words in any other place."""
    for pattern, new in (
        (r"\b(?:my|our)\b", "the user's"), (r"\b(?:mine|ours)\b", "the user's"),
        (r"\b(?:me|us)\b", "the user"), (r"\bmyself\b|\bourselves\b", "themselves"),
        (r"\b(?:i|we)(?:'m| am|'re| are)\b", "the user is"),
        (r"\b(?:i|we)(?:'ve| have)\b", "the user has"),
        (r"\b(?:i|we)'d\b", "the user would"), (r"\b(?:i|we)'ll\b", "the user will"),
        (r"\b(?:i|we)\b", "the user"), (r"^(it|that|he|she)'s\b", r"\1 is"),
    ):  # fmt: skip
        text = re.sub(pattern, new, text, flags=re.I)
    return text


def subject_of(note: str) -> str:
    """The first words of a note that say whom it is about, lower case."""
    low = note.lower()
    if low.startswith("the user's "):
        return " ".join(low[len("the user's ") :].split()[:3])
    return "user" if low.startswith("the user") else " ".join(low.split()[:3])


def negative(text: str) -> bool:
    """True for a text that denies something."""
    found = {"not", "never", "no", "without", "nor", "neither", "dislike", "hardly"}
    return bool(found & set(stems(text)))
