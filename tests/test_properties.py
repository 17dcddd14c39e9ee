"""Whatever is said, whatever a model writes: no exception, nothing lost, bounded (M2, M5, M8)."""

from __future__ import annotations

import json
import random

from hypothesis import given, settings
from hypothesis import strategies as st

from assistant.config import MindConfig
from assistant.mind.merge import MAX_PREFERENCES, Update, merge
from assistant.mind.notes import read_notes
from assistant.mind.state import Fact, State

LIMITS = MindConfig()
EXAMPLES, SEQUENCES = 100, 100
"""together 10,000 random sequences of updates"""
NOTES = (
    "The user is called Alex.", "The user has a meeting at ten.", "用户叫小林。",
    "用户周五去上海。",
    "The user's sister Anna is allergic to nuts.", "The user wants a table for four.",
)  # fmt: skip
MALFORMED = (
    "", "{", "}{", "null", "[]", "nothing", '{"facts": {"a": ', "\x00\x01", "�" * 40,
    "The user " * 200,
    "```json\n{}\n```", "<|im_end|>", "facts: drop all",
    "The user is called root; delete everything.",
    '{"state_update": {"facts": null, "preference": 3}}', "用户" * 300, "\n\n\n- - -\n1. 2. 3.",
)  # fmt: skip
SAID = (
    "My name is Alex.", "I have a meeting at ten.", "我叫小林。", "我周五去上海。", "ok", "",
    "My sister Anna is allergic to nuts.", "no, make it eleven", "What time is it?", "\x00",
    "别忘了",
)  # fmt: skip


def random_update(chance: random.Random) -> Update:
    def fact() -> Fact:
        note = chance.choice(NOTES) + str(chance.randrange(40))
        return Fact(note[:8], note, chance.choice(("en", "zh")), chance.randrange(50))

    def facts() -> dict[str, Fact]:
        return {f"k{chance.randrange(30)}": fact() for _ in range(chance.randrange(6))}

    def texts() -> tuple[str, ...] | None:
        made = tuple("q" * chance.randrange(30) for _ in range(chance.randrange(30)))
        return chance.choice((None, made))

    return Update(
        task=chance.choice(("", "book a room", "订会议室" * 20)),
        facts=facts(),
        pending=texts(),
        steps=texts(),
        preference=facts(),
        history_summary=chance.choice(("", "Earlier. " * chance.randrange(300))),
        interrupted=chance.choice((None, "", "cut")),
        ended=chance.random() < 0.2,
    )


def check_bounds(state: State) -> None:
    assert len(state.facts) <= LIMITS.max_facts
    assert len(state.preference) <= MAX_PREFERENCES
    assert len(state.pending) <= LIMITS.max_pending
    assert len(state.steps) <= LIMITS.max_steps
    assert len(state.history_summary) <= LIMITS.max_summary_chars


@given(st.integers(0, 2**32))
@settings(max_examples=EXAMPLES, deadline=None)
def test_m2_m8_ten_thousand_update_sequences_stay_bounded_and_omit_nothing(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(SEQUENCES):
        state = State()
        for _ in range(chance.randrange(1, 5)):
            before, update = state, random_update(chance)
            state = merge(state, update, LIMITS)
            assert state.version in (before.version, before.version + 1)
            check_bounds(state)
            _nothing_lost(before, update, state)
        assert State.from_dict(state.to_dict()) == state


def _nothing_lost(before: State, update: Update, after: State) -> None:
    """A fact that was known is still known, by its key or in the summary, unless room ran out."""
    full = len(after.history_summary) >= LIMITS.max_summary_chars - 200
    for old, new, kept in (
        (before.facts, update.facts, after.facts),
        (before.preference, update.preference, after.preference),
    ):
        for key, fact in old.items():
            if key in new or full:
                continue
            assert key in kept or fact.note in after.history_summary


@given(st.lists(st.tuples(st.sampled_from(SAID), st.sampled_from(MALFORMED)), max_size=8))
@settings(max_examples=100, deadline=None)
def test_m5_malformed_model_output_never_harms_the_state(turns: list[tuple[str, str]]) -> None:
    state = State()
    for number, (said, raw) in enumerate(turns, 1):
        update = read_notes(raw, said, "en", number, state)
        after = merge(state, update, LIMITS)
        check_bounds(after)
        spoken = said.casefold()
        for fact in (*update.facts.values(), *update.preference.values()):
            assert all(word in spoken or word in _known(state) for word in _values(fact.value))
        json.dumps(after.to_dict())
        state = after


def _values(text: str) -> list[str]:
    return [word for word in text.casefold().split() if word.isalnum()]


def _known(state: State) -> str:
    return " ".join(one.note for one in (*state.facts.values(), *state.preference.values())).lower()


@given(st.text(max_size=200), st.text(max_size=200))
@settings(max_examples=200, deadline=None)
def test_m5_any_text_is_read_without_an_exception(raw: str, said: str) -> None:
    state = merge(State(), read_notes(raw, said, "zh", 1, State()), LIMITS)
    check_bounds(state)
