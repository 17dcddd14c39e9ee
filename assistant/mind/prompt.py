"""State, recent turns and new words → the messages of the reply prompt.

The order is the order of change: rules never change, turns are appended, notes change when
something was noted, and only the last message holds the new words. So most of the prompt is
still in the KV cache when somebody speaks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from assistant.mind.address import to_you
from assistant.mind.known import unknown
from assistant.mind.state import State
from assistant.mind.texts import prompts
from assistant.stages import Message


@dataclass(frozen=True, slots=True)
class Exchange:
    """One finished turn."""

    user: str
    reply: str


def reply_messages(
    state: State, recent: Sequence[Exchange], user_text: str, language: str
) -> list[Message]:
    """The prompt of a spoken reply (M4). `language` is that of the new words."""
    messages = opening()
    for exchange in recent:
        if not _denial(exchange.reply):
            messages += _turn(exchange.user, exchange.reply)
    messages.append(_notes(to_you("\n".join(note_lines(state)))))
    hint = prompts(language)["reply"][_last(state, recent, user_text, language)]
    messages.append({"role": "user", "content": hint.format(words=user_text)})
    return messages


def opening() -> list[Message]:
    """The beginning of every reply prompt: rules and worked examples."""
    texts = prompts("en")["reply"]
    messages = [{"role": "system", "content": texts["rules"]}]
    for words, reply in texts["examples"]:
        messages += _turn(words, reply)
    return messages


def _last(state: State, recent: Sequence[Exchange], user_text: str, language: str) -> str:
    """Which form the last message has: most questions need no hint."""
    if _mixed(state, language):
        return "last"
    told = [exchange.user for exchange in recent if not exchange.user.strip().endswith("?")]
    return "unknown" if unknown(user_text, [*note_lines(state), *told]) else "last_same"


def _mixed(state: State, language: str) -> bool:
    """True when a note is in another language than the words: the model is told which to speak."""
    notes = (*state.preference.values(), *state.facts.values())
    return any(fact.language != language for fact in notes)


def _notes(notes: str) -> Message:
    texts = prompts("en")["reply"]
    return {"role": "system", "content": texts["notes"].format(notes=notes or texts["no_notes"])}


def _turn(words: str, reply: str) -> list[Message]:
    turn = [{"role": "user", "content": words}, {"role": "assistant", "content": reply}]
    return turn if reply else turn[:1]


def _denial(reply: str) -> bool:
    """True for "You have not told me that": seen once, a small model repeats it for ever."""
    return any(prompts(name)["reply"]["denial"] in reply for name in ("en", "zh"))


def note_lines(state: State) -> Iterator[str]:
    """All that is known, as sentences: lasting ones, the summary, then facts."""
    texts = prompts("en")["reply"]
    yield from (fact.note for fact in state.preference.values())
    if state.history_summary:
        yield state.history_summary
    yield from (fact.note for fact in state.facts.values())
    if state.task:
        yield texts["task"].format(task=state.task)
    if state.steps:
        yield texts["steps"].format(steps="; ".join(state.steps))
    if state.pending:
        yield texts["pending"].format(pending="; ".join(state.pending))
    if state.interrupted:
        yield texts["interrupted"].format(interrupted=state.interrupted)
