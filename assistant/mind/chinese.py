"""中文的话 → 从旁观者看的分句：“我妹妹对花生过敏” → 用户的妹妹对花生过敏。"""

from __future__ import annotations

import re
from collections.abc import Iterator

from assistant.mind.values import values
from assistant.mind.words import Clause

_FILLER = re.compile(r"(?:^|(?<=[，,。！？、\s]))(?:嗯+|呃+|额+|哦+|噢+|啊+|那个|就是说)[，,、\s]*")
_REPEAT = re.compile(r"(我想|我要|我们|我|他|她|那个|这个)(?:[，,、…\s]*\1)+")
_RESTART = re.compile(
    r"[，,。\s]*(?:哦不|不对不对|不对|不是不是|不是|不不|不|说错了|错了|我是说|应该是)[，,。\s]+"
)
_SENTENCE = re.compile(r"([。！？!?；;\n]+)")
_CLAUSE = re.compile(
    r"[，,、\s]*(?:，|,|\s)(?:而且|但是|不过|还有|然后|另外|所以|因为|并且)?|(?:而且|但是|不过|另外)"
)
_LEAD = re.compile(
    r"^(?:(?:对了|那个|嗯|好的|好|是的|哦|其实|你好|您好|不是|不对|不)(?:[，,：:\s]+|$)|"
    r"(?:请|麻烦你?|顺便说一下|顺便说|还有|另外|而且|但是|不过|因为|所以|然后|其实|"
    r"请?记住|请?记一下|别忘了|告诉你|跟你说|你知道吗|我觉得|我想说|我跟你说)[，,：:\s]*)"
)
_KIN = (
    r"(?:爸爸|妈妈|父亲|母亲|爸|妈|哥哥|弟弟|姐姐|妹妹|爷爷|奶奶|外公|外婆|老公|老婆|丈夫|妻子|太太|先生|儿子|女儿|"
    r"孩子|孙子|孙女|朋友|男朋友|女朋友|同事|老板|邻居|室友|老师|医生|狗|猫|姑姑|舅舅|叔叔|阿姨|表弟|表妹|家|公司|"
    r"生日|名字|手机|车|房间)"
)
_QUESTION = re.compile(
    r"[？?]|什么|怎么|谁|哪|几点|几号|几个|多少|多久|多大|为什么|吗$|呢$|是不是|有没有|能不能|可不可以|会不会|还记得|知道.{0,6}吗"
)
_COMMAND = re.compile(
    r"^(?:打开|关掉|关上|关闭|播放|放一?首|停|停止|暂停|继续|把|设|设置|给我讲|告诉我|说|讲|再说|重复|调|换|唱|开始|查|搜索|帮我查|帮我打开|帮我关|给我放)"
)
_REQUEST = re.compile(
    r"^(?:(?:请|麻烦)?(?:你|您)?(?:能|可以|能不能|可不可以)?(?:帮我|替我|给我|帮我们|给我们)?)"
    r"(?P<what>(?:预[定订约]|[订定](?!义)|约|安排|提醒|买|取消|改)[^？?吗]+)"
)
_SMALL = re.compile(
    r"^用户(?:很|挺|还|非常|真|有点|也|都|太)*(?:好|高兴|开心|累|饿|困|无聊|忙|不错|知道了|明白|懂了|抱歉|没事|可以|同意)(?:了|的|啊|呀|呢)?[。]?$|"
    r"^用户(?:想知道|想问|不知道|不明白|不懂|不清楚|问|说|觉得|以为|谢谢|爱你|喜欢你|想听|听说|有(?:个|一个)问题)|"
    r"^用户(?:的)?(?:意思是|是说)|喜欢(?:这个|那个|它)[。]?$"
)
_SURE = re.compile(
    r"叫|名字|过敏|吃素|素食|喜欢|爱[吃喝看听玩]|讨厌|不[吃喝爱]|最爱|住在|住|搬[到家]|来自|是.{1,4}人|生日|岁|工作|上班|退休|"
    r"结婚|怀孕|糖尿病|高血压|(?:有|养了?).{0,3}(?:个|只|条|辆|位)|预约|预[定订]|约了|会议|开会|航班|火车|面试|考试|手术|婚礼|"
    r"是(?:一?个|一?名|一?位)?(?:老师|医生|护士|工程师|学生|司机|厨师|律师|程序员|会计|警察|记者|设计师)|预算|家在|想要|在.{1,8}(?:上学|读书|学习)"
)
_PRONOUN = re.compile(r"^(?:他们|她们|它们|他|她|它)")
_ABOUT = re.compile(
    rf"^(?P<np>我们?的?{_KIN}(?:[\u4e00-\u9fff]{{0,3}}?)|[老小大][\u4e00-\u9fff]|[A-Za-z]+|[\u4e00-\u9fff]{{2,3}}?)"
    r"(?=叫|是|在|对|住|有|要|会|喜欢|讨厌|不|今年|明天|后天|今天|下|这|周|星期|很|的名字|来|去|也|从|每|已经|刚|想|最|快|爱|养|当|做|生)"
)


def clean(text: str) -> str:
    """去掉口头语、结巴和说错重来的部分。"""
    text = _FILLER.sub("", text.strip())
    text = _REPEAT.sub(r"\1", text)
    for match in reversed(list(_RESTART.finditer(text))):
        text = _restarted(text, match)
    return text.strip()


def _restarted(text: str, match: re.Match[str]) -> str:
    """“蓝色的，不对，绿色的” → “绿色的”；合不上时原样返回。"""
    before, after = text[: match.start()], text[match.end() :]
    if not before or not after:
        return text
    new = [value for value in values(after) if value.start <= 1]
    if new:
        old = [value for value in values(before) if value.kind == new[0].kind]
        if old:
            return before[: old[-1].start] + after[new[0].start :]
    word = re.match(r"[\u4e00-\u9fff]{1,6}?的|[\u4e00-\u9fff]{2,6}(?=[，,。]|$)", after)
    if word and len(before) > len(word.group()) and before[-1] == word.group()[-1]:
        return before[: len(before) - len(word.group())] + after
    return text


def clauses(text: str) -> list[Clause]:
    """分句，每句改写成第三人称。"""
    result: list[Clause] = []
    about = ""
    for part, question in _parts(text):
        clause = _clause(part, question, about)
        result.append(clause)
        if clause.kind == "statement":
            about = _next_about(clause, about)
    return result


def _parts(text: str) -> Iterator[tuple[str, bool]]:
    pieces = _SENTENCE.split(text)
    for index in range(0, len(pieces), 2):
        mark = pieces[index + 1] if index + 1 < len(pieces) else ""
        parts = [bare for part in _CLAUSE.split(pieces[index]) if (bare := _bare(part))]
        for number, bare in enumerate(parts):
            yield bare, ("？" in mark or "?" in mark) and number == len(parts) - 1


def _bare(part: str) -> str:
    while (shorter := _LEAD.sub("", part.strip(" ，,"))) != part:
        part = shorter
    return part


def _clause(part: str, question: bool, about: str) -> Clause:
    request = _REQUEST.match(part)
    if request and (values(part) or request["what"].startswith("提醒")):
        what = re.sub(r"^提醒(?:我们?)?", "记得", request["what"])
        return Clause(part, f"用户要{_swap(what)}。", "user", "request", True)
    if question or _QUESTION.search(part) or _COMMAND.match(part):
        return Clause(part, "", "", "other", False)
    subject, note = _outside(part, about)
    if not subject or _SMALL.search(note):
        return Clause(part, "", subject, "other", False)
    dated = any(value.kind not in ("count", "part") for value in values(part))
    return Clause(part, note, subject, "statement", dated or bool(_SURE.search(note)))


def _outside(part: str, about: str) -> tuple[str, str]:
    """(主语, 第三人称的句子)；不是陈述时主语为空。"""
    if part.startswith(("我", "咱", "本人", "叫我", "我们")):
        called = re.match(
            r"^(?:叫我|我叫|我的名字[是叫]|我名字叫)(?P<name>\w{1,12}?)(?:吧|就行|就好|就可以)?$",
            part,
        )
        if called:
            return "user", f"用户叫{called['name']}。"
        own = re.match(rf"^我们?的?(?P<np>{_KIN})", part)
        note = _swap(part) + "。"
        if own and not re.match(r"^我们?家[在有里]", part):
            return own["np"], re.sub(r"^用户的?", "用户的", note)
        return "user", note
    if _PRONOUN.match(part):
        return (about or "他"), _PRONOUN.sub(about or "", _swap(part)) + "。" if about else ""
    timed = re.match(
        r"^(?P<when>(?:明天|后天|今天|今晚|明晚|下周.|这周.|周.|星期.|下个月|.{1,3}月.{1,3}[号日])\S{0,6}?)我们?(?P<rest>.+)$",
        part,
    )
    if timed and not re.match(r"^的?" + _KIN, timed["rest"]):
        return "user", f"用户{timed['when']}{_swap(timed['rest'])}。"
    found = _ABOUT.match(part)
    if found and not values(found["np"]) and _named(found["np"]):
        return found["np"], _swap(part) + "。"
    if about and len(part) > 2 and _predicate(part):
        return ("user" if about == "用户" else about), about + _swap(part) + "。"
    return "", ""


def _named(words: str) -> bool:
    """专有名词或称呼，不是“今天”“这里”之类。"""
    return not re.match(
        r"^(?:这|那|今|明|后|现在|天气|大家|没|可|谢|好|非常|只|就|都|最|不|有|如果|当然|你|您|它|一)",
        words,
    )


def _predicate(part: str) -> bool:
    """省略了主语的陈述：“今年三十岁”“住在北京”。"""
    return (
        re.match(
            r"^(?:今年|住|在|是|有|对|喜欢|讨厌|不|也|叫|养|做|当|来自|要|会|最|周|下|明|后|从|每|已|刚|爱|去|来|想)",
            part,
        )
        is not None
    )


def _next_about(clause: Clause, about: str) -> str:
    """下一句的“他/她”或省略的主语指谁。"""
    if clause.subject == "user":
        have = re.match(
            rf"^用户(?:还|也)?(?:有|养了?)(?:一|两)?(?:个|只|条|位)?(?P<who>{_KIN})", clause.note
        )
        return f"用户的{have['who']}" if have else "用户"
    if clause.note.startswith("用户的"):
        found = re.match(rf"^用户的{_KIN}", clause.note)
        return found.group() if found else about
    return clause.subject


def _swap(text: str) -> str:
    return re.sub(
        r"我们的?家|我们|咱们|我|咱",
        lambda match: "用户的家" if match.group().endswith("家") else "用户",
        text,
    )


def subject_of(note: str) -> str:
    """笔记说的是谁。"""
    own = re.match(rf"^用户的?(?P<np>{_KIN})", note)
    if own and not note.startswith("用户家在"):
        return own["np"]
    return "user" if note.startswith("用户") else note[:4]


def negative(text: str) -> bool:
    return re.search(r"不|没|别|无(?!锡|聊|线|人机)", text) is not None
