"""Flow files: what ships, what a site adds, what is refused and where; sentences with places."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from assistant import flow_commands
from assistant.config import FlowsConfig
from assistant.dialogues import load_skills
from assistant.errors import ConfigError, InputError
from assistant.flow_source import line_of
from assistant.flowbook import SHIPPED, SKELETON, flow_files, load_book, read_flow
from assistant.mind.cues import compiled, hits, plain
from assistant.mind.flows import TYPES
from assistant.mind.wordplay import choice_words, joined, places, slot_of, told, wording
from assistant.skills.registry import SOURCES

GOOD = SKELETON.read_text(encoding="utf-8")


def refused(tmp_path: Path, text: str) -> str:
    """What is said of a folder with this one flow."""
    path = tmp_path / "site.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load_book([tmp_path], load_skills())
    return str(caught.value).removeprefix(f"{path}:")


# What ships


def test_d8_the_shipped_flows_can_be_used() -> None:
    book = load_book(actions=load_skills())
    shipped = {"rooms", "expenses", "stock", "assets", "reminders", "lists", "memory"}
    assert set(book.flows) == shipped
    assert book.flows["rooms"].change == {"find": "find", "book": "move", "move": "move"}
    book_room = book.intent("rooms.book")
    assert (book_room.required, book_room.offer) == (("date", "time", "room"), ("projector",))
    for flow in book.flows.values():
        for slot in flow.slots.values():
            assert slot.type in TYPES
            assert not slot.source or slot.source in SOURCES
        for intent in flow.intents.values():
            for language in ("en", "zh"):
                assert len(intent.examples[language]) >= 8, intent.full


def test_m12_whatever_deletes_orders_or_pays_wants_a_yes() -> None:
    book = load_book()
    risky = ("cancel", "remove", "withdraw", "order", "submit", "depreciate")
    for flow in book.flows.values():
        for name, intent in flow.intents.items():
            if name in risky:
                assert (intent.kind, intent.risk) == ("write", "high"), intent.full
            assert intent.kind == "write" or intent.risk == "low", intent.full
            assert intent.kind == "read" or intent.confirm, intent.full


def test_d8_common_words_are_there_in_both_languages() -> None:
    common = load_book().common
    names = {
        *("yes", "no", "cancel", "undo", "restart", "resume", "change", "first", "then", "if"),
        *("recall", "thanks", "polite", "filler", "opener", "question", "followup", "either_way"),
        *("that_one", "ordinal_1", "ordinal_2", "ordinal_3", "ordinal_last", "smalltalk"),
    }
    assert names <= set(common)
    for name, words in common.items():
        assert set(words) == {"en", "zh"}, name
        assert all(words.values()), name
    assert all(len(lines) >= 60 for lines in common["smalltalk"].values())


@pytest.mark.parametrize("language", ["en", "zh"])
def test_d9_what_means_yes_never_means_no(language: str) -> None:
    common = load_book().common
    yes, no = (set(common[name][language]) for name in ("yes", "no"))
    assert not yes & no
    for name in ("cancel", "undo", "restart"):
        assert not (yes | no) & set(common[name][language]) - {"取消吧", "不用了", "不要了"}


@pytest.mark.parametrize("language", ["en", "zh"])
def test_d8_no_pattern_can_match_nothing_at_all(language: str) -> None:
    book = load_book()
    for name, words in book.common.items():
        if name != "smalltalk":
            for pattern in words[language]:
                assert not compiled(pattern, language).match(""), f"{name}: {pattern}"


@pytest.mark.parametrize("language", ["en", "zh"])
def test_d8_examples_hold_a_cue_or_phrase_of_their_intent(language: str) -> None:
    """What people say to a flow is what it listens for."""
    for flow in load_book().flows.values():
        nouns = tuple(flow.nouns[language])
        for intent in flow.intents.values():
            patterns = tuple(intent.cues.get(language, ())) + tuple(
                intent.phrases.get(language, ())
            )
            for example in intent.examples[language]:
                text = plain(example, language)
                assert hits(patterns, text, language, nouns), f"{intent.full}: {example}"


@pytest.mark.parametrize("language", ["en", "zh"])
def test_d9_no_phrase_is_in_what_belongs_to_no_flow(language: str) -> None:
    """A phrase means its intent alone; small talk holds none."""
    book = load_book()
    for line in book.common["smalltalk"][language]:
        for flow in book.flows.values():
            for intent in flow.intents.values():
                phrases = tuple(intent.phrases.get(language, ()))
                found = hits(phrases, plain(line, language), language, tuple(flow.nouns[language]))
                assert not found, f"{line}: {intent.full}"


# What is refused, and where


NEEDS = 'phrases = { en = ["the kitchen (needs|is out of)"]'
NAME = 'name = { en = "the kitchen list", zh = "茶水间清单" }'
ASK = 'ask = { en = "What is missing in the kitchen?", zh = "茶水间缺什么？" }'
CUES = """cues = { en = ["what's on", "read", "show"], zh = ["看看", "有什么"] }"""
FAULTS = [
    ('kind = "write"    #', 'kind = "wrote"    #', "'wrote' is none of them; did you mean 'write'"),
    ('risk = "low"      #', 'risk = "none"     #', "'none' is none of them; there are high, low"),
    ('type = "text" ', 'type = "txt"  ', "'txt' is none of them; did you mean 'text'?"),
    ('action = "lists.add"  ', 'action = "list.add"   ', "'list.add'; did you mean 'lists.add'?"),
    ('required = ["item"]', 'required = ["itme"]', "no slot 'itme'; did you mean 'item'?"),
    ("rest = true  ", "rset = true  ", "unknown key; did you mean 'rest'?"),
    ("rest = true  ", 'rest = "yes" ', "must be true or false, not 'yes'."),
    ("rest = true  ", 'pattern = "(" ', "not a regular expression"),
    ("rest = true  ", "least = 5\nmost = 2 ", "2 is less than least = 5."),
    ('en = ["kitchen list", "tea kitchen", "kitchen"]', "", "nothing in 'en'"),
    ('zh = "要给茶水间记下{item}吗？" }', 'fr = "oui ?" }', "unknown language; there are en, zh"),
    (NEEDS, 'phrases = { en = ["the kitchen (needs"]', "bad pattern"),
    (NEEDS, 'phrases = { en = ["is it, then"]', "',' in 'is it, then' is never heard"),
    (NEEDS, 'phrases = { en = [""]', "must hold texts that are not empty."),
    ('[intents.show]\n', '[intents.Show]\n', "use small letters, digits and _ in names."),
    ('id = "kitchen"', 'id = "Kitchen!"', "use small letters, digits and _, not 'Kitchen!'."),
    (ASK, "", "intents.add asks for it"),
    (CUES, "", "never meant"),
    (NAME, 'name = "kitchen"', "must be a table, not 'kitchen'."),
    ('value = "shopping"', "", "is missing."),
    ("[nouns]", '[change]\nadd = "move"\n[nouns]', "no intent 'move'"),
    ("[nouns]", "[nuns]", "unknown key; did you mean 'nouns'?"),
    ("[nouns]", "[nouns", "not valid TOML"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "reason"), FAULTS, ids=lambda one: one[:25])
def test_d8_a_broken_flow_is_refused_with_line_and_reason(
    tmp_path: Path, old: str, new: str, reason: str
) -> None:
    assert old in GOOD
    said = refused(tmp_path, GOOD.replace(old, new, 1))
    assert reason in said
    line = int(said.partition(":")[0])
    assert 1 <= line <= len(GOOD.splitlines()) + 2


def test_d8_the_line_is_that_of_the_key() -> None:
    text = "\n".join(
        (
            '"id" = "x"',  # 1
            "[slots.a]",
            'words = { en = ["x"] }',
            "[[slots.a.choices]]",
            'value = "1"',
            "[[slots.a.choices]]",  # 6
            "value = 2",
            "[intents.b]",
            "say.ok = 3",  # 9
            "[intents.b.cues]",
            "en = 4",
        )
    )
    assert line_of(text, ("id",)) == 1
    assert line_of(text, ("slots", "a", "words", "en")) == 3
    assert line_of(text, ("slots", "a", "choices", 0, "value")) == 5
    assert line_of(text, ("slots", "a", "choices", 1, "value")) == 7
    assert line_of(text, ("slots", "a", "ask")) == 2
    assert line_of(text, ("intents", "b", "say", "ok")) == 9
    assert line_of(text, ("intents", "b", "cues", "en")) == 11
    assert line_of(text, ("intents", "c")) == 1


def test_d8_all_faults_of_a_file_are_told(tmp_path: Path) -> None:
    path = tmp_path / "two.toml"
    text = GOOD.replace('"lists.show"', '"lists.shw"').replace('risk = "low"', 'risk = "lowly"')
    path.write_text(text, encoding="utf-8")
    flow, faults = read_flow(path, load_skills())
    assert flow is None
    assert [fault.line for fault in faults] == sorted(fault.line for fault in faults)
    assert len(faults) == 3


def test_d8_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such folder"):
        load_book([tmp_path / "nowhere"])
    (tmp_path / "latin.toml").write_bytes('id = "caf\xe9"'.encode("latin-1"))
    with pytest.raises(ConfigError, match="not UTF-8"):
        load_book([tmp_path])


# A site's own


def test_d8_a_sites_flow_joins_or_replaces_the_shipped_ones(tmp_path: Path) -> None:
    (tmp_path / "kitchen.toml").write_text(GOOD, encoding="utf-8")
    book = load_book([tmp_path], load_skills())
    assert {"kitchen", "rooms"} <= set(book.flows)
    (tmp_path / "own.toml").write_text(GOOD.replace('id = "kitchen"', 'id = "rooms"'), "utf-8")
    assert "book" not in load_book([tmp_path]).flows["rooms"].intents
    (tmp_path / "twice.toml").write_text(GOOD, encoding="utf-8")
    with pytest.raises(ConfigError, match="is already in"):
        load_book([tmp_path])


def test_d8_a_sites_words_are_added(tmp_path: Path) -> None:
    (tmp_path / "common.toml").write_text('[yes]\nen = ["aye"]\n[ahoy]\nen = ["ahoy"]\n', "utf-8")
    common = load_book([tmp_path]).common
    assert common["yes"]["en"][-1] == "aye"
    assert {"yes", "go ahead"} <= set(common["yes"]["en"])
    assert common["yes"]["zh"] == load_book().common["yes"]["zh"]
    assert common["ahoy"]["en"] == ("ahoy",)


def test_d8_a_flow_in_one_language_is_a_flow(tmp_path: Path) -> None:
    text = "\n".join(
        (
            'id = "tea"\nname = { de = "der Tee" }\nnouns = { de = ["Tee"] }',
            '[intents.show]\nkind = "read"\nrisk = "low"\naction = "lists.show"',
            'title = { de = "x" }\ncues = { de = ["zeig"] }\nexamples = { de = ["zeig den Tee"] }',
        )
    )
    (tmp_path / "tea.toml").write_text(text, encoding="utf-8")
    assert load_book([tmp_path]).flows["tea"].nouns == {"de": ("Tee",)}


# Commands


class Emitted:
    """What a command has told."""

    def __init__(self) -> None:
        self.values: list[dict[str, Any]] = []
        self.lines: list[str] = []

    def __call__(self, value: dict[str, Any], text: str | None = None) -> None:
        json.dumps(value)
        self.values.append(value)
        self.lines.append(text or "")


def test_d8_flows_check_tells_faults_and_sentences_with_gaps(tmp_path: Path) -> None:
    emitted = Emitted()
    assert flow_commands.check([], FlowsConfig(), emitted) == 0
    assert not [value for value in emitted.values if value["event"] != "checked"]
    assert len(emitted.values) == len(flow_files(SHIPPED))

    gap = tmp_path / "gap.toml"
    text = GOOD.replace("{item} is noted.", "{thing} is noted.").replace(
        "\nunknown = {", "\nother = {"
    )
    gap.write_text(text, encoding="utf-8")
    emitted = Emitted()
    assert flow_commands.check([gap], FlowsConfig(), emitted) == 0
    first, second = (one for one in emitted.values if one["event"] == "warning")
    assert "{thing}" in first["reason"]
    assert text.splitlines()[first["line"] - 1].startswith("ok = ")
    assert "'unknown'" in second["reason"]

    gap.write_text(text.replace('"lists.add"', '"lists.ad"'), encoding="utf-8")
    emitted = Emitted()
    assert flow_commands.check([tmp_path], FlowsConfig(), emitted) == 2
    assert emitted.lines[0].startswith(f"fault: {gap}:")
    with pytest.raises(InputError, match="no such file"):
        flow_commands.check([tmp_path / "none.toml"], FlowsConfig(), emitted)


def test_d8_flows_new_writes_one_that_works(tmp_path: Path) -> None:
    path = tmp_path / "site" / "own.toml"
    emitted = Emitted()
    flow_commands.new(path, emitted)
    assert flow_commands.check([path], FlowsConfig(), emitted) == 0
    assert [value["event"] for value in emitted.values] == ["written", "checked"]
    flow_commands.show("kitchen", FlowsConfig(folders=(str(path.parent),)), emitted)
    with pytest.raises(InputError, match="there already"):
        flow_commands.new(path, emitted)
    with pytest.raises(InputError, match="ends in"):
        flow_commands.new(tmp_path / "own.txt", emitted)


def test_d8_flows_show() -> None:
    emitted = Emitted()
    flow_commands.show(None, FlowsConfig(), emitted)
    assert "rooms: find (read, low), book (write, low)" in emitted.lines[-2] + emitted.lines[-3]
    flow_commands.show("rooms.book", FlowsConfig(), emitted)
    assert emitted.values[-1]["required"] == ["date", "time", "room"]
    assert "book (write, low): needs date, time, room; may have" in emitted.lines[-1]
    for name in ("room", "rooms.buy"):
        with pytest.raises(InputError, match=r"rooms|book"):
            flow_commands.show(name, FlowsConfig(), emitted)


# Sentences


def test_d8_places_are_filled_and_unknown_parts_left_out() -> None:
    text = "Booked {room}[ for {people} {people|person|people}][, {date}]."
    assert wording(text, {"room": "A302"}) == "Booked A302."
    assert wording(text, {"room": "A302", "people": "1"}) == "Booked A302 for 1 person."
    assert wording(text, {"room": "A302", "people": "8", "date": "Friday"}) == (
        "Booked A302 for 8 people, Friday."
    )
    assert wording("{a} [{b}] {c}!", {"a": "x"}) == "x!"
    assert wording("要订{room}吗[，{date}]？", {"room": "A302"}, "zh") == "要订A302吗？"
    assert places("{a}[ {b|x|y}] {a}") == ("a", "b")


def test_d8_lists_are_joined_as_the_language_does() -> None:
    text = "{rooms} {rooms|is|are} free."
    assert wording(text, {"rooms": "A302"}) == "A302 is free."
    assert wording(text, {"rooms": "A302|B105"}) == "A302 and B105 are free."
    assert wording(text, {"rooms": "A|B|C"}) == "A, B and C are free."
    assert wording("{rooms}有空。", {"rooms": "A|B|C"}, "zh") == "A、B和C有空。"
    assert joined(["A, now", "B, then"], "en") == "A, now; and B, then"
    assert joined([], "en") == ""


def test_d8_what_came_of_an_action_is_told_row_by_row() -> None:
    book = load_book()
    flow, intent = book.flows["stock"], book.intent("stock.orders")
    keys = ("number", "item", "quantity", "state", "unit_en")
    rows = [
        dict(zip(keys, row.split(), strict=True))
        for row in ("O-1001 toner 6 delivered cartridges", "O-1002 pens 2 open pieces")
    ]

    def speak(place: str, value: str) -> str:
        slot = slot_of(flow, place)
        return choice_words(slot, value, "en") if slot else value

    said = told(intent, "ok", {"each": json.dumps(rows), "count": "2"}, "en", speak)
    assert said == (
        "Your latest orders: O-1001, 6 cartridges of toner, delivered; "
        "and O-1002, 2 pieces of pens, on its way."
    )
    assert slot_of(flow, "old_number") is flow.slots["number"]
    assert slot_of(flow, "unit_en") is None
    with pytest.raises(KeyError):
        told(intent, "exploded", {}, "en", speak)
