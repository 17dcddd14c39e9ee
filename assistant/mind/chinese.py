"""中文的话 → 从旁观者看的分句：“我妹妹对花生过敏” → 用户的妹妹对花生过敏。

词表是数据：prompts/zh.toml 的 [grammar]。
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from assistant.mind.texts import filled, prompts
from assistant.mind.values import values
from assistant.mind.words import Clause

_WORDS = prompts("zh")["grammar"]


def _any(name: str) -> str:
    """prompts/zh.toml 里一个词表的各个选择。"""
    return filled("(?:" + "|".join(_WORDS[name]) + ")", _WORDS)


_KIN = _any("kin")
_FILLER = re.compile(rf"(?:^|(?<=[，,。！？、\s])){_any('fillers')}[，,、\s]*")
_REPEAT = re.compile(r"(我想|我要|我们|我|他|她|那个|这个)(?:[，,、…\s]*\1)+")
_RESTART = re.compile(rf"[，,。\s]*{_any('restarts')}[，,。\s]+")
_SENTENCE = re.compile(r"([。！？!?；;\n]+)")
_CLAUSE = re.compile(
    rf"(?:[，,、]\s*|(?<![A-Za-z，,、])\s+|\s+(?![A-Za-z\s]))+{_any('links')}?|"
    r"(?:而且|但是|不过(?![敏来去])|另外)"
)
_RUN_ON = re.compile(
    r"(?<=[\u4e00-\u9fffA-Za-z]{2})(?<![叫给跟和帮让对比找问诉说想得为的是把被请教陪看等道果使望怕信认])"
    r"(?<![在到离像去来回有会要最更也都就才还不没很])"
    r"(?=(?:我们?|他|她)(?:是|在|叫|住|有|会|也|还|今年|现在|喜欢|讨厌|不|每|想|要|对|最|特别|很|自己)|"
    r"你(?:可以|就)?叫我)|(?<=我叫)(?P<name>[A-Za-z]+|[\u4e00-\u9fff]{2,3}?)(?=在|是|今年|住)"
)
"""说话没有标点：“我室友叫阿凯他是学法律的”。"""
_SUBJECT = re.compile(
    r"^(?:你好|您好|嗨)$|[我他她你].*(?:[是在叫住有会要不对去来了过爱岁]|喜欢|讨厌)"
)
_LEAD = re.compile(rf"^(?:{_any('answers')}(?:[，,：:\s]+|$)|{_any('leads')}[，,：:\s]*)")
_QUESTION = re.compile(rf"[？?]|{_any('questions')}")
_COMMAND = re.compile(rf"^{_any('commands')}")
_REQUEST = re.compile(rf"^{_any('polite')}?(?P<what>{_any('requests')}[^？?吗]+)")
_SMALL = re.compile(
    rf"^用户{_any('degrees')}*{_any('moods')}[了的啊呀呢]*[。]?$|^用户的?{_any('mental')}|"
    r"喜欢(?:这个|那个|它)[。]?$"
)
_SURE = re.compile(_any("lasting"))
_CALLED = re.compile(
    r"^(?:(?P<they>大家|朋友们?|别人|你可以)?都?叫我|我叫|我的名字[是叫]|我名字叫)(?P<name>\w{1,12}?)(?:吧|就行|就好|就可以)?$"
)
_OWN = re.compile(rf"^(?:我|我们|咱们?)(?:家的?|的)?(?P<np>{_KIN})")
_OWN_NOTE = re.compile(rf"^用户的?(?:家的?)?(?={_KIN})")
_SUPPOSED = re.compile(_any("supposed"))
_QUOTING = re.compile(rf"^(?!我(?:想|要|是|跟你)?说).*{_any('quoting')}$")
_PERSON = re.compile(
    rf"^(?P<who>用户的{_any('people')})(?:叫(?P<name>[\u4e00-\u9fff]{{1,4}}|[A-Za-z]+)[。，]?$)?|"
    rf"^用户(?:还|也|家)?(?:有|养了?)(?:一|两)?(?:个|只|条|位)?(?P<has>{_any('people')})"
)
_WHO = re.compile(
    rf"^用户的(?P<who>{_any('people')})(?P<name>(?:[\u4e00-\u9fff]{{1,3}}?|[A-Za-z]+)??)"
    rf"(?=的|生日|{_any('after_subject')})|^用户的(?P<only>{_any('people')})"
)
_CALLED_NOTE = re.compile(r"(?:的名字)?叫(?P<name>[\u4e00-\u9fff]{1,4}|[A-Za-z]+)(?:[。，了]|$)")
_ANIMAL = re.compile(_any("animals"))
_HOME = re.compile(r"^我们?家[在有里]")
_PRONOUN = re.compile(r"^(?:他们|她们|它们|他|她|它)")
_WHEN_I = re.compile(rf"^(?P<when>{_any('days')}\S{{0,6}}?)我们?(?P<rest>.+)$")
_WHEN_THEY = re.compile(rf"^(?P<when>{_any('days')}\S{{0,6}}?)[他她它]们?(?P<rest>.+)$")
_ABOUT = re.compile(
    rf"^(?P<np>我们?的?{_KIN}(?:[\u4e00-\u9fff]{{0,3}}?)|[老小大][\u4e00-\u9fff]|[A-Za-z]+|"
    rf"[\u4e00-\u9fff]{{2,3}}?)(?={_any('after_subject')})"
)
_NO_NAME = re.compile(rf"^{_any('not_names')}")
_PREDICATE = re.compile(rf"^{_any('predicates')}")


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


def antecedents(turns: Sequence[Sequence[str]]) -> str:
    """前几轮的笔记（新的在前）之后，“他、她、它”指谁；不能确定时为空。"""
    for notes in turns:
        found = {_person(note) for note in notes} - {""}
        if found:
            shorter = {one for one in found if any(one != o and o.startswith(one) for o in found)}
            return next(iter(found)) if len(found - shorter) == 1 else ""
    return ""


def _person(note: str) -> str:
    found = _PERSON.match(note)
    if not found:
        return ""
    return (found["who"] or f"用户的{found['has']}") + (found["name"] or "")


def clauses(text: str, earlier: str = "") -> list[Clause]:
    """分句，每句改写成第三人称。`earlier`：本轮没有提到人时“他、她、它”指谁。"""
    result: list[Clause] = []
    about = ""
    for part, question in _parts(text):
        pronoun = _PRONOUN.match(part) or _WHEN_THEY.match(part)
        meant = earlier if pronoun and about in ("", "用户") else about
        if part.startswith("它") and not _ANIMAL.search(meant):
            meant = ""
        clause = _clause(part, question, meant)
        result.append(clause)
        if clause.kind == "statement":
            about = _next_about(clause, about)
    return result


def _parts(text: str) -> Iterator[tuple[str, bool]]:
    pieces = _SENTENCE.split(text)
    for index in range(0, len(pieces), 2):
        mark = pieces[index + 1] if index + 1 < len(pieces) else ""
        unmeant = _SUPPOSED.search(pieces[index]) is not None
        split = [one for part in _CLAUSE.split(pieces[index]) for one in _run_on(part)]
        parts = [bare for part in split if (bare := _bare(part))]
        for number, bare in enumerate(parts):
            asked = ("？" in mark or "?" in mark) and number == len(parts) - 1
            yield bare, asked or unmeant
            unmeant = unmeant or _QUOTING.match(bare) is not None


def _run_on(part: str) -> Iterator[str]:
    """没有标点时在新的主语前断开；前面只是时间的不断。"""
    begin = 0
    for match in _RUN_ON.finditer(part):
        if _SUBJECT.search(part[begin : match.end()]):
            yield part[begin : match.end()]
            begin = match.end()
    yield part[begin:]


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
        return Clause(part)
    subject, note = _outside(part, about)
    if not subject or _SMALL.search(note):
        return Clause(part, subject=subject)
    dated = any(value.kind not in ("count", "part") for value in values(part))
    return Clause(part, note, subject, "statement", dated or bool(_SURE.search(note)))


def _outside(part: str, about: str) -> tuple[str, str]:
    """(主语, 第三人称的句子)；不是陈述时主语为空。"""
    note = _swap(part) + "。"
    when = _WHEN_I.match(part)
    if part.startswith(("我", "咱", "叫我")) or _CALLED.match(part):
        return _own(part, note)
    later = _WHEN_THEY.match(part)
    if later or _PRONOUN.match(part):
        known = about if about != "用户" else ""
        note = f"{known}{later['when']}{_swap(later['rest'])}。" if later else note
        return known, _PRONOUN.sub(known, note) if known else ""
    if when and not re.match("的?" + _KIN, when["rest"]):
        return "user", f"用户{when['when']}{_swap(when['rest'])}。"
    found = _ABOUT.match(part)
    if found and not values(found["np"]) and not _NO_NAME.match(found["np"]):
        return found["np"], note
    goes_on = about and len(part) > 2 and _PREDICATE.match(part)
    subject = "user" if about == "用户" else about
    return (subject, about + note) if goes_on else ("", "")


def _own(part: str, note: str) -> tuple[str, str]:
    """以“我”开头的话：说的是我，还是我的谁？"""
    called = _CALLED.match(part)
    if called:
        they = (called["they"] or "").removeprefix("你")
        return "user", f"{they}叫用户{called['name']}。" if they else f"用户叫{called['name']}。"
    own = _OWN.match(part)
    if own and not _HOME.match(part):
        return own["np"], _OWN_NOTE.sub("用户的", note)
    return "user", note


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


def person_of(note: str, *, named_only: bool = False) -> str:
    """笔记说的是用户的谁：“妹妹 小兰”；说的不是人时为空。"""
    found = _WHO.match(note)
    if not found:
        return ""
    called = _CALLED_NOTE.match(note[found.end() :])
    name = (called["name"] if called else "") or found["name"] or ""
    return f"{found['who'] or found['only']} {name}".strip() if name or not named_only else ""


def subject_of(note: str) -> str:
    """笔记说的是谁。"""
    own = re.match(rf"^用户的?(?P<np>{_KIN})", note)
    if own and not note.startswith("用户家在"):
        return own["np"]
    return "user" if note.startswith("用户") else note[:4]


def negative(text: str) -> bool:
    return re.search(r"不|没|别|无(?!锡|聊|线|人机)", text) is not None
