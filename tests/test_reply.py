"""Tokens → speakable pieces."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.mind.reply import answer, sentences
from assistant.wording import words


def said(text: str, language: str = "en") -> list[str]:
    return list(sentences([text], language))


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("Your dentist is at 10:30. It costs 3.5 dollars.", "en",
         ["Your dentist is at 10:30.", "It costs 3.5 dollars."]),
        ("Dr. Smith is in today, so come at ten. Good?", "en",
         ["Dr. Smith is in today,", "so come at ten.", "Good?"]),
        ("Take fruit, e.g. an apple.", "en", ["Take fruit,", "e.g. an apple."]),
        ("It is at 10. Come early.", "en", ["It is at 10.", "Come early."]),
        ("您的预约是明天十点，请不要忘记。", "zh", ["您的预约是明天十点，", "请不要忘记。"]),
        ("你好，小明！", "zh", ["你好，小明！"]),
        ("One. Two. Three.", "en", ["One.", "Two."]),
        ("**Hello** `there` 😀!", "en", ["Hello there!"]),
        ("Assistant: Hi Alex.", "en", ["Hi Alex."]),
        ("No.\n\nNote: I am an AI.", "en", ["No."]),
        ("<think>What? Hm.</think>Paris.", "en", ["Paris."]),
        ("See [the page](https://example.org).", "en", ["See the page."]),
        ("- milk\n- eggs\n- bread", "en", ["milk", "eggs"]),
        ("I like it. I like it. I like it.", "en", ["I like it."]),
        ("All is well. And then the", "en", ["All is well."]),
        ("And then the", "en", ["And then the"]),
        ("Julia is the user's wife, the user is married.", "en",
         ["Julia is your wife,", "you are married."]),
        ("```\nprint(1)\n```", "en", []),
        ("😀 ** \n --", "en", []),
        ("", "en", []),
    ],
)  # fmt: skip
def test_pieces(text: str, language: str, expected: list[str]) -> None:
    assert said(text, language) == expected


def test_first_clause_is_early_but_not_chopped() -> None:
    assert said("Yes, of course I can do that for you.")[0].startswith("Yes, of course")
    assert said("That is a good question, let me think about it.")[0] == "That is a good question,"


def test_first_sentence_comes_before_the_rest_is_generated() -> None:
    drawn: list[str] = []

    def tokens() -> Iterator[str]:
        for piece in ("Hello", " there", ".", " How", " are", " you", "?"):
            drawn.append(piece)
            yield piece

    assert next(sentences(tokens(), "en")) == "Hello there."
    assert drawn[-1] == " How"


def test_source_is_closed_after_two_sentences() -> None:
    closed: list[bool] = []

    def tokens() -> Iterator[str]:
        try:
            while True:
                yield f"Sentence {len(closed)} and {id(closed)}. "
                yield "Another one. "
        finally:
            closed.append(True)

    assert len(list(sentences(tokens(), "en"))) == 2
    assert closed == [True]


PARTS = st.sampled_from(
    [*"ab c.D,!?:;3。，你好\n*`#-<>/", "Dr.", "e.g.", "```", "<think>", "</think>"]
)
TEXTS = st.lists(PARTS, max_size=80).map("".join)


@given(TEXTS, st.lists(st.integers(0, 80), max_size=12), st.sampled_from(["en", "zh"]))
def test_result_does_not_depend_on_how_tokens_were_cut(
    text: str, places: list[int], language: str
) -> None:
    marks = sorted({0, len(text), *(place for place in places if place < len(text))})
    pieces = [text[a:b] for a, b in pairwise(marks)]
    assert list(sentences(pieces, language)) == list(sentences([text], language))


@given(st.text(max_size=200), st.sampled_from(["en", "zh", "de"]))
def test_any_text_is_survived_and_never_empty(text: str, language: str) -> None:
    for piece in sentences([text], language):
        assert piece.strip()
        assert not set("*`#<>|") & set(piece)


@pytest.mark.parametrize(
    ("reply", "language", "asked"),
    [
        ("Okay, I'll cancel the meeting room booking.", "en", "actually cancel that"),
        ("I will set an alarm for seven.", "en", "set an alarm for seven"),
        ("Done, your table is booked for two.", "en", "yes"),
        ("好的，我会提醒你的。", "zh", "七点叫我"),
    ],
)
def test_m14_a_deed_the_model_only_claims_is_not_said(
    reply: str, language: str, asked: str
) -> None:
    said = " ".join(answer([reply], language, asked))
    assert said == words("no_action", language)


@pytest.mark.parametrize(
    ("reply", "asked"),
    [
        ("Your flight is booked for Friday.", "When is my flight?"),
        ("All right, you like tea.", "I like tea."),
        ("I am happy to help you with that.", "thanks"),
    ],
)
def test_m14_what_is_no_claim_is_said(reply: str, asked: str) -> None:
    assert " ".join(answer([reply], "en", asked)) == reply


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I don't know if the door is locked.", ["I don't know", "if the door is locked."]),
        ("I know the weather in Paris.", ["I know the weather", "in Paris."]),
        ("It is in Paris.", ["It is in Paris."]),
        ("The capital of France is Paris.", ["The capital of France is Paris."]),
        (
            "I don't know the temperature of the oven.",
            ["I don't know the temperature", "of the oven."],
        ),
        ("Tea is nice, and hot if it is new.", ["Tea is nice,", "and hot if it is new."]),
        ("I have information about that.", ["I have information", "about that."]),
    ],
)
def test_in_a_hurry_the_first_piece_ends_where_a_speaker_takes_breath(
    text: str, expected: list[str]
) -> None:
    assert list(sentences([text], "en", lambda: True)) == expected
    whole = list(sentences([text], "en"))
    assert " ".join(whole) == text
    for size in (1, 3, 7):  # however the tokens are cut
        pieces = [text[at : at + size] for at in range(0, len(text), size)]
        assert list(sentences(pieces, "en", lambda: True)) == expected
