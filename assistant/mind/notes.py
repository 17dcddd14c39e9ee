"""What the user just said → typed facts. The model proposes sentences, nothing unsaid gets in.

Every sentence must be covered by one clause of the user's own words: the same content words, the
same subject, the same yes or no. Where it is not, the clause itself, seen from outside, is taken.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from types import ModuleType
from typing import Any

from assistant.config import MindConfig
from assistant.mind import chinese, english
from assistant.mind.amend import amended
from assistant.mind.keys import typed
from assistant.mind.merge import Update, merge
from assistant.mind.state import Fact, State
from assistant.mind.texts import prompts
from assistant.mind.words import Clause, is_cjk, stems
from assistant.stages import Message

_BOTH = tuple(prompts(language)["grammar"] for language in ("en", "zh"))


def _any(name: str) -> str:
    """The alternatives of one list in both languages: words may be mixed."""
    return "(?:" + "|".join(part for words in _BOTH for part in words[name]) + ")"


_INJECTION = re.compile(_any("injection"), re.I)
_SECRET = re.compile(_any("secrets"), re.I)
_UNKEPT = re.compile(_any("unkept"), re.I)
_CORRECTION = re.compile(_any("corrections"), re.I)
_CHATTER = re.compile(_any("chatter"), re.I)
_BARE = re.compile(rf"^\W*(?:{_any('bare')}\W*)+$", re.I)
_NOTHING = re.compile(r"^\W*(?:nothing|none|no notes?|n/a|无|没有)\W*$", re.I)
_LEADING = re.compile(r"^\s*(?:[-*•·]+|\d+[.)、])\s*")
_SCAFFOLD = frozenset(
    stems(
        "the user users is are has have was be been being a an and or to of at on in for with by "
        "that this it its his her their he she they will would called named name wants want needs "
        "do does not no never can who whom which there from as about into also"
    )
) | set("用户的是叫有了要在和他她它说会很名字也还个")
RECENT = 4
"""turns after which "she" means nobody any more who was spoken of"""
MIN_COVER = 0.5
"""A proposed sentence that shares less with every clause is not about what was said."""


def grammar_of(text: str) -> ModuleType:
    """The rules of the language the words are written in."""
    return chinese if is_cjk(text) else english


def note_messages(user_text: str, language: str, last_reply: str = "") -> list[Message]:
    """The prompt of a note update: rules and worked examples in the language spoken."""
    texts = prompts("zh" if is_cjk(user_text) else "en")["notes"]
    messages = [{"role": "system", "content": texts["rules"]}]
    for words, note in texts["examples"]:
        messages.append({"role": "user", "content": words})
        messages.append({"role": "assistant", "content": note})
    messages.append({"role": "user", "content": grammar_of(user_text).clean(user_text)})
    return messages


def worth_noting(user_text: str, language: str) -> bool:
    """False for what no note can come of: "ok", thanks, questions and commands (V10)."""
    return any(clause.note for clause in _clauses(user_text)) or bool(
        _CORRECTION.search(user_text) and _clauses(user_text)
    )


def needs_model(user_text: str, language: str) -> bool:
    """True when something is stated that no rule of `read_notes` is sure about.

    For all else the model cannot change the notes, and its two or three seconds can be saved.
    """
    return any(clause.note and not clause.sure for clause in _clauses(user_text))


def stated(user_text: str) -> list[str]:
    """What is stated, clause by clause, seen from outside; no model is asked."""
    return [clause.note for clause in _clauses(user_text) if clause.note]


def _clauses(user_text: str) -> list[Clause]:
    """The clauses of words that may be noted; none of bare, secret or injected words."""
    if not user_text.strip() or _BARE.match(user_text) or _refused(user_text):
        return []
    grammar = grammar_of(user_text)
    found: list[Clause] = grammar.clauses(grammar.clean(user_text))
    return found


def read_notes(raw: str, user_text: str, language: str, turn: int, state: State) -> Update:
    """The model's sentences, checked against the user's words and typed (M2, M5).

    Never raises: what cannot be read or was not said is left out.
    """
    if _refused(user_text):
        return Update()
    grammar = grammar_of(user_text)
    said = grammar.clean(user_text)
    clauses = grammar.clauses(said, _earlier(grammar, state, turn))
    notes = _chosen(raw, clauses, said, grammar)
    language = "zh" if grammar is chinese else "en"
    changed = amended(said, state, turn)
    facts = {key: fact for key, fact in changed.items() if key in state.facts}
    preference = {key: fact for key, fact in changed.items() if key in state.preference}
    for note, clause in () if changed else notes:
        item = typed(note, clause, language, state)
        fact = Fact(item.value, note, language, turn)
        (preference if item.lasting else facts)[item.key] = fact
    return Update(facts=facts, preference=preference)


def ordered(facts: Sequence[tuple[str, Fact]], user_text: str) -> list[tuple[str, Fact]]:
    """Facts by key in the order in which they were said."""
    grammar = grammar_of(user_text)
    notes = [clause.note for clause in grammar.clauses(grammar.clean(user_text))]
    place = {note: index for index, note in enumerate(notes)}
    return sorted(facts, key=lambda item: place.get(item[1].note, len(notes)))


def _refused(text: str) -> bool:
    """Instructions in disguise, secrets, what is not to be kept, a television (M12, V14)."""
    return any(words.search(text) for words in (_INJECTION, _SECRET, _UNKEPT, _CHATTER))


def _earlier(grammar: ModuleType, state: State, turn: int) -> Any:
    """Whom a pronoun means that nobody in this turn stands for."""
    turns: dict[int, list[str]] = {}
    for fact in (*state.preference.values(), *state.facts.values()):
        if max(1, turn - RECENT) <= fact.turn < turn:
            turns.setdefault(fact.turn, []).append(fact.note)
    return grammar.antecedents([turns[number] for number in sorted(turns, reverse=True)])


def provisional(state: State, said: Iterable[tuple[int, str, str]], limits: MindConfig) -> State:
    """The state with all that was stated in (turn, words, language), oldest first.

    For a prompt, until the model has chosen what of it is worth keeping.
    """
    for turn, text, language in said:
        raw = "\n".join(stated(text))
        state = merge(state, read_notes(raw, text, language, turn, state), limits)
    return state


def _chosen(
    raw: str, clauses: list[Clause], said: str, grammar: ModuleType
) -> list[tuple[str, Clause]]:
    """(note, clause) in the order they were said, one for each clause worth it."""
    picked: dict[int, str] = {
        index: clause.note for index, clause in enumerate(clauses) if clause.sure and clause.note
    }
    for sentence in _sentences(raw):
        index = _best(sentence, clauses)
        if index is None or clauses[index].kind == "other" or not clauses[index].note:
            continue
        if index not in picked:
            picked[index] = clauses[index].note
    return [(picked[index], clauses[index]) for index in sorted(picked)]


def _sentences(raw: str) -> Iterator[str]:
    for line in re.split(r"\n+|(?<=[。！!])|(?<=[a-z0-9]\.)\s+(?=[A-Z])", raw):
        bare = _LEADING.sub("", line).strip()
        if bare and not _NOTHING.match(bare):
            yield bare


def _best(sentence: str, clauses: list[Clause]) -> int | None:
    """The clause that covers most of a sentence's content words."""
    content = set(stems(sentence)) - _SCAFFOLD
    if not content:
        return None
    covers = [len(content & set(stems(clause.text))) / len(content) for clause in clauses]
    best = max(range(len(clauses)), key=covers.__getitem__, default=None)
    return best if best is not None and covers[best] >= MIN_COVER else None
