"""The words of `bench`: measure with the real pipeline."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from assistant import config
from assistant.options import Options


@click.group()
def bench() -> None:
    """Measure with the real pipeline."""


@bench.command("asr")
@click.argument("folder", type=click.Path(path_type=Path), metavar="DIR")
@click.option("--model", help="A Whisper under models/; default: the one in config.toml.")
@click.option(
    "--language",
    type=click.Choice(["given", "auto"]),
    default="given",
    show_default=True,
    help="Tell both the language of each file, or let both detect it.",
)
@click.pass_obj
def bench_asr(options: Options, folder: Path, model: str | None, language: str) -> None:
    """Recognition.

    Word errors and time beside stock Whisper, on the recordings of DIR/manifest.jsonl."""
    from assistant.bench.asr import run

    settings = options.config
    if model is not None:
        settings = config.override(settings, [f"asr.model={model}"])
    run(folder, settings, options.emit, given=language == "given", as_json=options.json)


@bench.command("latency")
@click.argument("corpus", required=False, type=click.Path(path_type=Path), metavar="[CORPUS]")
@click.option(
    "--against",
    multiple=True,
    metavar="NAME",
    help="Beside it on the same weights: streaming, plain, or package.module:Class.",
)
@click.option("--folders", default="", metavar="A,B", help="Only these sub-folders of CORPUS.")
@click.option("--limit", type=click.IntRange(1), help="So many recordings, of all sub-folders.")
@click.option(
    "--longest",
    default=20.0,
    show_default=True,
    type=click.FloatRange(1),
    help="Leave out recordings of more seconds.",
)
@click.option("--conversation", is_flag=True, help="One conversation, not one each.")
@click.option("--fast", is_flag=True, help="Do not wait where nothing is computed.")
@click.option(
    "--load",
    default=0,
    show_default=True,
    type=click.IntRange(0, 256),
    help="Keep so many cores busy meanwhile.",
)
@click.option("--profile", type=click.Choice(["pi"]), help="The small weights on 4 cores.")
@click.option(
    "--record",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Keep the recordings there, one of each system.",
)
@click.option("-o", "output", type=click.Path(path_type=Path), metavar="FILE.json")
@click.option("--html", type=click.Path(path_type=Path), metavar="FILE.html", help="A report.")
@click.option(
    "--compare",
    nargs=2,
    type=click.Path(path_type=Path),
    metavar="A.json B.json",
    help="Two saved runs side by side; nothing is measured.",
)
@click.pass_obj
def bench_latency(
    options: Options,
    /,
    against: tuple[str, ...],
    folders: str,
    output: Path | None,
    html: Path | None,
    compare: tuple[Path, Path] | None,
    **plan: Any,
) -> None:
    """Waiting time.

    Last word to first sound on the recordings of CORPUS (manifest.jsonl or sound files; without it
    the demo's conversation), from two-channel recordings that it makes."""
    from assistant.bench import latency
    from assistant.bench.latency_plan import Plan

    if compare is not None:
        latency.compare(*compare, as_json=options.json, html=html)
        return
    names = [name.strip() for one in against for name in one.split(",")]
    asked = Plan(
        folders=tuple(name.strip() for name in folders.split(",") if name.strip()),
        against=tuple(dict.fromkeys(name for name in names if name)),
        **{**plan, "profile": plan["profile"] or ""},
    )
    latency.run(asked, options.config, as_json=options.json, output=output, html=html)


@bench.command("mind")
@click.option("--model", help="A GGUF under models/; default: the one in config.toml.")
@click.pass_obj
def bench_mind(options: Options, model: str | None) -> None:
    """Replies and notes.

    Against what a person would expect, on the real weights."""
    from assistant.bench.mind import report

    report(options.config, model, options.emit, as_json=options.json)


@bench.command("dialogue")
@click.option(
    "--sgd",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Schema-guided dialogues (dialogues.json, schema.json) in place of our own conversations.",
)
@click.option(
    "--multiwoz",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Chinese MultiWOZ dialogues (dialogues.json).",
)
@click.option(
    "--train",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Where train_turns.jsonl.gz lies; with --sgd the gate is trained on it.",
)
@click.option("--no-model", is_flag=True, help="With --sgd: slots by rules only.")
@click.option("--limit", type=click.IntRange(1), help="Only the first dialogues.")
@click.pass_obj
def bench_dialogue(
    options: Options,
    sgd: Path | None,
    multiwoz: Path | None,
    train: Path | None,
    no_model: bool,
    limit: int | None,
) -> int:
    """The dialogue policy.

    Scripted conversations against the expected states; with --sgd or --multiwoz, real ones."""
    settings, emit = options.config, options.emit
    if sgd is not None:
        from assistant.bench import sgd as bench_sgd

        bench_sgd.report(
            sgd, train, settings, emit, model=not no_model, limit=limit, as_json=options.json
        )
        return 0
    if multiwoz is not None:
        from assistant.bench import multiwoz as bench_multiwoz

        bench_multiwoz.report(multiwoz, settings, emit, limit=limit, as_json=options.json)
        return 0
    from assistant.bench.dialogue import report

    return report(settings, emit, as_json=options.json)


@bench.command("hotwords")
@click.argument("folder", required=False, type=click.Path(path_type=Path), metavar="[DIR]")
@click.pass_obj
def bench_hotwords(options: Options, folder: Path | None) -> None:
    """Names and codes.

    What it helps to tell the recognition which words are expected."""
    from assistant.bench.asr_words import report

    report(options.config, options.emit, folder=folder, as_json=options.json)


@bench.command("recall")
@click.argument("folder", required=False, type=click.Path(path_type=Path), metavar="[DIR]")
@click.option(
    "--memories",
    default=100_000,
    show_default=True,
    type=click.IntRange(0, 1_000_000),
    help="Made-up memories with which the answer path is timed; 0 leaves it out.",
)
@click.pass_obj
def bench_recall(options: Options, folder: Path | None, memories: int) -> None:
    """Retrieval.

    Is the turn that answers a question found? Against plain full-text search, on the long
    conversations of DIR and on our own Chinese ones. Then what memory adds to an answer."""
    from assistant.bench.recall import report

    report(folder, options.config, options.emit, memories=memories, as_json=options.json)


@bench.command("extraction")
@click.option("--model", help="A GGUF under models/; default: the one in config.toml.")
@click.option("--no-model", is_flag=True, help="By rules only.")
@click.option(
    "--half",
    type=click.Choice(["tune", "held"]),
    help="Only the conversations that were there to learn from, or only the proof.",
)
@click.pass_obj
def bench_extraction(options: Options, model: str | None, no_model: bool, half: str | None) -> None:
    """What is remembered.

    Conversations through the real path into a real database, against the facts a careful person
    would have kept."""
    from assistant.bench.extraction import RULES_ONLY, report

    if no_model and model is not None:
        raise click.UsageError("Choose one of --model and --no-model.")
    chosen = RULES_ONLY if no_model else model
    report(options.config, chosen, options.emit, half=half, as_json=options.json)


@bench.command("session")
@click.option("--turns", default=300, show_default=True, type=click.IntRange(30, 5000))
@click.pass_obj
def bench_session(options: Options, turns: int) -> int:
    """A long conversation.

    Prompt, latency and memory of its last turns against its first; growth of the database."""
    from assistant.bench.session import report

    return report(options.config, turns, options.emit, as_json=options.json)


@bench.command("endpoint")
@click.argument("folder", type=click.Path(path_type=Path), metavar="DIR")
@click.pass_obj
def bench_endpoint(options: Options, folder: Path) -> None:
    """The end of a turn.

    Turns that were cut and silence that was waited, beside a fixed closing silence, on the
    recordings of DIR/manifest.jsonl."""
    from assistant.bench.endpoint import run

    run(folder, options.config, options.emit, as_json=options.json)


@bench.command("echo")
@click.argument("folder", required=False, type=click.Path(path_type=Path), metavar="[DIR]")
@click.option("--minutes", default=30, show_default=True, type=click.IntRange(1, 600))
@click.option("--people", type=click.IntRange(1), help="So many recordings of DIR at each level.")
@click.pass_obj
def bench_echo(options: Options, folder: Path | None, minutes: int, people: int | None) -> int:
    """Interruptions on open speakers.

    Our own voice as echo in rooms made by the bench, alone and with the recordings of
    DIR/manifest.jsonl speaking over it: does it stop for a person, and never for itself?"""
    from assistant.bench.echo import report

    return report(
        options.config, folder, options.emit, minutes=minutes, people_each=people,
        as_json=options.json,
    )  # fmt: skip
