"""The parts of a message beyond text: images, sound, videos and documents, each from bytes, a file or a URL.

>>> from ragcore.llamaindex.llms import ChatMessage, TextBlock
>>> message = ChatMessage(
...     role="user", blocks=[TextBlock(text="What is this?"), ImageBlock(url="https://example.org/a.png")]
... )
>>> message.content
'What is this?'
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any, ClassVar, TypeAlias
from urllib.parse import unquote_to_bytes

from ragcore.schema.content_blocks import Block, TextBlock, ToolCallBlock


@dataclass(frozen=True, slots=True)
class _Media(Block):
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

    def as_openai(self) -> dict[str, Any]:
        name = getattr(self, "title", None) or Path(self.path or "document").name
        return {"type": "file", "file": {"filename": name, "file_data": self.data_url}}


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

    def as_openai(self) -> dict[str, Any]:
        image = {"url": self.data_url}
        if self.detail:
            image["detail"] = self.detail
        return {"type": "image_url", "image_url": image}

    def as_ollama_image(self) -> str:
        return self.resolve(as_base64=True).getvalue().decode()


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

    def as_openai(self) -> dict[str, Any]:
        sound = self.resolve(as_base64=True).getvalue().decode()
        name = self.format or self.mimetype.split("/")[1]
        return {"type": "input_audio", "input_audio": {"data": sound, "format": name}}


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
class ThinkingBlock(Block):
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
class CachePoint(Block):
    """The end of the part of a prompt that stays the same. It is not sent: ragcore's servers find that part
    themselves.

    >>> from ragcore.schema import ChatMessage
    >>> ChatMessage("system", [TextBlock("Be brief."), CachePoint(CacheControl("ephemeral"))]).content
    'Be brief.'
    """

    cache_control: CacheControl
    block_type: ClassVar[str] = "cache"


ContentBlock: TypeAlias = (
    TextBlock
    | ImageBlock
    | AudioBlock
    | DocumentBlock
    | VideoBlock
    | ToolCallBlock
    | ThinkingBlock
    | CachePoint
)


def load_image_urls(image_urls: Sequence[str]) -> list[ImageBlock]:
    """An image for each URL, which is loaded by the server of the model.

    >>> load_image_urls(["https://example.org/boat.png"])[0].url
    'https://example.org/boat.png'
    """
    return [ImageBlock(url=url) for url in image_urls]


def _decode_base64(data: bytes) -> bytes:
    """Decodes base64. Other bytes are returned unchanged."""
    try:
        return base64.b64decode(data, validate=True) if len(data) > 8 else data
    except binascii.Error:
        return data
