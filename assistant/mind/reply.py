"""A stream of tokens becomes pieces that can be spoken: plain words, early, two sentences at most.

Decisions are made character by character, so they do not depend on how the tokens were cut.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial

from assistant.mind.address import to_asker
from assistant.mind.texts import prompts
from assistant.wording import words

MAX_SENTENCES = 2
CLAUSE, SENTENCE, REST = "clause", "sentence", "rest"
CLAUSE_WORDS = 2
CLAUSE_CHARACTERS = 4
"""A shorter first clause is not spoken by itself: "Yes," would leave a hole behind it."""
BREATH_WORDS = 3
"""The same for a first piece that ends without a mark."""
LATE, LATE_WORDS = frozenset({"of", "than", "or"}), 5
"""These bind more closely: only where the sentence has become long."""
END = ".!?…"
WIDE_END = "。！？"
PAUSE = ",;:，；：、—"
CLOSERS = "\"')]”’」』）】*_`"
ABBREVIATIONS = re.compile(
    r"(?i:dr|mr|mrs|ms|prof|st|sr|jr|vs|etc|approx|inc|ltd|co|mt|fig|e\.g|i\.e|[ap]\.m|u\.[sk])"
)
_CJK = r"\u3400-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"[{_CJK}]|[^\W_]+(?:['’.-][^\W_]+)*")
_ROLE = re.compile(
    r"^\W*(?:assistant|ai|user|system|助手|用户|note|notes|备注|注)\W*[:：]\s*", re.I
)
_REMARK = re.compile(r"^\W*(?:notes?|备注|注|p\.?s\.?)\W*[:：]", re.I)
_LIST = re.compile(r"^\s*(?:[-*+•·#>|]+\s+|#+\s*|\(?\d{1,2}[.)、]\s+|\d{1,2}、)")
_HINT = re.compile(r"^[（(](?:回答|answer)\s*[:：]\s*|(?<=[.。])[）)]$", re.I)
"""what the last message asked for, said back"""
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_URL = re.compile(r"(?:https?://|www\.)\S+")
_OUTSIDE = tuple(
    (re.compile(rf"\b{words}" if words.isascii() else words, re.I), spoken)
    for words, spoken in (
        ("the user's ", "your "),
        ("the user is ", "you are "),
        ("the user was ", "you were "),
        ("the user has ", "you have "),
        ("the user does ", "you do "),
        ("the user(?='s)", "you"),
        (r"the user\b", "you"),
        ("用户", "你"),
    )
)
"""The notes speak about the user; a reply speaks to them."""
_MARKS = re.compile(r"[*_`#~|<>{}\[\]\\]+")


def sentences(
    pieces: Iterable[str], language: str, hurried: Callable[[], bool] = lambda: False
) -> Iterator[str]:
    """Speakable pieces of a reply: a first clause as soon as it is natural, then sentences.

    `hurried`: the first piece may also end where a speaker would take breath, in front of "if",
    "because", "in"; what follows will be there in time. At most two sentences. An unfinished rest
    is spoken only when nothing else was. The source is closed as soon as nothing more is wanted,
    so that the model stops.
    """
    said: list[str] = []
    finished = 0
    try:
        for raw, kind in _cuts(_visible(pieces), _breaths(language), hurried):
            if finished and (kind == REST or _REMARK.match(raw)):
                break
            text = spoken_form(raw, language)
            if text and _repeats(text, said):
                break
            if text:
                said.append(text)
                yield text
                finished += kind == SENTENCE
            if finished == MAX_SENTENCES:
                break
    finally:
        close = getattr(pieces, "close", None)
        if close is not None:
            close()


def answer(
    pieces: Iterable[str],
    language: str,
    question: str,
    hurried: Callable[[], bool] = lambda: False,
) -> Iterator[str]:
    """`sentences`, the first said to the one who asked; a question said back is left out.

    What the model claims to have done is not said: only rules do anything, and they say it.
    """
    asked = _letters(question.replace("我", "你"))
    first = True
    for text in sentences(pieces, language, hurried):
        if first and text.endswith(("?", "？")) and _letters(text) in (asked, _letters(question)):
            continue
        if _claims(text, language, question):
            close = getattr(pieces, "close", None)
            if close is not None:
                close()
            yield words("no_action", language)
            return
        yield to_asker(text, question) if first else text
        first = False


def _claims(text: str, language: str, question: str) -> bool:
    """True for "I will set an alarm", "Your table is booked": a deed of the model's own."""
    texts = prompts(language)["reply"]
    always, unasked = _patterns(tuple(texts["claims"])), _patterns(tuple(texts["claims_unasked"]))
    told = not question.rstrip().endswith(("?", "？"))
    return always.match(text) is not None or (told and unasked.match(text) is not None)


@cache
def _patterns(parts: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{part})" for part in parts), re.I)


def _letters(text: str) -> str:
    return "".join(_WORD.findall(text)).casefold()


def spoken_form(raw: str, language: str) -> str:
    """One piece as plain words: no markup, emoji, role label, list marker or address."""
    text = _HINT.sub("", _ROLE.sub("", _LIST.sub("", raw.strip())))
    text = _URL.sub("", _LINK.sub(r"\1", text))
    text = _MARKS.sub(" " if language != "zh" else "", text)
    text = "".join(char for char in text if _sayable(char))
    for pattern, spoken in _OUTSIDE:
        text = pattern.sub(partial(_cased, spoken), text)
    text = re.sub(r"\s+", " ", text).strip()
    text = re.sub(r"\s+([,.!?;:，。！？；：])", r"\1", text)
    if text[:1] in "\"“'" and text.count('"') + text.count("“") + text.count("”") < 2:
        text = text.lstrip('"“')
    return text if _WORD.search(text) else ""


def _cased(new: str, old: re.Match[str]) -> str:
    return new[:1].upper() + new[1:] if old.group()[:1].isupper() else new


def _sayable(char: str) -> bool:
    """Letters, digits, punctuation and money; no emoji, arrows or control characters."""
    kind = unicodedata.category(char)
    return (kind[0] in "LNPZM" and char != "\ufe0f") or kind == "Sc" or char in "+=%°"


def _visible(pieces: Iterable[str]) -> Iterator[str]:
    """Characters of the reply; <think>…</think> and ```…``` are never shown."""
    buffer = ""
    hidden = ""
    for piece in pieces:
        for char in piece:
            buffer += char
            if hidden:
                if buffer.endswith(hidden):
                    buffer = hidden = ""
                continue
            if buffer.endswith(("<think>", "```")):
                hidden = "```" if buffer.endswith("`") else "</think>"
                buffer = ""
            elif not ("<think>".startswith(buffer) or "```".startswith(buffer)):
                # Give out what can no longer be the start of a hidden part.
                keep = _possible_start(buffer)
                yield from buffer[: len(buffer) - keep]
                buffer = buffer[len(buffer) - keep :]
    if not hidden:
        yield from buffer


def _possible_start(buffer: str) -> int:
    """How many last characters might begin <think> or ```."""
    for size in range(min(len(buffer), 6), 0, -1):
        tail = buffer[-size:]
        if "<think>".startswith(tail) or "```".startswith(tail):
            return size
    return 0


@cache
def _breaths(language: str) -> frozenset[str]:
    """Words in front of which a speaker may take breath."""
    return frozenset(prompts(language)["reply"].get("breaths", "").split())


def _cuts(
    chars: Iterator[str], breaths: frozenset[str], hurried: Callable[[], bool]
) -> Iterator[tuple[str, str]]:
    """(piece, kind): a rest is what no mark ended."""
    text = ""
    first = True
    for char in chars:
        if char == "\n":
            if text.strip():
                yield text, CLAUSE if text.rstrip().endswith((":", "：")) else SENTENCE
                first = False
            text = ""
            continue
        if text and _is_cut(text, char, first):
            yield text, SENTENCE if _ended(text) else CLAUSE
            text, first = "", False
        elif first and char == " " and (cut := _breath(text, breaths)) and hurried():
            yield text[:cut], CLAUSE
            text, first = text[cut:].lstrip(), False
        text += char
    if text.strip():
        yield text, SENTENCE if _ended(text) else REST


def _is_cut(text: str, after: str, first: bool) -> bool:
    """True when `text` can be spoken by itself, seeing the one character that follows."""
    if after in CLOSERS or after in END + WIDE_END + PAUSE:
        return False
    bare = text.rstrip(CLOSERS)
    last = bare[-1:]
    if last in WIDE_END:
        return True
    if last in END:
        return (after.isspace() and not _abbreviated(bare)) or (_is_cjk(after) and last != ".")
    if first and last in PAUSE:
        return (after.isspace() or last in "，；：、—") and _long_enough(bare, last)
    return False


def _breath(text: str, breaths: frozenset[str]) -> int:
    """Where the last word begins, if a speaker may take breath in front of it; else 0."""
    before, _, word = text.rpartition(" ")
    if word not in breaths or before[-1:] in PAUSE:
        return 0
    least = LATE_WORDS if word in LATE else BREATH_WORDS
    return len(before) if len(_WORD.findall(before)) >= least else 0


def _long_enough(text: str, mark: str) -> bool:
    """A first clause worth its own breath. Enumerations ("milk, eggs") are no clauses."""
    if mark == "、":
        return False
    words = _WORD.findall(text)
    wide = sum(_is_cjk(word) for word in words)
    return wide >= CLAUSE_CHARACTERS if wide else len(words) >= CLAUSE_WORDS


def _abbreviated(text: str) -> bool:
    """True when the final dot does not end a sentence: "Dr.", "e.g.", "J.", "1."."""
    if not text.endswith(".") or text.endswith(".."):
        return False
    word = text[:-1].rpartition(" ")[2].lstrip("(\"'“")
    if re.fullmatch(r"\d{1,2}", word):
        return len(text.strip()) <= 3  # a list marker, not "It is at 10."
    single = len(word) == 1 and word.isupper() and word != "I"
    return single or ABBREVIATIONS.fullmatch(word) is not None


def _is_cjk(char: str) -> bool:
    return re.match(f"[{_CJK}]", char) is not None


def _ended(text: str) -> bool:
    return text.rstrip().rstrip(CLOSERS)[-1:] in tuple(END + WIDE_END)


def _repeats(text: str, said: list[str]) -> bool:
    """True for words that were just spoken: a small model in a loop."""
    words = [word.lower() for word in _WORD.findall(text)]
    return any([word.lower() for word in _WORD.findall(old)] == words for old in said)
