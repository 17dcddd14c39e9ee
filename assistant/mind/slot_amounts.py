"""Numbers, sums of money and quantities out of words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal, InvalidOperation
from functools import cache

from assistant.mind.slot_view import Candidate, View, either, words

_NUMBER = (
    r"(?<![\w:/-])(?<!\d[.,])(?:\d{1,3}(?:,\d{3})+|\d{1,12})(?:\.\d{1,4}|,\d\d(?!\d))?"
    r"(?![\d:/]|[.,]\d)"
)
_ZH_NUMBER = (
    r"(?<![a-z\d:/-])(?<!\d[.,])(?:\d{1,3}(?:,\d{3})+|\d{1,12})(?:[.点]\d{1,4})?(?![\d:/]|[.,]\d)"
)


def plain_number(value: Decimal) -> str:
    """Decimal → "12", "3.5", "100000"."""
    text = f"{value:f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text) or "0"


def _number(said: str) -> Decimal | None:
    if said[-3:-2] == ",":
        said = f"{said[:-3].replace('.', '')}.{said[-2:]}"
    try:
        return Decimal(said.replace(",", "").replace("点", ".").strip())
    except InvalidOperation:
        return None


# ── numbers ──


def read_numbers(view: View, wanted: bool, taken: Sequence[tuple[int, int]]) -> Iterator[Candidate]:
    """Every number outside the spans that are taken (dates, times, sums of money, codes)."""
    rules = _counts(view.language)
    at = 0
    while match := rules[0].search(view.digits, at):
        at = match.end()
        candidate = _one(view, match, wanted, rules)
        span = view.span(*match.span())
        if any(start < span[1] and span[0] < end for start, end in taken):
            if "点" in match["number"] and rules[2].match(
                view.digits, at
            ):  # 十二点六个人: the hour is taken, what follows is not
                at = match.start("number") + match["number"].index("点") + 1
        elif candidate:
            yield candidate


_Counts = tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str], re.Pattern[str]]


def _one(view: View, match: re.Match[str], wanted: bool, rules: _Counts) -> Candidate | None:
    value = _number(match["number"])
    if value is None:
        return None
    if match["half"]:
        value += Decimal("0.5")
    if match["minus"]:
        value = -value
    _, cue, counted, pronoun = rules
    cued = cue.search(view.digits, 0, match.start())
    alone = match[0] == "1" and (pronoun.match(view.digits, match.end()) or not cued)
    plain = not alone and (cued or counted.match(view.digits, match.end()))
    if plain or wanted:
        return view.candidate(plain_number(value), match, 1.0 if plain else 0.95)
    return None


@cache
def _counts(language: str) -> _Counts:
    """number, cue before it, counted thing after it, what follows a "one" that is no number."""
    edge = "" if language == "zh" else r"\b"
    space = "" if language == "zh" else " "
    number = _ZH_NUMBER if language == "zh" else _NUMBER
    half = either(language, "with_half")
    return (
        re.compile(
            rf"(?P<minus>(?<![\w\d] )(?<!\w)-|minus |负)?(?P<number>{number})"
            r"(?![a-z%])"
            rf"(?P<half>{space}{half}{edge})?"
        ),
        re.compile(rf"{edge}{either(language, 'number_cues')}{space}$"),
        re.compile(rf" ?{either(language, 'counted')}{edge}"),
        re.compile(rf" ?{either(language, 'one_follows')}{edge}|\s*$"),
    )


# ── money ──


def read_money(view: View, wanted: bool) -> Iterator[Candidate]:
    """Every sum of money; a bare number when it was wanted, or is said to be spent."""
    found = list(_sums(view))
    yield from found
    if found:
        return
    parts = list(_PARTS.finditer(view.digits)) if wanted else []
    for match in parts:
        yield view.candidate(plain_number(Decimal(f"{match[1]}.{match[2]}")), match, 0.8)
    if parts:
        return
    number, _, counted, _ = _counts(view.language)
    for match in number.finditer(view.digits):
        value = _number(match["number"])
        spent = _spent(view.language).search(view.digits, 0, match.start())
        counts = counted.match(view.digits, match.end())
        if value is not None and not match["minus"] and (wanted or (spent and not counts)):
            yield view.candidate(plain_number(value), match, 0.95)


_PARTS = re.compile(r"(?<![\w.,:/-])(\d{1,3}) (\d\d)(?![\w:/]|[.,]\d)")
"""a sum said as two numbers: "twenty-three fifty" """


@cache
def _spent(language: str) -> re.Pattern[str]:
    if language == "zh":
        return re.compile(rf"{either(language, 'money_cues')}了?$")
    return re.compile(rf"\b{either(language, 'money_cues')}(?: (?:about|around|of|for))? $")


def _sums(view: View) -> Iterator[Candidate]:
    for match in _money(view.language).finditer(view.digits):
        value = _sum(match)
        if value is None:
            continue
        said = match["before"] or match["after"] or match["small_only"]
        code = _currency(view.language, said)
        ahead = _WHOLE.search(view.digits, 0, match.start())
        if ahead and match["number"] and len(match["number"]) == 2:
            start, end = view.span(ahead.start(), match.end())
            value = Decimal(f"{ahead[1]}.{match['number']}")
            yield Candidate(f"{plain_number(value)} {code}", start, end, 0.8)
        else:
            yield view.candidate(f"{plain_number(value)} {code}", match)


def _sum(match: re.Match[str]) -> Decimal | None:
    if match["small_only"]:
        cents = _number(match["number3"])
        return None if cents is None else cents * _SMALL.get(match["small_only"], Decimal("0.1"))
    value = _number(match["number"] or match["number2"])
    if value is None:
        return None
    if match["half"]:
        value += Decimal("0.5")
    if match["thousand"]:
        value *= 1000
    if match["cents"]:
        digits = match["cents"]
        tenth = len(digits) == 1 and match["cent"] not in ("分", "cents", "cent", "pence")
        value += Decimal(digits) / (10 if tenth else 100)
    return value


_WHOLE = re.compile(r"(?<![\w.,:/-])(\d{1,3}) $")
"""before an amount: "twenty-three fifty dollars" """
_SMALL = {"分": Decimal("0.01")}


@cache
def _money(language: str) -> re.Pattern[str]:
    names = [word for each in words(language)["money"].values() for word in each]
    if language == "zh":
        names += [word for each in words("en")["money"].values() for word in each]
    said = "|".join(sorted(names, key=len, reverse=True))
    number = (_ZH_NUMBER if language == "zh" else _NUMBER).replace(r"(?![\d:/]|[.,]\d)", "")
    small = "|".join(words(language)["cents"]["words"])
    if language == "zh":
        tail = (
            rf"(?:(?P<cents>\d{{1,2}})(?P<cent>{small})?(?![\d点个]))?(?P<half>半)?"
            rf"|(?P<number3>(?<![\d点])\d{{1,2}})(?P<small_only>毛钱?|角钱?|分钱)"
        )
        return re.compile(
            rf"(?P<before>[$€£¥])\s?(?P<number2>{number})(?P<thousand>(?!))?"
            rf"|(?P<number>{number})(?P<after>{said}){tail}"
        )
    amount = rf"{number}(?![\d:/])"
    return re.compile(
        rf"(?P<before>[$€£¥]|\b(?:eur|usd|gbp|cny|rmb)) ?"
        rf"(?P<number2>(?:\d{{1,3}}(?:,\d{{3}})+|\d{{1,12}})"
        rf"(?:\.\d{{1,2}})?)(?P<thousand>k\b)?"
        rf"|(?P<number>{amount})(?P<half> and a half)? ?(?P<after>{said})(?!\w)"
        rf"(?:(?: and)? (?P<cents>\d{{1,2}})"
        rf"(?!\d|[:.,]\d| ?(?:{said}|people|boxes|of|o'clock|am|pm)\b)"
        rf"(?: (?P<cent>{small})\b)?)?"
        rf"|(?P<number3>(?!))(?P<small_only>(?!))"
    )


@cache
def _currency(language: str, said: str) -> str:
    if said in ("毛", "角", "毛钱", "角钱", "分钱"):
        return "CNY"
    for tables in (words(language)["money"], words("en")["money"]):
        for code, names in tables.items():
            if any(re.fullmatch(name, said) for name in names):
                return str(code)
    return said.upper()


# ── quantities ──


def read_quantities(view: View, wanted: bool) -> Iterator[Candidate]:
    """Every number with the unit that it counts ("3 箱")."""
    cue = _counts(view.language)[1]
    yield from (
        view.candidate(f"{plain_number(value)} {_unit(view.language, match['unit'])}", match)
        for match in _quantity(view.language).finditer(view.digits)
        if (value := _number(match["number"])) is not None
        and (wanted or value != 1 or cue.search(view.digits, 0, match.start()))
    )


@cache
def _quantity(language: str) -> re.Pattern[str]:
    names = "|".join(word for each in words(language)["units"].values() for word in each)
    if language == "zh":
        return re.compile(rf"(?P<number>{_ZH_NUMBER})(?P<unit>{names})")
    return re.compile(rf"(?P<number>{_NUMBER}) (?P<unit>{names})\b")


@cache
def _unit(language: str, said: str) -> str:
    for unit, names in words(language)["units"].items():
        if any(re.fullmatch(re.sub(r"\(\?!.*\)", "", name), said) for name in names):
            return str(unit)
    return said
