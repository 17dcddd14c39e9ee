"""bench mind judges as a person would."""

from __future__ import annotations

import pytest

from assistant.bench.mind import Checked, figures, probes, reply_fault, score_notes

REPLY = {"language": "en", "must": [["ten", "10"], ["tomorrow"]], "not": ["my dentist"]}
NOTES = {
    "gold": [
        {"about": ["sister", "anna"], "words": "allergic nuts"},
        {"about": ["user"], "words": "not coffee"},
    ],
    "optional": [{"about": ["user"], "words": "tea"}],
}


@pytest.mark.parametrize("name", ["replies", "notes"])
def test_probes_are_whole_and_split_in_halves(name: str) -> None:
    found = probes(name)
    assert len(found) >= {"replies": 40, "notes": 60}[name]
    assert len({probe["id"] for probe in found}) == len(found)
    held = sum(probe["half"] == "held" for probe in found)
    assert 0.4 < held / len(found) < 0.6
    assert {probe["language"] for probe in found} == {"en", "zh"}


@pytest.mark.parametrize(
    ("spoken", "fault"),
    [
        (["Your dentist is at ten tomorrow."], ""),
        (["It is tomorrow,", "at 10:00."], ""),
        (["It is tomorrow."], "none of: ten, 10"),
        (["My dentist is at ten tomorrow."], "says: my dentist"),
        (["One. Two. It is at ten tomorrow."], "more than two sentences"),
        ([], "empty"),
    ],
)
def test_a_reply_is_judged(spoken: list[str], fault: str) -> None:
    assert reply_fault(REPLY, spoken) == fault


def test_a_reply_in_the_wrong_language_is_a_fault() -> None:
    assert (
        reply_fault({"language": "zh", "must": [["alex"]]}, ["You are Alex."]) == "wrong language"
    )


def test_notes_need_the_words_and_the_right_person() -> None:
    right = ["The user's sister Anna is allergic to nuts.", "The user does not drink coffee."]
    assert score_notes(NOTES, right) == (2, 0, "")
    wrong = ["The user is allergic to nuts.", "The user drinks coffee.", "The user likes tea."]
    found, surplus, why = score_notes(NOTES, wrong)
    assert (found, surplus) == (0, 2)
    assert "missed: allergic nuts" in why


def test_figures_count_each_half_by_itself() -> None:
    def one(half: str, right: int) -> Checked:
        return Checked({"half": half}, "", right, 0, 1, 1.0)

    result = figures([one("tune", 1), one("held", 0)], [one("held", 1)])
    assert result["reply_accuracy"] == 0.5
    assert (result["tune_reply_accuracy"], result["held_reply_accuracy"]) == (1.0, 0.0)
    assert result["held_notes_recall"] == 1.0
