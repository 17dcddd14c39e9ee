"""`bench recall`: what is read, what is counted, what is reported (issue 4, "Show it" 2)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from assistant.bench import answer_path, recall
from assistant.bench.recall import Conversation, Plain, Question, Tally, measure
from assistant.config import Config
from assistant.errors import InputError
from assistant.memory.search import Row
from assistant.mind.prompt import reply_messages

SAMPLE = {
    "sample_id": "one",
    "conversation": {
        "speaker_a": "Ann",
        "speaker_b": "Bob",
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [
            {"speaker": "Ann", "dia_id": "D1:1", "text": "Did you paint anything?"},
            {
                "speaker": "Bob",
                "dia_id": "D1:2",
                "text": "Look!",
                "blip_caption": "a painting of a lake",
            },
            {"speaker": "Ann", "dia_id": "D1:3", "text": "My boat sank in the harbour."},
        ],
        "session_2": [{"speaker": "Bob", "dia_id": "D2:1", "text": "I bought a kite."}],
    },
    "qa": [
        {"question": "What did Bob paint?", "evidence": ["D1:2"], "category": 4},
        {"question": "What of boats and kites?", "evidence": ["D1:3; D2:1"], "category": 1},
        {"question": "Where is the elephant?", "evidence": ["D1:1"], "category": 5},
        {"question": "No evidence that is there", "evidence": ["D9:9", "D"], "category": 2},
    ],
}


class WordsOnly:
    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def encoder(self, language: str) -> None:
        return None

    def reranker(self, language: str) -> None:
        return None


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "conversations.json").write_text(json.dumps([SAMPLE]))
    return tmp_path


def test_locomo_is_read_without_adversarial_and_unanswerable_questions(folder: Path) -> None:
    (conversation,) = recall.read_locomo(folder)
    assert [row.id for row in conversation.rows] == ["D1:1", "D1:2", "D1:3", "D2:1"]
    assert conversation.rows[1].text == "Look! [a painting of a lake]"
    assert conversation.rows[0].at == 1683554160.0
    assert [(row.session, row.position) for row in conversation.rows][-2:] == [
        ("session_1", 2),
        ("session_2", 0),
    ]
    assert [(q.category, sorted(q.evidence)) for q in conversation.questions] == [
        ("single-hop", ["D1:2"]),
        ("multi-hop", ["D1:3", "D2:1"]),
    ]


@pytest.mark.parametrize("content", ["", "[]x", '[{"qa": []}]', '{"a": 1}', "[1]"])
def test_a_damaged_file_is_one_sentence(tmp_path: Path, content: str) -> None:
    (tmp_path / "conversations.json").write_text(content)
    with pytest.raises(InputError, match="is not LoCoMo's"):
        recall.read_locomo(tmp_path)
    with pytest.raises(InputError, match="cannot be read"):
        recall.read_locomo(tmp_path / "nowhere")


def test_recall_is_the_share_of_the_evidence_that_was_found() -> None:
    tally = Tally()
    question = Question("?", frozenset({"a", "f", "k", "z"}), "multi-hop")
    tally.count("ours", question, list("abcdefghijkl"))
    tally.count("ours", Question("?", frozenset("b"), "temporal"), ["b"])
    assert tally.recall("ours", 5, "multi-hop") == 0.25
    assert tally.recall("ours", 10, "multi-hop") == 0.5
    assert tally.recall("ours", 5) == 0.625
    assert tally.recall("plain", 5) is None


def test_the_plain_search_knows_word_forms_and_pairs_of_characters() -> None:
    rows = [Row("a", "She painted.", speaker="Ann"), Row("b", "我对海鲜过敏", speaker="周宁")]
    plain = Plain(rows)
    assert plain.search("painting?", 5) == ["a"]
    assert plain.search("海鲜能吃吗", 5) == ["b"]
    assert plain.search("?!", 5) == []


def test_both_searches_are_measured_on_the_same_questions(folder: Path) -> None:
    *_, tally = measure(recall.read_locomo(folder), WordsOnly())
    figures = tally.figures()
    assert figures["questions"] == 2 and figures["rows"] == 4
    assert figures["recall@5"] == 1.0
    assert figures["bm25_recall@5"] == 1.0
    assert set(figures["by_category"]) == {"single-hop", "multi-hop"}
    assert figures["retrieval_ms_p95"] >= figures["retrieval_ms_p50"] > 0


def test_the_chinese_conversations_add_up() -> None:
    lines = recall.CHINESE.read_text("utf-8").splitlines()
    assert len(lines) >= 10
    conversations = recall.read_chinese()
    assert sum(len(conversation.questions) for conversation in conversations) >= 60
    for conversation in conversations:
        known = {row.id for row in conversation.rows}
        assert len(known) == len(conversation.rows)
        assert all(question.evidence <= known for question in conversation.questions)
        assert len({question.text for question in conversation.questions}) == len(
            conversation.questions
        )


def test_v17_chinese_words_alone_find_more_than_plain_pairs() -> None:
    """Without any weights: the floor that everybody has."""
    *_, tally = measure(recall.read_chinese(), WordsOnly())
    ours, plain = tally.recall("ours", 10), tally.recall("plain", 10)
    assert ours is not None and plain is not None
    assert ours >= 1.3 * plain


def test_the_last_object_has_the_figures(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recall, "Engines", WordsOnly)
    seen: list[tuple[dict[str, Any], str | None]] = []
    emit = lambda value, text=None: seen.append((value, text))  # noqa: E731
    monkeypatch.setattr(answer_path, "QUESTIONS", 30)
    recall.report(folder, Config(), emit, memories=300, as_json=True)
    last, text = seen[-1]
    wanted = ("recall@5", "recall@10", "bm25_recall@5", "bm25_recall@10", "multihop@10")
    for key in (*wanted, "retrieval_ms_p95", "by_category", "questions"):
        assert last[key] is not None and last[key + "_zh"] is not None
    assert last["answer_path_memories"] == 300 and last["answer_path_statements"] == 0
    assert last["seconds"] >= 0 and text is None
    assert seen[0][0]["conversation"] == "one"


def test_without_a_folder_only_chinese_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recall, "Engines", WordsOnly)
    seen: list[tuple[dict[str, Any], str | None]] = []
    emit = lambda value, text=None: seen.append((value, text))  # noqa: E731
    recall.report(None, Config(), emit, memories=0, as_json=False)
    last, text = seen[-1]
    assert "answer_path_ms_p99" not in last
    assert "recall@5" not in last and last["questions_zh"] >= 60
    assert text is not None and "recall@10_zh" in text


def test_a_conversation_without_questions_does_no_harm() -> None:
    empty = Conversation("empty", (Row("a", "text"),), ())
    *_, tally = measure([empty], WordsOnly())
    assert tally.figures()["recall@5"] is None
    assert tally.figures()["retrieval_ms_p95"] == 0


def test_v1_the_answer_path_reads_no_disk_and_runs_no_statement() -> None:
    figures = answer_path.measure(400, 60)
    assert figures["answer_path_statements"] == 0
    assert figures["answer_path_disk_reads"] in (0, None)
    assert figures["answer_path_disk_bytes"] in (0, None)
    assert figures["answer_path_ms_p99"] >= figures["answer_path_ms_p50"]


def test_v1_a_disk_read_on_the_answer_path_would_be_counted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "file"
    file.write_bytes(bytes(5000))
    whole = reply_messages

    def reading(*arguments: Any, **options: Any) -> Any:
        file.read_bytes()
        return whole(*arguments, **options)

    monkeypatch.setattr(answer_path, "reply_messages", reading)
    figures = answer_path.measure(50, 20)
    if figures["answer_path_disk_reads"] is not None:
        assert figures["answer_path_disk_reads"] >= 20
        assert figures["answer_path_disk_bytes"] >= 20 * 5000


def test_the_made_up_bank_is_the_same_every_time() -> None:
    one, other = answer_path.Invention(), answer_path.Invention()
    memories = list(one.memories(200))
    assert memories == list(other.memories(200))
    assert one.questions(8) == other.questions(8)
    assert {memory.language for memory in memories} == {"en", "zh"}
    assert len({memory.text for memory in memories}) > 190
