"""Messages → tokens with the chat template that a model file carries, whatever roles it accepts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from assistant.errors import ModelError
from assistant.stages import Message


class Vocabulary(Protocol):
    """What a template has to know about a model file."""

    @property
    def adds_bos(self) -> bool:
        """True when a prompt begins with a token that the template may leave out."""

    def tokenize(self, text: str, *, special: bool, bos: bool = False) -> list[int]: ...

    def piece(self, token: int, *, special: bool = False) -> bytes: ...

    def is_control(self, token: int) -> bool: ...

    def special_token(self, name: str) -> str:
        """The text of "bos" or "eos", "" when there is none."""

    def metadata(self, key: str) -> str: ...


CHATML = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
"""For files that carry no template (the ChatML convention)."""


Way = Callable[[Sequence[Message]], list[Message]]
"""Puts messages into a form that a template accepts."""


class ChatTemplate:
    """Messages → tokens with the file's own template, whatever roles it accepts."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        from llama_cpp.llama_chat_format import Jinja2ChatFormatter

        self._vocabulary = vocabulary
        self._bos = vocabulary.special_token("bos")
        source = vocabulary.metadata("tokenizer.chat_template") or CHATML
        try:
            formatter = Jinja2ChatFormatter(source, vocabulary.special_token("eos"), self._bos)
        except Exception as error:
            raise ModelError(
                f"The model file's chat template cannot be read ({error}); use another GGUF."
            ) from None
        self._formatter: Any = formatter
        way = next((way for way in (as_it_is, one_system, no_system) if self._accepts(way)), None)
        if way is None:
            raise ModelError("The model file's chat template refuses a chat; use another GGUF.")
        self._way: Way = way

    def _render(self, messages: list[Message]) -> str:
        return str(self._formatter(messages=messages, enable_thinking=False).prompt)

    def _accepts(self, way: Way) -> bool:
        """True when every word of a typical prompt survives rendering."""
        roles = ("system", "user", "assistant", "system", "user")
        probe = [{"role": role, "content": f"probe{i}"} for i, role in enumerate(roles)]
        try:
            text = self._render(way(probe))
        except Exception:  # templates refuse roles with errors of any kind
            return False
        return all(text.count(f"probe{i}") == 1 for i in range(len(roles)))

    def tokens(self, messages: Sequence[Message]) -> list[int]:
        """The prompt up to where the answer begins. Raises ModelError."""
        clean = [{**message, "content": self._plain(message["content"])} for message in messages]
        try:
            text = self._render(self._way(clean))
        except Exception as error:
            raise ModelError(
                f"The model file's chat template fails ({error}); use another GGUF."
            ) from None
        bos = self._vocabulary.adds_bos and not (self._bos and text.startswith(self._bos))
        return self._vocabulary.tokenize(text, special=True, bos=bos)

    def stable(self, messages: Sequence[Message]) -> list[int]:
        """The prompt's tokens that do not depend on the last message's words."""
        return self._shared(messages, "a b", "好 7")

    def begun(self, messages: Sequence[Message]) -> list[int]:
        """The prompt's tokens up to the last message's words, of which more are to come."""
        words = messages[-1]["content"]
        return self._shared(messages, words, f"{words} a b")

    def _shared(self, messages: Sequence[Message], *words: str) -> list[int]:
        """What the prompts with one or the other words as the last message begin with."""
        *before, last = messages
        one, other = (self.tokens([*before, {**last, "content": text}]) for text in words)
        return one[: common_prefix(one, other)]

    def _plain(self, text: str) -> str:
        """Words that would read as control tokens are taken out: nobody types a role change."""
        if "<" not in text and "[" not in text:
            return text
        for token in self._vocabulary.tokenize(text, special=True):
            if self._vocabulary.is_control(token):
                text = text.replace(self._vocabulary.piece(token, special=True).decode(), " ")
        return text


def as_it_is(messages: Sequence[Message]) -> list[Message]:
    """For templates that take every role anywhere."""
    return list(messages)


def one_system(messages: Sequence[Message]) -> list[Message]:
    """The first system messages as one; later ones move into the user message after them."""
    count = next((i for i, m in enumerate(messages) if m["role"] != "system"), len(messages))
    head = "\n\n".join(message["content"] for message in messages[:count])
    rest = no_system(messages[count:])
    return [{"role": "system", "content": head}, *rest] if head else rest


def no_system(messages: Sequence[Message]) -> list[Message]:
    """System text is put before the words of the next user message."""
    result: list[Message] = []
    waiting: list[str] = []
    for message in messages:
        if message["role"] == "system":
            waiting.append(message["content"])
        elif message["role"] == "user" and waiting:
            result.append({"role": "user", "content": "\n\n".join([*waiting, message["content"]])})
            waiting = []
        else:
            result.append(dict(message))
    return result


def common_prefix(one: Sequence[int], other: Sequence[int]) -> int:
    """How many tokens two prompts share from the start."""
    count = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        count += 1
    return count
