"""Typed values from spoken words: what holds in every language, and the slots the tests share."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

import pytest

from assistant.mind.flows import Choice, Slot
from assistant.mind.slots import MAYBE, SURE, Found, read

NOW = datetime(2026, 5, 13, 9, 30)
"""a Wednesday"""


def choice(value: str, en: str = "", zh: str = "") -> Choice:
    return Choice(value, {"en": tuple(en.split("|")), "zh": tuple(zh.split("|"))})


def slot(kind: str, en: str = "", zh: str = "", **more: object) -> Slot:
    said = {"en": tuple(filter(None, en.split("|"))), "zh": tuple(filter(None, zh.split("|")))}
    return Slot(en.partition("|")[0] or kind, kind, words=said, **more)  # type: ignore[arg-type]


ITEMS = (
    choice("printer paper", "printer paper|copy paper", "打印纸|复印纸"),
    choice("toner", "toner|toner cartridge", "墨粉|硒鼓"),
    choice("pens", "pens", "圆珠笔|笔"),
    choice("notebooks", "notebooks", "笔记本"),
    choice("monitors", "monitors|screens", "显示器|屏幕"),
    choice("keyboards", "keyboards", "键盘"),
    choice("desk lamps", "desk lamps|lamps", "台灯"),
    choice("office chairs", "office chairs|chairs", "办公椅|椅子"),
)
KINDS = (
    choice("travel", "travel|flight", "差旅|出差|交通"),
    choice("taxi", "taxi|cab", "打车|出租车"),
    choice("hotel", "hotel", "住宿|酒店"),
    choice("meals", "meals|dinner|lunch|food", "餐饮|吃饭|餐费"),
    choice("supplies", "supplies|stationery", "办公用品|文具"),
    choice("other", "other|something else", "其他|其它"),
)
SEATS = (choice("window seat", "window seat", "靠窗"), choice("aisle seat", "aisle seat", "靠过道"))
ROOMS = tuple(Choice(code) for code in ("A302", "A305", "B105", "B210", "C001"))
SLOTS = {
    "number": slot("number", "people|persons", "人数|几个人", least=1, most=500),
    "money": slot("money", "amount|price", "金额|价格"),
    "date": slot("date", "date|day", "日期|哪天"),
    "time": slot("time", "time", "时间|几点"),
    "range": slot("time_range", "time|when", "时间|时段"),
    "duration": slot("duration", "length", "时长"),
    "quantity": slot("quantity", "quantity", "数量"),
    "room": slot("choice", "room|meeting room", "会议室|房间", source="rooms.room"),
    "code": slot("code", "number", "编号|单号", pattern=r"E-\d{4}"),
    "asset": slot("code", "asset", "资产", pattern=r"AP-\d{4}"),
    "free code": slot("code", "code", "代码"),
    "item": slot("choice", "item", "物品", choices=ITEMS),
    "kind": slot("choice", "type|kind", "类型|类别", choices=KINDS),
    "seat": slot("choice", "seat", "座位", choices=SEATS),
    "window": slot("flag", "window|by the window|with a window", "窗户|靠窗|窗"),
    "projector": slot("flag", "projector|beamer", "投影仪|投影"),
    "reason": slot("text", "reason|purpose", "原因|理由|事由"),
    "name": slot("name", "name", "名称|名字"),
    "what": slot("text", "remind me to {}|reminder", "提醒我{}|提醒"),
    "thing": slot("text", "add {} to|put {} on|item", "把{}加到|把{}放进|东西"),
}


def find(name: str, text: str, language: str, *, wanted: bool) -> list[Found]:
    known = ROOMS if name == "room" else ()
    return read(SLOTS[name], text, language, NOW, known, wanted=wanted)


def best(name: str, text: str, language: str, *, wanted: bool) -> str:
    """The value that would be taken or asked for, "" when there is none."""
    found = find(name, text, language, wanted=wanted)
    for item in found:
        assert text[item.start : item.end] == item.spoken
        assert MAYBE <= item.sure <= 1.0
    return found[0].value if found else ""


def test_a_value_below_the_threshold_is_to_be_asked_for() -> None:
    for name, text, language, value in (
        ("item", "tona", "en", "toner"),
        ("room", "D105", "en", "B105"),
        ("window", "靠场", "zh", "yes"),
    ):
        found = find(name, text, language, wanted=True)
        assert found[0].value == value
        assert MAYBE <= found[0].sure < SURE


def test_a_near_hearing_is_taken() -> None:
    assert find("seat", "Windows seat", "en", wanted=False)[0].sure >= SURE
    assert find("item", "print a paper", "en", wanted=False)[0].sure >= SURE


def test_digits_that_end_several_codes_offer_all_of_them() -> None:
    found = find("room", "05", "en", wanted=True)
    assert [item.value for item in found] == ["A305", "B105"]
    assert all(item.sure < SURE for item in found)


def test_a_single_hour_is_no_sure_span_unless_it_was_asked_for() -> None:
    assert find("range", "at three", "en", wanted=False)[0].sure == MAYBE
    assert find("range", "at three", "en", wanted=True)[0].sure >= SURE


def test_two_values_that_are_no_correction_both_stay() -> None:
    found = find("date", "tomorrow or on Friday", "en", wanted=False)
    assert [item.value for item in found] == ["2026-05-14", "2026-05-15"]
    found = find("date", "明天或者周五", "zh", wanted=False)
    assert [item.value for item in found] == ["2026-05-14", "2026-05-15"]


def test_out_of_range_is_not_returned() -> None:
    few = slot("number", "people", "", least=1, most=50)
    assert not read(few, "80 people", "en", NOW)
    assert read(few, "50 people", "en", NOW)[0].value == "50"
    cheap = slot("money", "amount", "", most=1000)
    assert not read(cheap, "2,000 euros", "en", NOW)
    assert read(cheap, "1000 euros", "en", NOW)[0].value == "1000 EUR"


def test_a_date_that_can_only_be_past_rolls_back() -> None:
    bought = slot("date", "date", "", most=0)
    for said, value in (
        ("on Friday", "2026-05-08"),
        ("May 3rd", "2026-05-03"),
        ("on the 20th", "2026-04-20"),
        ("on Wednesday", "2026-05-13"),
        ("June 1st", "2025-06-01"),
        ("today", "2026-05-13"),
    ):
        assert [f.value for f in read(bought, said, "en", NOW)] == [value], said
    for said, value in (("五月三号", "2026-05-03"), ("周五", "2026-05-08")):
        assert [f.value for f in read(bought, said, "zh", NOW)] == [value], said
    for said in ("tomorrow", "next Friday", "2027-01-01"):
        assert not read(bought, said, "en", NOW)
    ahead = slot("date", "date", "", least=0)
    assert not read(ahead, "yesterday", "en", NOW)


def test_what_was_asked_for_is_not_heard_in_an_unrelated_answer() -> None:
    for name in ("item", "seat", "kind", "room", "code", "asset", "range", "time"):
        for language, sentences in (("en", EN), ("zh", ZH)):
            found = [f for s in sentences for f in find(name, s, language, wanted=True)]
            assert not [f for f in found if f.sure >= SURE], name
            assert len(found) <= 2, (name, found)


def test_d8_a_label_makes_sure() -> None:
    found = find("date", "the date is the 20th", "en", wanted=False)
    assert (found[0].value, found[0].sure) == ("2026-05-20", 1.0)
    found = find("reason", "原因是明天拜访客户", "zh", wanted=False)
    assert (found[0].value, found[0].sure) == ("明天拜访客户", 1.0)


def test_a_language_without_words_is_read_as_english() -> None:
    assert read(SLOTS["money"], "50 euros", "fr", NOW)[0].value == "50 EUR"


EN = """
Good morning, how are you today?
My sister is allergic to nuts.
I love this song so much.
What's the weather like over there?
Tell me a joke about cats.
She likes the big green city.
They went into the library together.
I have no idea what you mean.
Who wrote that book about whales?
Could you repeat that, please?
The kids really enjoyed the zoo.
It was a long and boring film.
He lives near the old harbour.
We should eat more vegetables.
That sounds like a great plan.
I can't hear you very well.
Turn off all of the lights.
Never mind, forget about it.
My favourite colour is blue.
The train was late again.
Somebody is at the door.
I feel a bit tired.
Let's talk about something funny.
Do you speak any foreign languages?
The coffee tastes bitter.
Her brother plays the violin.
There is snow on the mountains.
I am looking for my keys.
The dog is sleeping on the sofa.
Why is the sky blue?
Please play some quiet music.
He was angry about the noise.
This soup needs more salt.
You have been very helpful.
I used to live by the sea.
The garden looks lovely.
Can you sing me a song?
The neighbours have a new car.
I lost my umbrella on the bus.
We are proud of our team.
I wonder what happened to him.
It doesn't really matter to me.
The printer in the hall makes a strange noise.
What a pity, I liked her tone of voice.
""".strip().splitlines()

ZH = """
早上好，你好吗？
我妹妹对花生过敏。
我很喜欢这首歌。
外面的天气怎么样？
给我讲个笑话吧。
她住在一个很大的城市。
他们一起去了图书馆。
我不知道你在说什么。
这本书是谁写的？
请你再说一遍。
孩子们很喜欢动物园。
那部电影又长又无聊。
他家离码头不远。
我们应该多吃蔬菜。
这个主意听起来不错。
我听不太清楚。
把所有的灯都关掉。
算了，别管它了。
我最喜欢的颜色是蓝色。
火车又晚点了。
有人在敲门。
我有一点累。
我们聊点有意思的吧。
你会说别的语言吗？
这咖啡有点苦。
她哥哥会拉小提琴。
山上下雪了。
我在找我的钥匙。
小狗在沙发上睡觉。
天空为什么是蓝色的？
请放一些安静的音乐。
他因为噪音很生气。
这汤要多放一点盐。
你真是帮了大忙。
我以前住在海边。
花园看起来很漂亮。
你能唱首歌给我听吗？
邻居买了一辆新车。
我把雨伞忘在公交车上了。
我们为球队感到骄傲。
不知道他后来怎么样了。
对我来说都一样。
能不能快一点？
万一下雨怎么办？
""".strip().splitlines()


@pytest.mark.parametrize("name", sorted(set(SLOTS) - {"date"}))
def test_unrelated_sentences_hold_no_value(name: str) -> None:
    """The date slot is not among them: "today" is a date wherever it is said."""
    assert len(EN) >= 40 and len(ZH) >= 40
    for language, sentences in (("en", EN), ("zh", ZH)):
        for sentence in sentences:
            assert not find(name, sentence, language, wanted=False), sentence


REALLY_SAID = {"date", "time", "number", "quantity", "kind", "duration", "thing", "free code"}
"""slots of which the recordings do hold values: "tomorrow", "nine people", "3 hours" """
SPEECH = Path(__file__).resolve().parents[2] / "shared/testdata/speech/manifest.jsonl"


@pytest.mark.skipif(not SPEECH.is_file(), reason="no recordings beside the repository")
@pytest.mark.parametrize("name", sorted(set(SLOTS) - REALLY_SAID))
def test_recorded_sentences_hold_no_value(name: str) -> None:
    lines = [json.loads(line) for line in SPEECH.read_text(encoding="utf-8").splitlines()]
    said = {(d["language"], d["transcript"]) for d in lines if d.get("transcript")}
    assert len(said) > 50
    for spoken_in, transcript in said:
        language = "zh" if str(spoken_in).startswith("zh") else "en"
        found = [f for f in find(name, transcript, language, wanted=False) if f.sure >= SURE]
        assert not found, (transcript, found)


PIECES = """
two four ten 10 12 302 a A at from to past half quarter of in the no not sorry on for
and pm a.m. o'clock hours minutes tomorrow Friday next week May twelfth 12th euros $ € yuan box
people room window projector without reason: is yes please um remind me to toner paper oh -
, . : / % 2026-05-01 12/5 hundred thousand point 两 十 点 半 到 至 明天 下午 下周 一 二 号 月
块 元 箱 个 不对 ， 。 不要 靠窗 靠场 三零二 会议室 小时 分钟 后 之前 提醒我 原因是
打印纸 差一刻 ： ２ 万 百"""
CASES_WORDS = tuple(PIECES.split())
"""pieces that random sentences are made of"""
