"""Retrieval over long-term memory (V15, V16, V17): words, meaning, neighbours, what is hidden."""

from __future__ import annotations

import logging
import sqlite3
import struct
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlite_utils import Database

from assistant.errors import ModelError
from assistant.memory import ranking
from assistant.memory.e5 import MultilingualE5, Unigram
from assistant.memory.embed import Engines
from assistant.memory.floats import Floats
from assistant.memory.rows import Rows
from assistant.memory.search import READ, Index, Row
from assistant.memory.tokens import language_of, query_terms, terms
from assistant.weights import find

DAY = 86_400.0
TOPICS = {"dog": 0, "puppy": 0, "retriever": 0, "car": 1, "engine": 1, "狗": 2, "金毛": 2}
"""words of the fake encoders: those of one number mean the same"""


class FakeEncoder:
    """Texts with a word of the same topic have the same vector."""

    gap = 0.0

    def __init__(self, name: str) -> None:
        self.name = name
        self.read: list[str] = []

    def passages(self, texts: Sequence[str]) -> Floats:
        self.read += texts
        return np.stack([self.query(text) for text in texts])

    def query(self, text: str) -> Floats:
        vector = np.full(8, 0.1, np.float32)
        for word, place in TOPICS.items():
            if word in text.lower():
                vector[place] += 1
        return np.asarray(vector / np.linalg.norm(vector), np.float32)


class FakeReranker:
    """Likes texts that hold a word."""

    def __init__(self, liked: str) -> None:
        self.liked = liked
        self.read: list[str] = []

    def scores(self, question: str, texts: Sequence[str]) -> Floats:
        self.read = list(texts)
        return np.array([5.0 if self.liked in text else -5.0 for text in texts], np.float32)


class Fakes:
    def __init__(self, english: bool = True, other: bool = True, liked: str = "") -> None:
        self.encoders = {
            "en": FakeEncoder("fake-en") if english else None,
            "zh": FakeEncoder("fake-zh") if other else None,
        }
        self.again = FakeReranker(liked) if liked else None

    def encoder(self, language: str) -> FakeEncoder | None:
        return self.encoders[language]

    def reranker(self, language: str) -> FakeReranker | None:
        return self.again


NOTHING = Fakes(False, False)


@pytest.fixture
def db() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    yield connection
    connection.close()


def ids(index: Index, query: str, k: int = 10, **options: Any) -> list[str]:
    return [hit.id for hit in index.search(query, k, **options)]


def test_v17_words_are_found_in_their_other_forms(db: sqlite3.Connection) -> None:
    index = Index(db, NOTHING)
    index.add([Row("a", "The user was painting all day."), Row("b", "The user likes tea.")])
    assert ids(index, "What did she paint?") == ["a"]
    assert ids(index, "quantum physics") == []
    assert ids(index, "  ") == []


def test_v17_an_empty_index_answers_nothing(db: sqlite3.Connection) -> None:
    assert Index(db, NOTHING).search("dentist", 5) == []


def test_v17_quotes_and_operators_in_a_question_are_only_words(db: sqlite3.Connection) -> None:
    index = Index(db, NOTHING)
    index.add([Row("a", "He said NEAR the station.")])
    assert ids(index, 'NEAR("station" OR * ) AND -x:y "') == ["a"]


@pytest.mark.parametrize(
    ("text", "query"),
    [("我对虾过敏", "虾能吃吗"), ("她在医院工作", "医院在哪"), ("番茄长得很好", "番茄怎么样")],
)
def test_v17_chinese_is_found_by_pairs_and_single_characters(
    db: sqlite3.Connection, text: str, query: str
) -> None:
    index = Index(db, NOTHING)
    index.add([Row("a", text), Row("b", "今天天气晴朗"), Row("c", "The user likes tea.")])
    assert ids(index, query) == ["a"]


def test_v17_question_words_do_not_find_anything() -> None:
    assert query_terms("What did he tell you about the dentist?") == ["dentist"]
    assert query_terms("What is it about?") == ["what", "is", "it", "about"]  # all there is
    assert query_terms("她什么时候去医院") == ["去医", "医院", "去", "医", "院"]
    assert query_terms("Where does Anna live", {"anna"}) == ["live"]
    assert len(query_terms("word" + " w".join(map(str, range(500))))) == 48
    assert language_of("去 Paris") == "zh" and language_of("Déjà vu") == "en"
    assert terms("iPhone手机壳") == "iphone 手机 机壳 手 机 壳"


def test_v17_meaning_finds_what_was_said_in_other_words(db: sqlite3.Connection) -> None:
    index = Index(db, Fakes())
    index.add([Row("tea", "She likes tea."), Row("pup", "She has a puppy."), Row("x", "It rains.")])
    best = index.search("Which dog is hers?", 1)[0]
    assert best.id == "pup"
    assert best.why.words is None and best.why.meaning == 1
    assert best.why.cosine == pytest.approx(1, abs=0.01) and best.why.reranked is None


def test_v17_an_answer_is_found_by_the_question_before_it(db: sqlite3.Connection) -> None:
    talk = ["Nice weather.", "When is your dentist appointment?", "Next Tuesday at ten.", "I see."]
    index = Index(db, NOTHING)
    index.add(Row(str(n), text, session="s", position=n) for n, text in enumerate(talk))
    index.add([Row("other", "Next Tuesday at ten.", session="t", position=2)])
    assert ids(index, "dentist appointment") == ["1", "2", "0"]


def test_v17_the_speaker_named_in_the_question_is_preferred(db: sqlite3.Connection) -> None:
    index = Index(db, Fakes())
    said = [("m", "Maria", "My dog is brown."), ("j", "Joe Black", "My dog is brown.")]
    index.add([Row(name, text, speaker=speaker) for name, speaker, text in said])
    assert ids(index, "What colour is Joe's dog?")[0] == "j"
    assert ids(index, "What colour is Maria's dog?")[0] == "m"


def test_v17_recent_and_important_rows_win_only_between_equals(db: sqlite3.Connection) -> None:
    index = Index(db, NOTHING)
    index.add(
        [
            Row("old", "The user likes green tea.", at=0),
            Row("new", "The user likes green tea.", at=300 * DAY),
            Row("off", "The user saw some tea.", at=300 * DAY, importance=1.0),
        ]
    )
    assert ids(index, "green tea", now=300 * DAY) == ["new", "old", "off"]
    index.add([Row("key", "The user likes green tea.", at=300 * DAY, importance=1.0)])
    assert ids(index, "green tea", now=300 * DAY)[:2] == ["key", "new"]


def test_v16_superseded_rows_are_left_out_and_can_come_back(db: sqlite3.Connection) -> None:
    index = Index(db, Fakes())
    index.add([Row("a", "The dog is called Rex."), Row("b", "The dog is called Max.")])
    index.hide(["a"])
    assert ids(index, "dog called") == ["b"]
    index.hide(["a"], False)
    assert set(ids(index, "dog called")) == {"a", "b"}


def test_v16_a_hidden_turn_lends_nothing_to_its_neighbours(db: sqlite3.Connection) -> None:
    index = Index(db, NOTHING)
    index.add(
        [Row("q", "dentist?", session="s", position=1), Row("a", "Yes.", session="s", position=2)]
    )
    index.hide(["q"])
    assert ids(index, "dentist") == []


def test_forgotten_rows_leave_nothing_behind(db: sqlite3.Connection) -> None:
    index = Index(db, Fakes())
    index.add([Row("a", "The dog is called Rex."), Row("b", "The car is red.")])
    index.search("dog", 1)
    index.remove(["a", "unknown"])
    assert ids(index, "Rex dog") == ["b"]  # by meaning there is always a nearest one
    for table in ("search_texts", "search_words", "search_vectors"):
        assert db.execute(f"select count(*) from {table}").fetchone() == (1,)


def test_the_same_id_again_replaces_the_row(db: sqlite3.Connection) -> None:
    index = Index(db, Fakes())
    index.add([Row("a", "The dog is brown."), Row("b", "The car is red.")])
    index.add([Row("a", "The engine is loud.")])
    best = index.search("brown", 1)[0]
    assert best.why.words is None
    best = index.search("engine loud", 1)[0]
    assert best.id == "a" and best.why.words == 1
    assert index.catch_up() == 0


def test_v17_the_second_look_reads_each_answer_with_its_question(db: sqlite3.Connection) -> None:
    engines = Fakes(liked="thirty")
    index = Index(db, engines)
    talk = [
        "I like dogs. How old is your dog?",
        "The dog is ten.",
        "And the dog of Ann?",
        "Her dog is thirty.",
    ]
    index.add(
        Row(str(n), text, speaker="Ann" if n % 2 else "", session="s", position=n)
        for n, text in enumerate(talk)
    )
    assert engines.again is not None
    hits = index.search("dog age", 4)
    assert hits[0].id == "3" and hits[0].why.reranked == 5
    assert "How old is your dog? Ann: The dog is ten." in engines.again.read
    assert [hit.why.reranked for hit in index.search("dog age", 4, rerank=False)] == [None] * 4


def test_v17_the_second_look_reads_a_bounded_amount(db: sqlite3.Connection) -> None:
    engines = Fakes(liked="nothing")
    index = Index(db, engines)
    index.add(Row(str(n), f"dog {n} " + "wag " * 200) for n in range(40))
    assert len(index.search("dog", 40)) == 40
    assert engines.again is not None
    assert 5 < len(engines.again.read) < 25
    assert sum(map(len, engines.again.read)) <= READ


def test_c4_without_weights_words_are_searched_and_one_line_is_logged(
    db: sqlite3.Connection, caplog: pytest.LogCaptureFixture
) -> None:
    def missing(name: str, kind: str) -> Path:
        raise ModelError(f"{name} is missing")

    index = Index(db, Engines(missing))
    with caplog.at_level(logging.WARNING):
        index.add([Row("a", "The dog is called Rex.")])
        index.add([Row("b", "The car is red.")])
        assert ids(index, "dog") == ["a"]
        assert ids(index, "car") == ["b"]
    assert [record.message for record in caplog.records if "bge" in record.message] == [
        "memory is searched without bge: memory-en is missing"
    ]


def test_rows_written_without_weights_are_embedded_later(db: sqlite3.Connection) -> None:
    Index(db, NOTHING).add(Row(str(n), f"dog {n}") for n in range(5))
    index = Index(db, Fakes())
    assert index.catch_up(3) == 3
    assert index.catch_up() == 2
    assert index.catch_up() == 0
    assert len(ids(index, "puppy")) == 5


def test_v17_an_english_fact_is_found_by_a_chinese_question(db: sqlite3.Connection) -> None:
    engines = Fakes()
    index = Index(db, engines)
    index.add([Row("en", "Her dog, 金毛", language="en"), Row("car", "a red car", language="en")])
    zh = engines.encoders["zh"]
    assert zh is not None and zh.read == []  # English alone does not need it
    assert ids(index, "那条狗")[:1] != ["car"]
    assert index.catch_up() == 2  # now it does
    assert index.search("那条狗", 1)[0].why.meaning == 1


def test_another_connection_s_rows_are_seen(tmp_path: Path) -> None:
    writer = sqlite3.connect(tmp_path / "bank.db", isolation_level=None)
    reader = sqlite3.connect(tmp_path / "bank.db", isolation_level=None)
    index = Index(reader, Fakes())
    Index(writer, Fakes()).add([Row("a", "The dog is called Rex.")])
    assert ids(index, "dog") == ["a"]
    Index(writer, Fakes()).add([Row("b", "A puppy came.")])
    assert set(ids(index, "dog")) == {"a", "b"}
    writer.close()
    reader.close()


def test_the_index_rolls_back_with_its_caller(tmp_path: Path) -> None:
    """It commits nothing, and sqlite-utils' Database serves as well."""
    db = Database(sqlite3.connect(tmp_path / "bank.db", isolation_level=None))
    index = Index(db, Fakes())
    with pytest.raises(ZeroDivisionError), db.atomic():
        index.add([Row("a", "The dog is called Rex.")])
        raise ZeroDivisionError
    assert db.execute("select count(*) from search_texts").fetchone() == (0,)
    with db.atomic():
        index.add([Row("b", "The dog is called Max.")])
    assert ids(index, "dog") == ["b"]


def test_vectors_are_kept_as_float16(db: sqlite3.Connection) -> None:
    rows = Rows(db)
    rows.write(Row("a", "x"))
    rows.keep(1, "fake", np.array([0.6, -0.8], np.float32))
    assert db.execute("select length(vector) from search_vectors").fetchone() == (4,)
    rows.table()
    products = rows.vectors["fake"].products(np.array([0.6, -0.8], np.float32))
    assert products == pytest.approx([1.0], abs=1e-3)


def test_fusion_by_hand() -> None:
    scores = np.array([0.0, 3.0, 1.0], np.float32)
    places = ranking.ranks(scores, scores > 0)
    assert places.tolist() == [-1, 0, 1]
    assert ranking.reciprocal(places, 10).tolist() == pytest.approx([0, 1 / 11, 1 / 12])
    before, after = ranking.neighbours(["s", "s", "t"], np.array([1, 2, 3]))
    assert before.tolist() == [-1, 0, -1] and after.tolist() == [1, -1, -1]
    assert ranking.lend(scores, before, after, 0.5, 0.1).tolist() == pytest.approx([0.3, 3.0, 1.0])
    known = np.array([False, True, True])
    assert ranking.standardized(scores, known).tolist() == pytest.approx([0, 1, -1])


# The multilingual encoder


def test_unigram_takes_the_most_probable_pieces() -> None:
    pieces = ["<s>", "</s>", "<unk>", "▁", "▁a", "b", "ab", "▁ab"]
    scores = array("f", [0, 0, 0, -4, -3, -3, -3, -9])
    vocabulary = Unigram(pieces, scores, 0, 1, 2)
    assert vocabulary.ids("ab") == [0, 4, 5, 1]  # -6 beats -7 and -9
    assert vocabulary.ids("  ａb  ") == [0, 4, 5, 1]  # NFKC, one space
    assert vocabulary.ids("b?") == [0, 3, 5, 2, 1]
    assert len(vocabulary.ids("b" * 5000)) == 160


@pytest.mark.parametrize("content", [b"", b"E5S1", b"GGUF" + bytes(200), b"E5S1" + bytes(400)])
def test_a_file_that_is_no_encoder_is_refused_in_one_sentence(
    tmp_path: Path, content: bytes
) -> None:
    (tmp_path / "encoder.bin").write_bytes(content)
    with pytest.raises(ModelError, match="multilingual text encoder"):
        MultilingualE5(tmp_path / "encoder.bin")


def test_blocks_of_four_bits_are_widened() -> None:
    from assistant.memory.e5 import BLOCK, _dequantized

    nibbles = bytes(n | (15 - n) << 4 for n in range(16))
    block = np.frombuffer(struct.pack("<e", 0.5) + nibbles, BLOCK)
    values = _dequantized(block)[0]
    assert values[:16].tolist() == [(n - 8) / 2 for n in range(16)]
    assert values[16:].tolist() == [(7 - n) / 2 for n in range(16)]


# With the real weights


def _engines() -> Engines:
    try:
        find("memory-en", "emb")
        find("memory-multilingual", "emb")
    except ModelError as error:
        pytest.skip(str(error))
    return Engines(find)


@pytest.mark.models
def test_v17_real_weights_find_by_meaning_in_both_languages(db: sqlite3.Connection) -> None:
    index = Index(db, _engines())
    told = [
        "The user cannot eat peanuts.",
        "The user has a golden retriever called Cola.",
        "The user starts work at nine.",
        "我妹妹在苏州当护士。",
        "我下个月要搬到滨江路。",
    ]
    index.add(Row(str(n), text) for n, text in enumerate(told))
    assert ids(index, "Is there any food allergy?", 1) == ["0"]
    assert ids(index, "What pet lives there?", 1) == ["1"]
    assert ids(index, "家里谁在医疗行业工作？", 1) == ["3"]
    assert ids(index, "新家在什么位置", 1) == ["4"]
    assert ids(index, "他养了什么宠物？", 1) == ["1"]  # told in English


@pytest.mark.models
def test_a_text_s_vector_does_not_depend_on_its_company() -> None:
    engines = _engines()
    texts = ["The user likes tea.", "The user's sister Anna is allergic to nuts, all of them."]
    for language, close in (("en", 1e-7), ("zh", 1e-5)):
        encoder = engines.encoder(language)
        assert encoder is not None
        together = encoder.passages(texts)
        assert np.linalg.norm(together, axis=1) == pytest.approx([1, 1], abs=1e-5)
        assert np.abs(together[0] - encoder.passages(texts[:1])[0]).max() < close
    again = engines.reranker("en")
    assert again is not None
    question = "What does the user drink?"
    assert again.scores(question, texts)[0] == again.scores(question, texts[:1])[0]
    assert again.scores(question, texts).argmax() == 0
