"""English clauses seen from outside: "my sister Anna is vegan" → The user's sister Anna is …

The word lists are data: prompts/en.toml, [grammar].
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from assistant.mind import pronouns
from assistant.mind.cleaning import clean
from assistant.mind.texts import filled, prompts
from assistant.mind.values import values
from assistant.mind.words import Clause, stems

__all__ = ["antecedents", "clauses", "clean", "negative", "subject_of"]

_WORDS = prompts("en")["grammar"]


def _any(name: str) -> str:
    """The alternatives of one list of prompts/en.toml."""
    return filled("(?:" + "|".join(_WORDS[name]) + ")", _WORDS)


_AUX = _any("verbs")
_SENTENCE = re.compile(r"(?<!\b[ap]\.m)(?<!\bDr)(?<!\bMr)(?<!\bMrs)(?<!\bSt)([.!?;]+)(?=\s|$)")
_START = (
    r"(?:i|i'm|i've|i'd|i'll|im|we|we're|we've|we'll|he|he's|she|she's|they|they're|it's)\b|"
    rf"(?:my|our|his|her|their|the) (?:[\w']+ ){{1,4}}{_AUX}\b|"
    rf"(?-i:[A-Z])\w+(?: (?-i:[A-Z])\w+)? {_AUX}\b|(?:every(?:one|body)|people) calls? me\b"
)
_SPLIT = re.compile(
    r"(?:,\s*(?:and|but|so|because)?|\s+(?:and|but|because))\s+"
    rf"(?=(?:also |then |now )?(?:{_START}))",
    re.I,
)
_RUN_ON = re.compile(
    r"(?<=\w) (?=(?:so )?(?:(?:i|she|he|they|we)(?:'m|'s|'re|'ve|'ll) \w|"
    rf"(?:he|she|they) {_AUX} \w|"
    r"(?:i|we) (?:work|live) (?:at|in|for|as|on) (?=.*\bnow\b)|"
    r"(?:so i|i also|i always|i usually|i never|and i) \w+ \w))",
    re.I,
)
"""Speech has no commas: "my teacher is called Giulia she's from Bari"."""
_INSIDE = re.compile(rf"\b{_any('inside')}$", re.I)
_WHOLE = re.compile(rf"^(?:\S+ ){{0,5}}?(?:i|i'm|i've|we|{_AUX})\b \S+", re.I)
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
_BOTH = re.compile(
    rf"^(?P<who>{_NAME}|my [\w-]+(?: {_NAME})?) and i (?P<rest>(?!(?:am|was)\b).+)$", re.I
)
""" "Max and I broke up": the user is named first, the verb stays as it is."""
_ABOUT = re.compile(
    rf"^(?P<np>(?:my|our|the|his|her|their|its) (?:[\w'-]+ ){{1,6}}?|{_NAME} (?:{_NAME} )?)"
    rf"(?:\w+ly |also |still |now )?{_AUX}\b",
    re.I,
)
_MINE = re.compile(r"^(?P<np>(?:my|our) (?:[\w'-]+ ){1,3}?)[a-z]{3,}(?:s|ed|t)\b", re.I)
_PRONOUN = re.compile(r"^(he|she|they|it|his|her|their|its)(?=['’ ])", re.I)
_CALL_ME = re.compile(
    r"^(?P<they>people |every(?:one|body) |(?:all )?my friends )?"
    r"(?:(?:you can |just |please )*calls? me|"
    r"my (?:first )?name(?:'s| is)|(?:i am|i'm|im) called|"
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
_SUPPOSED = re.compile(_any("supposed"), re.I)
_QUOTING = re.compile(rf"^(?!i ).*\b{_any('quoting')}:?$", re.I)
_WHEN = re.compile(rf"^(?P<when>{_any('times')}),? (?P<rest>(?:i|we|my|our)\b.+)$", re.I)
_TIME = re.compile(rf"{_any('times')}", re.I)
_DAY = re.compile(r"(?:mon|tues|wednes|thurs|fri|satur|sun)day", re.I)
_OBJECT = re.compile(
    r"(?<= )(?P<word>him|them|her(?=$|[.,]| (?:up|on|at|in|to|every|and|for|from|with|out|back)\b))"
    r"(?=$|[ .,])",
    re.I,
)
_MODAL = re.compile(rf"^{_any('modals')}$")
_ADVERB = re.compile(rf"^{_any('adverbs')}$")


def antecedents(turns: Sequence[Sequence[str]]) -> Mapping[str, str]:
    """Whom "she" and "he" mean after the notes of some turns, the newest first."""
    return pronouns.antecedents(turns)


def clauses(text: str, earlier: Mapping[str, str] = MappingProxyType({})) -> list[Clause]:
    """The clauses of cleaned words, each rewritten in the third person.

    `earlier`: whom a pronoun means that refers to an earlier turn (`antecedents`).
    """
    result: list[Clause] = []
    about = dict(earlier)
    asked = _REMEMBER.search(text) is not None
    for part, question in _parts(text):
        clause = _said(part, question, about)
        if asked and clause.kind == "statement":
            clause = replace(clause, sure=True)
        result.append(clause)
        now = _next_about(part, clause)
        about |= dict.fromkeys(pronouns.fits(now), now)
    return result


def _said(part: str, question: bool, about: Mapping[str, str]) -> Clause:
    """A clause; what stands before its subject goes to its end: "On Friday I …"."""
    when = _WHEN.match(part)
    moved = part
    if when and not question:
        first = when["when"] if _DAY.match(when["when"]) else when["when"][:1].lower()
        first += "" if _DAY.match(when["when"]) else when["when"][1:]
        moved = f"{when['rest'].rstrip(' .')} {first}"
    pronoun = _PRONOUN.match(moved)
    meant = about.get(pronouns.base(pronoun.group()), "") if pronoun else ""
    clause = _clause(moved, question, meant)
    if clause.note and clause.subject == "user" and clause.kind == "statement":
        clause = replace(clause, note=_with_objects(clause.note, about))
    return replace(clause, text=part)


def _with_objects(note: str, about: Mapping[str, str]) -> str:
    """ "The user calls her every day" → "The user calls the user's mother every day"."""
    return _OBJECT.sub(
        lambda match: about.get(pronouns.base(match["word"]), "") or match["word"], note
    )


def _parts(text: str) -> Iterator[tuple[str, bool]]:
    """(clause, True for a question and for what is only supposed or quoted)"""
    pieces = _SENTENCE.split(text)
    for index in range(0, len(pieces), 2):
        mark = pieces[index + 1] if index + 1 < len(pieces) else ""
        unmeant = "?" in mark or _SUPPOSED.search(pieces[index]) is not None
        whole = [one for part in _SPLIT.split(pieces[index]) for one in _run_on(part)]
        for part in _joined(whole):
            bare = _LEAD.sub("", part.strip(" ,-")).strip(" ,-")
            if bare:
                yield bare, unmeant
                unmeant = unmeant or _QUOTING.match(bare) is not None


def _run_on(part: str) -> Iterator[str]:
    """Where a new sentence begins although nothing says so; a relative clause is none."""
    begin = 0
    for match in _RUN_ON.finditer(part):
        before = part[begin : match.start()].strip()
        if _WHOLE.match(before) and not _INSIDE.search(before):
            yield before
            begin = match.end()
    yield part[begin:]


def _joined(parts: list[str]) -> Iterator[str]:
    """ "my wife" + "I are away" was one subject."""
    waiting = ""
    for part in parts:
        glue = " " if _TIME.fullmatch(waiting.strip(" ,")) else " and "
        whole = f"{waiting}{glue}{part}" if waiting else part
        alone = re.fullmatch(r"(?i:my|our) [a-z]+(?: [A-Z]\w+)?|[A-Z]\w+", whole.strip(" ,"))
        waiting = whole if alone or _TIME.fullmatch(whole.strip(" ,")) else ""
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
    they = name.groupdict().get("they")
    note = f"{_swap(they).strip().capitalize()} call the user {given}." if they else ""
    note = re.sub(r"^(Every\w+) call\b", r"\1 calls", note)
    return Clause(part, note or f"The user is called {given}.", "user", "statement", not question)


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
    if _USER.match(part) or _BOTH.match(part):
        return "user"
    pronoun = _PRONOUN.match(part)
    if pronoun and (about or pronoun.group().lower() not in ("it", "its")):
        return about or pronoun.group().lower()
    if re.match(r"^(?:it|that|this)(?:'s| is| was| will)\b", part, re.I):
        return "it"
    found = _ABOUT.match(part) or _MINE.match(part)
    if found:
        return re.sub(r"^(?:my|our|the)\s+", "", found["np"].strip(), flags=re.I).lower()
    return ""


def _next_about(part: str, clause: Clause) -> str:
    """Whom "he", "she" or "they" can mean in the next clause, as words of a note."""
    have = _HAVE.match(part)
    if have:
        return f"the user's {have['who']}" + (f" {have['name']}" if have["name"] else "")
    found = _ABOUT.match(part)
    if clause.kind == "statement" and found and not _PRONOUN.match(part):
        words = re.sub(r"'s name$", "", found["np"].strip())
        return _swap(words)
    return ""


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
            r"^(he|she|they|it)'s(?= \w+(?:ed|en)\b)(?! called| named)"
            r"(?! (?:seven|ten|eleven|\w+teen|open|often)\b)",
            r"\1 has",
            part,
            flags=re.I,
        )
        part = re.sub(r"^(he|she|it)'s\b", r"\1 is", part, flags=re.I)
        part = re.sub(r"^(?:he|she|they|it)(?=['’ ])", about, part, flags=re.I)
        part = re.sub(r"^(?:his|her|their|its)(?= )", f"{about}'s", part, flags=re.I)
        if part.lower().startswith(about.lower()):
            part = re.sub(r"'re\b", " are", part, count=1)
    both = _BOTH.match(part)
    if both:
        part = f"the user and {both['who']} {both['rest']}"
    elif _USER.match(part):
        part = _third_person(part)
    note = _swap(part).strip()
    return note[:1].upper() + note[1:] + "."


def _third_person(part: str) -> str:
    """ "I really like tea" → "the user really likes tea"."""
    words = _expand(part).split(" ")
    result = ["the user"]
    rest = words[1:]
    if [word.lower() for word in rest[:2]] == ["no", "longer"]:
        result, rest = [*result, *rest[:2]], rest[2:]
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
