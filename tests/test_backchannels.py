"""Words said over our voice: "uh-huh" goes by, "stop" is obeyed, the rest is a turn (M7, V10)."""

from __future__ import annotations

import pytest

from assistant.barge_in import Kind, kind_of

ENGLISH: dict[Kind, str] = {
    "backchannel": """
        Uh-huh. | Uh huh | Mm-hmm. | Mm-hm | Mhm. | Mmm. | Hmm. | Hmmmmm | Um. | Uh. | Ah. |
        Oh. | Oh, okay. | OK. | Okay. | Okay, okay. | O.K. | Yeah. | Yeah, yeah. | Yep. | Yes. |
        Right. | Right, right. | All right. | Alright. | Sure. | I see. | Ah, I see. | Got it. |
        Okay, got it. | Good. | Great. | Nice! | Cool. | Really? | Wow. | Interesting. |
        Go on. | Please go on. | Of course. | Exactly. | True. | Thank you. | Thanks. |
        Makes sense. | Mm, yeah, right. | Ha ha. | ...
    """,
    "stop": """
        Stop. | Stop! | Stop it. | Please stop. | Stop, please. | Stop talking. | Okay, stop. |
        No, stop. | Be quiet. | Quiet, please. | Quiet! | Shut up. | Shh. | Shhhh! | Hush. |
        Silence. | Enough. | That's enough. | That’s enough. | That is enough, thank you. |
        Okay, that's enough. | Wait. | Wait, wait. | Wait a minute. | Hold on. |
        Hold on a moment. | Hang on a second. | Just a second. | One moment, please. | Pause. |
        Stop now. | Please be quiet now. | Can you stop? | Could you be quiet, please? |
        Would you please stop talking? | Hey, stop. | Thank you, that will do. | That'll do. |
        No more. | Be quiet for a moment. | Stop, stop, stop!
    """,
    "turn": """
        Wait, make it the afternoon. | No. | No, the other room. | Stop the timer. |
        Stop the music at ten. | What time is it? | Yes, book it. |
        Okay, and what about Friday? | I see a problem there. | Thank you, now book a room. |
        Right next to the window. | Sure, but make it cheaper. | Tomorrow. | At ten. |
        Three people. | Never mind. | Cancel it. | Undo that. | Go back. | Repeat that. |
        Say that again. | Louder, please. | How much is it? | Really, is that the price? |
        Turn off the light. | Remind me to call Anna. | Actually, I prefer tea. |
        Yeah, but I meant Berlin. | Good morning. | Hello. | My name is Alex. |
        Wait for me at the station. | Pause the timer. | Enough milk for two weeks. |
        Hold on to that receipt. | Be quiet hours start at ten? | Who is that? | The blue one. |
        Not that one. | Uh, what was the second one? | Hmm, I don't like that. |
        Oh, and add some eggs.
    """,
}
CHINESE: dict[Kind, str] = {
    "backchannel": """
        嗯 | 嗯。 | 嗯嗯 | 嗯嗯嗯 | 嗯哼 | 啊 | 哦 | 哦哦 | 噢 | 喔 | 呃 | 唔 | 对 | 对的 |
        对对 | 对对对。 | 是 | 是的 | 是啊 | 是吗？ | 好 | 好的 | 好好好 | 好吧 | 嗯，好的。 |
        哦，这样啊。 | 行 | 可以 | 没错 | 明白 | 明白了 | 懂了 | 知道 | 知道了 | 了解 |
        原来如此 | 当然 | 真的？ | 真的吗？ | 继续 | 谢谢 | OK | 嗯，对。 | 哈哈 | 哎 | 對 |
        謝謝 | 沒錯
    """,
    "stop": """
        停 | 停！ | 停下 | 停下来 | 停一下 | 请停一下 | 停停停 | 先停一下 | 别说了 | 别说了。 |
        不要说了 | 别讲了 | 不用说了 | 闭嘴 | 安静 | 安静一下 | 安静点 | 请安静 | 够了 |
        够了够了 | 好了，够了 | 打住 | 等等 | 等一下 | 等一等 | 请等一下 | 等会 | 等会儿 |
        暂停 | 住口 | 行了 | 行了行了 | 嗯，等一下 | 喂，停！ | 好的，停 | 不，别说了 | 快停下 |
        你别说了 | 你先停一下 | 麻烦你安静 | 停下來 | 別說了 | 等等，等等
    """,
    "turn": """
        不对 | 不是 | 不，改到下午 | 等一下，改成三点 | 停止计时 | 停止播放音乐 | 现在几点 |
        好的，帮我订一个 | 明天呢 | 明天 | 十点 | 三个人 | 取消 | 算了 | 撤销 | 再说一遍 |
        大声点 | 多少钱 | 把灯关掉 | 提醒我给安娜打电话 | 我叫小明 | 你好 | 早上好 |
        对面的房间 | 好贵 | 可以便宜一点吗 | 是不是有窗户 | 行李在哪里 | 知道了以后告诉我 |
        谢谢，再订一个房间 | 等一下去哪里 | 安静的房间 | 够了吗 | 真的有这么多人吗 |
        继续订房间 | 蓝色的那个 | 不要那个 | 换一个 | 什么意思 | 为什么 | 嗯，那星期五呢 |
        当然不行
    """,
}

CASES = [
    pytest.param(text, language, kind, id=f"{language} {text}")
    for language, table in (("en", ENGLISH), ("zh", CHINESE))
    for kind, texts in table.items()
    for text in map(str.strip, texts.split("|"))
]


@pytest.mark.parametrize(("text", "language", "kind"), CASES)
def test_m7_what_is_said_over_our_voice(text: str, language: str, kind: Kind) -> None:
    assert kind_of(text, language) == kind


@pytest.mark.parametrize("text", ["嗯", "嗯嗯。", "好的", "停"])
def test_m7_short_sounds_that_are_taken_for_another_language(text: str) -> None:
    assert kind_of(text, "en") == kind_of(text, "zh") != "turn"
    assert kind_of("Mm-hmm.", "zh") == "backchannel"


@pytest.mark.parametrize(
    ("text", "language"), [("Yes.", "en"), ("Okay.", "en"), ("Sure.", "en"), ("好的", "zh")]
)
def test_m7_yes_is_an_answer_where_something_was_asked(text: str, language: str) -> None:
    assert kind_of(text, language, asked=True) == "turn"
    assert kind_of(text, language) == "backchannel"


@pytest.mark.parametrize(("text", "language"), [("Mm-hmm.", "en"), ("Uh.", "en"), ("呃", "zh")])
def test_m7_a_hum_is_no_answer_even_to_a_question(text: str, language: str) -> None:
    assert kind_of(text, language, asked=True) == "backchannel"


@pytest.mark.parametrize("text", ["", "...", "…"])
def test_m7_nothing_that_was_understood_goes_by(text: str) -> None:
    assert kind_of(text, "en") == "backchannel"


def test_m7_long_hums_take_no_long_time() -> None:
    assert kind_of("mm " * 20_000, "en") == "turn"
    assert kind_of("mm m mm mmm " * 5 + "x", "en") == "turn"
