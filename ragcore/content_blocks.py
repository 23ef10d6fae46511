"""The content blocks of a message: text, images, sound and documents, each from bytes, a file or a URL.

>>> from ragcore.schema import ChatMessage
>>> message = ChatMessage(
...     role="user", blocks=[TextBlock(text="What is this?"), ImageBlock(url="https://example.org/a.png")]
... )
>>> message.content
'What is this?'
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any, ClassVar, TypeAlias
from urllib.parse import unquote_to_bytes


@dataclass(frozen=True, slots=True)
class TextBlock:
    """A stretch of text.

    >>> TextBlock(text="Hello").text
    'Hello'
    """

    text: str = ""
    block_type: ClassVar[str] = "text"


@dataclass(frozen=True, slots=True)
class _Media:
    path: str | Path | None = None
    url: Any = None  # a text, or pydantic's AnyUrl
    block_type: ClassVar[str]
    usual_type: ClassVar[str]

    @property
    def raw_data(self) -> bytes | None:
        """The bytes that the constructor received, possibly in base64."""
        data = self.data if isinstance(self, DocumentBlock) else getattr(self, self.block_type)
        return data.getvalue() if isinstance(data, BytesIO) else data

    @property
    def mimetype(self) -> str:
        """The declared type; else the type of the file's name; else the usual type of such blocks."""
        import mimetypes

        declared = getattr(self, f"{self.block_type}_mimetype", None)
        return declared or mimetypes.guess_type(str(self.path or self.url or ""))[0] or self.usual_type

    def resolve(self, as_base64: bool = False) -> BytesIO:
        """The bytes, or their base64. ValueError without data, path and URL."""
        url = str(self.url or "")
        if self.raw_data:
            data = _decode_base64(self.raw_data)
        elif self.path is not None:
            data = Path(self.path).read_bytes()
        elif url.startswith("data:"):
            head, comma, body = url.partition(",")
            if not comma:
                raise ValueError("Invalid data URL format: missing comma separator")
            data = base64.b64decode(body) if head.endswith(";base64") else unquote_to_bytes(body)
        elif url:
            import httpx

            data = httpx.get(url, follow_redirects=True, timeout=60).raise_for_status().content
        else:
            raise ValueError(f"a {type(self).__name__} needs its data, a path or a url")
        return BytesIO(base64.b64encode(data) if as_base64 else data)

    @property
    def data_url(self) -> str:
        """The URL; without one, a data URL with the content."""
        return (
            str(self.url)
            if self.url
            else f"data:{self.mimetype};base64,{self.resolve(True).getvalue().decode()}"
        )


@dataclass(frozen=True, slots=True)
class ImageBlock(_Media):
    """An image, for models that accept images. `image` has its bytes, raw or in base64.

    >>> ImageBlock(image=b"abc").resolve_image().read()
    b'abc'
    """

    image: bytes | BytesIO | None = None
    image_mimetype: str | None = None
    detail: str | None = None
    block_type: ClassVar[str] = "image"
    usual_type: ClassVar[str] = "image/png"

    resolve_image = _Media.resolve


@dataclass(frozen=True, slots=True)
class AudioBlock(_Media):
    """Sound, for models that accept sound.

    >>> AudioBlock(audio=b"abc", format="mp3").resolve_audio().read()
    b'abc'
    """

    audio: bytes | BytesIO | None = None
    format: str | None = None
    block_type: ClassVar[str] = "audio"
    usual_type: ClassVar[str] = "audio/wav"

    resolve_audio = _Media.resolve


@dataclass(frozen=True, slots=True)
class DocumentBlock(_Media):
    """A file, for models that read files themselves.

    >>> DocumentBlock(data=b"%PDF", title="invoice.pdf").resolve_document().read()
    b'%PDF'
    """

    data: bytes | BytesIO | None = None
    title: str | None = None
    document_mimetype: str | None = None
    block_type: ClassVar[str] = "document"
    usual_type: ClassVar[str] = "application/pdf"

    resolve_document = _Media.resolve


@dataclass(frozen=True, slots=True)
class VideoBlock(_Media):
    """A video, for models that accept videos.

    >>> VideoBlock(video=b"abc").resolve_video().read()
    b'abc'
    """

    video: bytes | BytesIO | None = None
    video_mimetype: str | None = None
    detail: str | None = None
    fps: int | None = None
    block_type: ClassVar[str] = "video"
    usual_type: ClassVar[str] = "video/mp4"

    resolve_video = _Media.resolve


@dataclass(frozen=True, slots=True)
class ToolCallBlock:
    """A model's call of a tool. The arguments are an object, or JSON as the model wrote it.

    >>> ToolCallBlock(tool_name="add", tool_kwargs={"a": 1}).block_type
    'tool_call'
    """

    tool_name: str
    tool_kwargs: dict[str, Any] | str = field(default_factory=dict)
    tool_call_id: str | None = None
    block_type: ClassVar[str] = "tool_call"


@dataclass(frozen=True, slots=True)
class ThinkingBlock:
    """The thoughts that a model wrote before its answer. They are not sent to a model again.

    >>> ThinkingBlock(content="The sky is clear.").block_type
    'thinking'
    """

    content: str | None = None
    num_tokens: int | None = None
    additional_information: dict[str, Any] = field(default_factory=dict)
    block_type: ClassVar[str] = "thinking"


@dataclass(frozen=True, slots=True)
class CacheControl:
    """How long a server may reuse what stands before a CachePoint: `ttl` is a time such as "5m"."""

    type: str
    ttl: str = "5m"


@dataclass(frozen=True, slots=True)
class CachePoint:
    """The end of the part of a prompt that stays the same. It is not sent: ragcore's servers find that part
    themselves.

    >>> from ragcore.schema import ChatMessage
    >>> ChatMessage("system", [TextBlock("Be brief."), CachePoint(CacheControl("ephemeral"))]).content
    'Be brief.'
    """

    cache_control: CacheControl
    block_type: ClassVar[str] = "cache"


Block: TypeAlias = (
    TextBlock
    | ImageBlock
    | AudioBlock
    | DocumentBlock
    | VideoBlock
    | ToolCallBlock
    | ThinkingBlock
    | CachePoint
)
ContentBlock = Block


def load_image_urls(image_urls: Sequence[str]) -> list[ImageBlock]:
    """An image for each URL, which is loaded by the server of the model.

    >>> load_image_urls(["https://example.org/boat.png"])[0].url
    'https://example.org/boat.png'
    """
    return [ImageBlock(url=url) for url in image_urls]


def text_of(blocks: Iterable[Block]) -> str:
    """The texts, joined by newlines."""
    return "\n".join(block.text for block in blocks if isinstance(block, TextBlock))


def has_media(blocks: Iterable[Block]) -> bool:
    return any(isinstance(block, _Media) for block in blocks)


def in_openai_format(blocks: Iterable[Block]) -> list[dict[str, Any]]:
    """The parts of a message in OpenAI's format."""
    return [_part(block) for block in blocks if isinstance(block, TextBlock | _Media)]


def _part(block: TextBlock | _Media) -> dict[str, Any]:
    if isinstance(block, TextBlock):
        return {"type": "text", "text": block.text}
    if isinstance(block, ImageBlock):
        detail = {"detail": block.detail} if block.detail else {}
        return {"type": "image_url", "image_url": {"url": block.data_url, **detail}}
    if isinstance(block, AudioBlock):
        sound = block.resolve_audio(as_base64=True).getvalue().decode()
        return {
            "type": "input_audio",
            "input_audio": {"data": sound, "format": block.format or block.mimetype.split("/")[1]},
        }
    name = getattr(block, "title", None) or Path(block.path or "document").name
    return {"type": "file", "file": {"filename": name, "file_data": block.data_url}}


def _decode_base64(data: bytes) -> bytes:
    """Decodes base64. Other bytes are returned unchanged."""
    try:
        return base64.b64decode(data, validate=True) if len(data) > 8 else data
    except binascii.Error:
        return data
