"""Did these words try to answer what was asked? For the model, where the gate is unsure (D2)."""

from __future__ import annotations

from assistant.mind.texts import prompts
from assistant.stages import Message

TOKENS = 3
"""of an answer that is one word"""


def judge_messages(question: str, words: str) -> list[Message]:
    """The prompt: rules, worked examples, then the question and the words."""
    texts = prompts("en")["judge"]
    messages = [{"role": "system", "content": texts["rules"]}]
    for asked, said, verdict in texts["examples"]:
        turn = texts["turn"].format(question=asked, words=said)
        messages.append({"role": "user", "content": turn})
        messages.append({"role": "assistant", "content": verdict})
    last = texts["turn"].format(question=question, words=words)
    return [*messages, {"role": "user", "content": last}]


def answers(raw: str) -> bool:
    """The verdict; whatever is not the one word means: something else."""
    return raw.strip().lower().startswith(prompts("en")["judge"]["answer"])
