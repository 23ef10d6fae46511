"""The errors that ragcore and Lectern share: what happened, and what to do about it.

RagError
├── InputError                    what a person gave cannot be used as it is
│   ├── QuestionError                 an empty question, or one that is far too long
│   ├── StillReadingError             the documents that a question is put to are still being read
│   ├── AlreadyThereError             what is in the library already, which nobody need do anything about
│   └── UnreadableFileError           a file that yields no text
│       ├── EmptyFileError
│       ├── EncryptedFileError            needs a password, or the one given is wrong
│       ├── UnsupportedFileError          no reader for this kind of file
│       ├── DamagedFileError              not what its name says, or broken
│       ├── NoTextError                   opened, but there is nothing to read (a scan, pictures only)
│       ├── TooLargeError                 over a limit of size, memory or time
│       └── UnsafeArchiveError            a zip that would write outside its folder, or explode
├── ConfigError                   a setting that cannot work
├── MissingPackageError           an optional package is not installed
├── StoreError                    the index on disk or on a server
│   ├── DimensionError
│   ├── UnknownDocumentError
│   └── DamagedStoreError
├── EmbeddingError                text could not be turned into vectors
└── LLMError                      the language model did not answer
    ├── LLMUnavailableError           nobody listens at the address
    ├── LLMTimeoutError
    ├── LLMAuthError                  wrong or missing key
    ├── UnknownModelError             the server is there, the model is not
    ├── RateLimitError
    ├── LLMServerError                the server answered with its own failure
    ├── LLMProtocolError              the answer is not what such a server says; or it broke off
    └── ContextWindowError            the prompt does not fit the model

A bug in our own code is none of these and is let through.
"""

from __future__ import annotations

from dataclasses import dataclass


class RagError(Exception):
    """What happened (`str(error)`), what to do (`hint`), and whether the same call may succeed later (`retryable`)."""

    retryable = False

    def __init__(self, what: str, *, hint: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint

    def __reduce__(self) -> tuple[object, ...]:
        # Errors cross process boundaries; subclasses with their own arguments could not be rebuilt from `args` alone.
        return (_rebuild, (type(self), self.what, self.hint, self.__dict__))


def _rebuild(kind: type[RagError], what: str, hint: str, state: dict[str, object]) -> RagError:
    error = kind.__new__(kind)
    RagError.__init__(error, what, hint=hint)
    error.__dict__.update(state)
    return error


@dataclass(frozen=True, slots=True)
class Problem:
    """An error as data: what is kept of the failure of a file or an answer, and shown again after a restart."""

    what: str
    hint: str = ""
    retryable: bool = False
    needs_password: bool = False
    needs_reading: bool = False  # nothing to do but to wait until documents are read
    nothing_new: bool = False  # nothing to do at all: it is in the library already, or was passed over
    details: str = ""  # for whoever looks into it; unfolded on demand

    @classmethod
    def of(cls, error: RagError) -> Problem:
        cause = error.__cause__
        return cls(
            what=error.what,
            hint=error.hint,
            retryable=error.retryable,
            needs_password=isinstance(error, EncryptedFileError),
            needs_reading=isinstance(error, StillReadingError),
            nothing_new=isinstance(error, (AlreadyThereError, PassedOverError)),
            details=f"{type(cause).__name__}: {cause}" if cause else type(error).__name__,
        )


class InputError(RagError):
    pass


class QuestionError(InputError):
    pass


class StillReadingError(InputError):
    retryable = True

    def __init__(self, documents: int) -> None:
        what = f"Nothing can be answered yet: {documents:,} documents are still being read."
        if documents == 1:
            what = "Nothing can be answered yet: 1 document is still being read."
        super().__init__(
            what,
            hint="Try again as soon as the first one is ready. The Documents page shows the progress.",
        )


class AlreadyThereError(InputError):
    pass


class PassedOverError(InputError):
    """Which files of a folder or an archive were not taken in, as nobody reads them there; nothing has failed."""


class UnreadableFileError(InputError):
    """`what` names the file as the person knows it."""


class EmptyFileError(UnreadableFileError):
    pass


class EncryptedFileError(UnreadableFileError):
    pass


class UnsupportedFileError(UnreadableFileError):
    pass


class DamagedFileError(UnreadableFileError):
    pass


class NoTextError(UnreadableFileError):
    pass


class TooLargeError(UnreadableFileError):
    pass


class UnsafeArchiveError(UnreadableFileError):
    pass


class ConfigError(RagError):
    pass


class MissingPackageError(RagError):
    """`extra`: of this distribution, which brings the package; None where it is one of its own dependencies."""

    def __init__(self, package: str, *, extra: str | None = None) -> None:
        wanted = f'"lectern[{extra}]"' if extra else package
        super().__init__(f"The package {package} is not installed.", hint=f"Install it with: pip install {wanted}")


class StoreError(RagError):
    pass


class DimensionError(StoreError):
    def __init__(self, got: int, expected: int) -> None:
        super().__init__(
            f"This index holds vectors of {expected} numbers, but was given {got}.",
            hint="The embedding model changed after the index was built. Rebuild the index, or change the model back.",
        )


class UnknownDocumentError(StoreError):
    def __init__(self, document_id: str) -> None:
        super().__init__(
            f"There is no document with the id {document_id!r} in this index.",
            hint="It may have been deleted already. List the documents to see their ids.",
        )
        self.document_id = document_id


class DamagedStoreError(StoreError):
    pass


class EmbeddingError(RagError):
    pass


class LLMError(RagError):
    pass


class LLMUnavailableError(LLMError):
    retryable = True


class LLMTimeoutError(LLMError):
    retryable = True


class LLMAuthError(LLMError):
    pass


class UnknownModelError(LLMError):
    """`available`: the names of the models the server does have, possibly none."""

    def __init__(self, what: str, *, hint: str = "", available: tuple[str, ...] = ()) -> None:
        super().__init__(what, hint=hint)
        self.available = available


class RateLimitError(LLMError):
    retryable = True


class LLMServerError(LLMError):
    retryable = True


class LLMProtocolError(LLMError):
    retryable = True


class ContextWindowError(LLMError):
    pass
