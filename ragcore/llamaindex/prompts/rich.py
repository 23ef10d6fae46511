"""Templates with loops and conditions, in the language of Jinja, for one message or several."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ragcore.llamaindex.content_blocks import ImageBlock
from ragcore.prompts.prompt import Origin, Part, RenderedMessage, Variables, as_text, with_history
from ragcore.prompts.templates import Model, PromptTemplate
from ragcore.schema import ChatMessage, MessageRole
from ragcore.schema.content_blocks import Block, TextBlock

if TYPE_CHECKING:
    from jinja2.sandbox import SandboxedEnvironment

_CHAT = re.compile(
    r"\{%-?\s*chat\s+role\s*=\s*[\"'](\w+)[\"']\s*-?%\}(.*?)\{%-?\s*endchat\s*-?%\}", re.DOTALL
)
# an image in a rendered text; no text contains these characters
_IMAGE = re.compile("\x02(.*?)\x03", re.DOTALL)


@dataclass(frozen=True, init=False)
class RichPromptTemplate(PromptTemplate):
    """One message of the user, or several as `{% chat role="system" %}...{% endchat %}`. The filter `image`
    makes an image of a path or URL. Braces in a value are text; a template can only use its values.

    >>> prompt = RichPromptTemplate("Answer{% for text in texts %} {{ text }}{% endfor %}: {{ question }}")
    >>> prompt.format(texts=["a", "b"], question="Why?")
    'Answer a b: Why?'
    """

    @property
    def is_chat_template(self) -> bool:
        """Whether it writes messages with their roles."""
        return _CHAT.search(self.get_template()) is not None

    @property
    def template_vars(self) -> list[str]:
        """The names in the template, in order of the alphabet."""
        from jinja2.meta import find_undeclared_variables

        environment = _environment()
        text = re.sub(r"\{%-?\s*(?:chat\b.*?|endchat\s*-?)%\}", "", self.get_template())
        return sorted(find_undeclared_variables(environment.parse(text)))

    def format_messages(self, llm: Model = None, **values: Any) -> list[ChatMessage]:
        """The messages with these values."""
        return [ChatMessage(message.role, blocks=message.blocks) for message in self.render(values)]

    def format(self, llm: Model = None, **values: Any) -> str:
        """The text with these values; of several messages, a line for each with its role."""
        messages = self.render(values)
        if len(messages) == 1:
            return messages[0].content
        return "\n".join(
            [*(f"{message.role.value}: {message.content}" for message in messages), "assistant: "]
        )

    def render(self, variables: Variables, history: Sequence[ChatMessage] = ()) -> list[RenderedMessage]:
        values = {**self.fixed, **variables}
        bare = {name: as_text(value) for name, value in values.items()}
        computed = {name: function(**bare) for name, function in self.function_mappings.items()}
        named = {
            self.template_var_mappings.get(name, name): value
            for name, value in {**values, **computed}.items()
        }
        pieces = _CHAT.findall(self.get_template()) or [(MessageRole.USER.value, self.get_template())]
        environment = _environment()
        rendered = [_message(role, environment.from_string(text).render(named)) for role, text in pieces]
        return with_history([message for message in rendered if message.blocks], history)


def _environment() -> SandboxedEnvironment:
    from jinja2.sandbox import SandboxedEnvironment

    environment = SandboxedEnvironment(autoescape=False, finalize=_finalize)
    environment.filters["image"] = lambda place: f"\x02{place}\x03"
    return environment


def _finalize(value: Any) -> Any:
    return as_text(value) if isinstance(value, tuple) else value


def _message(role: str, text: str) -> RenderedMessage:
    blocks: list[Block] = []
    for number, piece in enumerate(_IMAGE.split(text.strip())):
        if number % 2:
            blocks.append(ImageBlock(url=piece) if re.match(r"\w+:", piece) else ImageBlock(path=piece))
        elif piece.strip():
            blocks.append(TextBlock(piece))
    content = "".join(block.text for block in blocks if isinstance(block, TextBlock))
    return RenderedMessage(MessageRole(role), (Part(Origin.INSTRUCTIONS, content),), blocks=tuple(blocks))
