"""What `run.py memory …` does: let a person see, change, keep and delete what is remembered.

Reading works beside a running assistant; what writes claims the data folder first.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import Any

import click
from sqlite_utils import Database

from assistant.console import loading
from assistant.errors import InputError, StorageError
from assistant.home import data_folder, open_banks
from assistant.memory import backups, forget, overview, retention, transfer
from assistant.memory.access import Direct, claimed, existing, in_one, key_place, reading, writing
from assistant.memory.banks import bank_id
from assistant.memory.facts import edit as edit_fact
from assistant.mind.memories import Memory
from assistant.options import Options
from assistant.redact import redact

_ID = re.compile(r"[\w-]{4,}")


def show(options: Options, bank: str | None, *, every: bool) -> None:
    """What is known, by subject; with `every` also what is no longer believed."""
    with _reading(options, bank) as db:
        memories, summary = overview.known(every)(db), overview.last_summary(db)
    short = overview.shortened([one.id for one in memories])
    for subject, group in groupby(memories, lambda one: one.subject):
        _say(options, "You" if subject == "user" else subject.capitalize())
        for one in group:
            options.emit({"event": "fact", **asdict(one)}, _line(one, short[one.id]))
    if summary is not None:
        title = f"The last conversation ({_day(summary['at'])}, {summary['session']})"
        options.emit({"event": "summary", **summary}, f"{title}\n  {summary['text']}")
    if not memories and summary is None:
        _say(options, "Nothing is remembered yet.")


def search(options: Options, bank: str | None, text: str, most: int) -> None:
    """The texts that may answer a question, best first. Raises InputError."""
    if not text.strip():
        raise InputError("There is nothing to search for; give some words.")
    with _reading(options, bank) as db:
        hits: list[Any] = []
        if overview.searchable(db):
            from assistant.memory.embed import Engines
            from assistant.memory.search import Index
            from assistant.weights import find

            with loading(quiet=options.json) as step:
                step("what is needed to search by meaning")
                hits = Index(db, Engines(find)).search(text, most, now=time.time())
        found = overview.texts(db, [hit.id for hit in hits])
    for hit in hits:
        one = found[hit.id]
        record = {"event": "hit", **asdict(one), "score": hit.score, "why": asdict(hit.why)}
        options.emit(record, f"{one.kind:<7}  {one.text}  ({_day(one.at)})")
    if not hits:
        _say(options, "Nothing fits.")


def stats(options: Options, bank: str | None) -> None:
    """Counts, sizes and days of one bank or of all."""
    banks = open_banks(options.config)
    ids = [existing(banks, bank)] if bank is not None else banks.names()
    records = []
    for one in ids:
        with _reading(options, one) as db:
            counts = asdict(overview.stats(db))
        sides = (banks.path(one).with_name(f"{one}.db{side}") for side in ("", "-wal"))
        size = sum(path.stat().st_size for path in sides if path.is_file())
        file = str(banks.path(one))
        records.append({"event": "bank", "bank": one, **counts, "bytes": size, "file": file})
    for record in records:
        options.emit({**record, "key": key_place(banks)})
    if not options.json:
        _show_stats(records)
        click.echo(f"The key is kept in {key_place(banks)}.")


def edit(options: Options, bank: str | None, prefix: str, text: str) -> None:
    """Other words for a fact. Raises InputError."""
    clean = redact(" ".join(text.split()))
    if not clean.text:
        raise InputError("A fact cannot be empty; to delete it: run.py memory forget ID.")
    if clean.kinds:
        kinds = ", ".join(clean.kinds)
        raise InputError(f"Secrets are not kept ({kinds}); say it without them.")
    with _writing(options, bank) as db:
        (old,) = forget.chosen([prefix])(db)
        in_one(db, edit_fact(old.id, clean.text, time.time()))
    record = {"event": "edited", "id": old.id, "before": old.text, "text": clean.text}
    options.emit(record, f"Was: {old.text}\nNow: {clean.text}")


def forget_facts(
    options: Options, bank: str | None, words: Sequence[str], session: str | None, *, yes: bool
) -> None:
    """Delete facts by id or by words, or a conversation. Raises InputError."""
    if bool(words) == bool(session):
        raise InputError("Say what to forget: ids or words, --session ID, or --all.")
    with _writing(options, bank) as db:
        if session:
            key = _session(db, session)
            asked, work = f"the conversation {key}", forget.forget_session(key, time.time())
        else:
            chosen = _chosen(db, words)
            short = overview.shortened([one.id for one in chosen])
            for one in chosen:
                _say(options, _line(one, short[one.id]))
            asked = f"{len(chosen)} {'fact' if len(chosen) == 1 else 'facts'}"
            work = forget.forget([one.id for one in chosen], time.time())
        if not _sure(f"Forget {asked} for good?", yes=yes):
            return
        gone = in_one(db, work)
        retention.checkpoint(db)
    text = f"Forgotten: {asked}. Turns that no longer hold the words: {len(gone.turns)}."
    options.emit({"event": "forgotten", **asdict(gone)}, text)
    _warn_of_log(options)


def forget_everything(options: Options, bank: str | None, *, yes: bool) -> None:
    """ "Forget me": delete the bank's file. Raises InputError, StorageError."""
    banks = open_banks(options.config)
    with claimed(banks, options.config.memory.bank):
        key = existing(banks, _name(options, bank))
        if not _sure(f"Delete everything that is remembered of {key}, for good?", yes=yes):
            return
        banks.delete(key)
    text = f"Nothing is remembered of {key} any more: {banks.path(key)} is deleted."
    options.emit({"event": "forgotten", "bank": key, "file": str(banks.path(key))}, text)
    _warn_of_log(options)


def export(options: Options, bank: str | None, path: Path | None, *, force: bool) -> None:
    """A backup as lines of JSON, to a file or to the standard output."""
    with _reading(options, bank) as db:
        key, now = bank_id(_name(options, bank)), time.time()
        path = path or Path(f"{key}-{_day(now)}.jsonl")
        count = backups.write(path, transfer.export(db, key, now), force=force)
    if path != backups.STANDARD:
        text = f"{count} rows written to {path}. It is not encrypted: whoever has it can read it."
        options.emit({"event": "exported", "file": str(path), "rows": count}, text)


def load(options: Options, bank: str | None, path: Path) -> None:
    """Put a backup into a bank, which is made when it is not there."""
    with loading(quiet=options.json) as step:
        step(str(path))
        entries = transfer.check(backups.read(path), str(path))
    with _writing(options, bank, new=True) as db, loading(quiet=options.json):
        key = bank_id(_name(options, bank))
        counts = in_one(db, transfer.load(entries, key))
    added = ", ".join(f"{number} {table}" for table, number in counts.added.items() if number)
    text = f"Into {key}: {added or 'nothing new'}; {sum(counts.known.values())} were there already."
    options.emit({"event": "imported", "bank": key, **asdict(counts)}, text)


def purge(
    options: Options, bank: str | None, turns_days: float | None, ended_days: float | None
) -> None:
    """Delete what has expired."""
    config = options.config.memory
    turns = config.turns_days if turns_days is None else turns_days
    ended = config.ended_days if ended_days is None else ended_days
    with _writing(options, bank) as db:
        gone = in_one(db, retention.purge(time.time(), turns, ended))
        retention.checkpoint(db)
    told = ", ".join(f"{number} {table}" for table, number in asdict(gone).items() if number)
    options.emit({"event": "purged", **asdict(gone)}, f"Deleted: {told or 'nothing has expired'}.")


def consolidate(options: Options, bank: str | None) -> None:
    """Tidy up now. Stopped half-way, it goes on from there the next time."""
    from assistant.memory.consolidate import consolidate as tidy
    from assistant.memory.embed import Engines
    from assistant.weights import find

    with _writing(options, bank) as db, loading(quiet=options.json) as step:
        report = tidy(Direct(db), Engines(find), time.time(), progress=step)
        retention.checkpoint(db)
    if report.refused:
        raise StorageError(report.refused)
    text = (
        f"{report.seen} facts: {report.merged} merged, {report.superseded} ended by newer ones, "
        f"{report.faded} faded, {report.insights} concluded."
    )
    options.emit({"event": "consolidated", **asdict(report)}, text)


# The folder and its banks


def _name(options: Options, bank: str | None) -> str:
    """Whose memory is meant. Raises InputError."""
    name = options.config.memory.bank if bank is None else bank
    if not name.strip():
        raise InputError("A guest is remembered only while talking; say whose memory: --bank NAME.")
    return name


def _reading(options: Options, bank: str | None) -> AbstractContextManager[Database]:
    return reading(open_banks(options.config), _name(options, bank))


def _writing(
    options: Options, bank: str | None, *, new: bool = False
) -> AbstractContextManager[Database]:
    default = options.config.memory.bank
    return writing(open_banks(options.config), _name(options, bank), default, new=new)


# What a person chooses and sees


def _chosen(db: Database, words: Sequence[str]) -> list[Memory]:
    """Facts by ids, else by what is said of them. Raises InputError."""
    text = " ".join(" ".join(words).split())
    if not text:
        raise InputError("There is nothing to look for; give ids or words.")
    fault: InputError | None = None
    if all(_ID.fullmatch(word) for word in words):
        try:
            return forget.chosen(words)(db)
        except InputError as error:
            fault = error
    if found := forget.matching(text)(db):
        return found
    close = forget.near(text)(db)
    if fault is not None and not close:
        raise fault
    few = "; ".join(f"{one.id[:8]} {one.text}" for one in close)
    nearest = f" Nearest: {few}" if few else " memory show lists what there is."
    raise InputError(f"Nothing that is remembered holds {text!r}.{nearest}")


def _session(db: Database, prefix: str) -> str:
    found = overview.session_ids(prefix)(db)
    if prefix in found:
        return prefix
    if len(found) != 1:
        several = f"{len(found)} conversations begin" if found else "No conversation begins"
        raise InputError(f"{several} with {prefix!r}; memory show names the last one.")
    return found[0]


def _sure(question: str, *, yes: bool) -> bool:
    """Ask on a terminal; without one only --yes will do. Raises InputError."""
    if yes:
        return True
    if not sys.stdin.isatty():
        raise InputError(f"{question} Nobody is there to answer; add --yes to do it unasked.")
    if click.confirm(question, err=True):
        return True
    click.echo("Nothing was forgotten.", err=True)
    return False


def _warn_of_log(options: Options) -> None:
    if options.config.log.content:
        log = data_folder(options.config) / "assistant.log"
        click.echo(
            f"log.content is on: what was said also stands in {log}; delete that file yourself.",
            err=True,
        )


def _say(options: Options, text: str) -> None:
    if not options.json:
        click.echo(text)


def _line(one: Memory, short: str) -> str:
    """A fact as a person reads it."""
    notes = [f"said {_day(one.said or one.learned)}"]
    if one.origin != "said":
        notes.append(one.origin)
    if one.pinned:
        notes.append("pinned")
    if one.ended is not None:
        notes.append(f"ended {_day(one.ended)}" + (f", {one.why_ended}" if one.why_ended else ""))
    elif one.day:
        notes.append(f"until {one.day}")
    return f"  {short}  {one.text}  ({'; '.join(notes)})"


def _day(at: float) -> str:
    return datetime.fromtimestamp(at).date().isoformat() if at else "?"


def _show_stats(records: Sequence[dict[str, Any]]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Column, Table

    heads = ("bank", "known", "ended", "turns", "talks", "to note", "kB", "first", "last")
    table = Table(
        *(Column(head, no_wrap=True) for head in heads), box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0)
    )
    for one in records:
        counts = (one[name] for name in ("facts", "ended", "turns", "sessions", "queued"))
        days = (_day(one["first"] or 0), _day(one["last"] or 0))
        table.add_row(one["bank"], *map(str, counts), f"{one['bytes'] / 1000:.0f}", *days)
    screen = Console()
    screen = screen if screen.is_terminal else Console(width=200)
    screen.print(table if records else "Nobody is remembered yet.")
