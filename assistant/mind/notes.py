"""What the user just said → typed facts. The model proposes sentences, nothing unsaid gets in.

Every sentence must be covered by one clause of the user's own words: the same content words, the
same subject, the same yes or no. Where it is not, the clause itself, seen from outside, is taken.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from types import ModuleType

from assistant.mind import chinese, english
from assistant.mind.amend import amended
from assistant.mind.keys import typed
from assistant.mind.merge import Update
from assistant.mind.prompt import prompts
from assistant.mind.state import Fact, State
from assistant.mind.words import Clause, is_cjk, stems
from assistant.stages import Message

_INJECTION = re.compile(
    r"\b(?:ignore|disregard|forget|override)\b.{0,30}\b(?:instructions?|rules?|prompts?|above|previous|notes?)\b|"
    r"\b(?:system prompt|you are now|pretend (?:to|that|you)|jailbreak|developer mode|new instructions?)\b|"
    r"\bthe user\b|\bnotes?:|忽略.{0,12}(?:指令|规则|提示|要求|内容)|系统提示|你现在是|假装|用户|笔记[：:]",
    re.I,
)
_SECRET = re.compile(
    r"\b(?:password|passcode|pass ?phrase|pin(?: code| number)?|cvv|(?:credit |debit )?card number|api key|"
    r"secret key|social security)\b|密码|口令|卡号|验证码|身份证号|(?:\d[ -]?){12,}",
    re.I,
)
_NOTHING = re.compile(r"^\W*(?:nothing|none|no notes?|n/a|无|没有)\W*$", re.I)
_BARE = re.compile(
    r"^\W*(?:(?:ok(?:ay)?|uh[- ]?huh|mm+[- ]?hm+|yes|yeah|yep|no|nope|sure|right|got it|great|cool|nice|perfect|fine|"
    r"thanks?|thank you|thanks a lot|very much|so much|good(?: morning| evening| night)?|hello|hi|hey|bye|goodbye|"
    r"please|stop|wait|never ?mind|alright|all right|wow|really|oh|well|i see|sorry|see you|again|go on|next|"
    r"好的?|嗯+|哦|行|可以|谢谢你?|多谢|没事|没关系|再见|你好|您好|早上好|晚安|是的?|对|不是?|不用了?|知道了|明白了?|停|"
    r"继续|好吧|哈+|真的吗?|太好了)\W*)+$",
    re.I,
)
_LEADING = re.compile(r"^\s*(?:[-*•·]+|\d+[.)、])\s*")
_SCAFFOLD = frozenset(
    stems(
        "the user users is are has have was be been being a an and or to of at on in for with by that this it its "
        "his her their he she they will would called named name wants want needs do does not no never can who whom "
        "which there from as about into also"
    )
) | set("用户的是叫有了要在和他她它说会很名字也还个")
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
    if not user_text.strip() or _BARE.match(user_text) or _refused(user_text):
        return False
    found = grammar_of(user_text).clauses(grammar_of(user_text).clean(user_text))
    return any(clause.kind != "other" for clause in found) or _corrects(user_text)


def read_notes(raw: str, user_text: str, language: str, turn: int, state: State) -> Update:
    """The model's sentences, checked against the user's words and typed (M2, M5).

    Never raises: what cannot be read or was not said is left out.
    """
    if _refused(user_text):
        return Update()
    grammar = grammar_of(user_text)
    said = grammar.clean(user_text)
    clauses = grammar.clauses(said)
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


def _refused(text: str) -> bool:
    """Instructions in disguise and secrets never reach the notes (M12)."""
    return bool(_INJECTION.search(text) or _SECRET.search(text))


def _corrects(text: str) -> bool:
    return bool(
        re.search(
            r"\b(?:not|make it|make that|change|meant?|instead|actually)\b|不是|不对|改|换成",
            text,
            re.I,
        )
    )


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
