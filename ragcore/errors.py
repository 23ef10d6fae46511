"""The errors of ragcore and Lectern: what happened, and what to do about it.

RagError
├── InputError                    an input that cannot be used
│   ├── QuestionError                 an empty question, or one that is far too long
│   ├── StillReadingError             the documents of a question are still being read
│   ├── AlreadyThereError             in the library already, which needs no action
│   ├── PassedOverError               files of a folder or an archive that no reader reads; needs no action
│   └── UnreadableFileError           a file without text
│       ├── EmptyFileError
│       ├── EncryptedFileError            needs a password, or has another one
│       ├── UnsupportedFileError          no reader for this kind of file
│       ├── DamagedFileError              of another kind than its name, or broken
│       ├── NoTextError                   a scan, or only pictures
│       ├── TooLargeError                 over a limit of size, memory or time
│       └── UnsafeArchiveError            a zip that writes outside its folder, or is a zip bomb
├── ConfigError                   a setting that cannot work
├── MissingPackageError           an optional package is not installed
├── StoreError                    the index on disk or on a server
│   ├── DimensionError
│   ├── UnknownDocumentError
│   └── DamagedStoreError
│       └── DamagedTextError          the text of one document
├── EmbeddingError                text could not be turned into vectors
└── LLMError                      the language model did not answer
    ├── LLMUnavailableError           no server at the address
    ├── LLMTimeoutError
    ├── LLMAuthError                  wrong or missing key
    ├── UnknownModelError             the server does not have the model
    ├── RateLimitError
    ├── LLMServerError                the server reported an error of its own
    ├── LLMProtocolError              an invalid or incomplete answer
    └── ContextWindowError            the prompt is too long for the model

A bug in our own code is none of these, and is not caught.
"""

from __future__ import annotations

from dataclasses import dataclass


class RagError(Exception):
    """What happened (`str(error)`), what to do (`hint`), and whether to try the same again (`retryable`).

    >>> error = ConfigError("The chunk size is 0.", hint="Choose at least 1.")
    >>> str(error), error.hint, error.retryable
    ('The chunk size is 0.', 'Choose at least 1.', False)
    """

    retryable = False

    def __init__(self, what: str, *, hint: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint

    def __reduce__(self) -> tuple[object, ...]:
        # Errors cross process boundaries, and `args` are not the arguments of all subclasses.
        return (_rebuild, (type(self), self.what, self.hint, self.__dict__))


def _rebuild(kind: type[RagError], what: str, hint: str, state: dict[str, object]) -> RagError:
    error = kind.__new__(kind)
    RagError.__init__(error, what, hint=hint)
    error.__dict__.update(state)
    return error


@dataclass(frozen=True, slots=True)
class Problem:
    """An error as data, which is stored with a file or an answer."""

    what: str
    hint: str = ""
    retryable: bool = False
    needs_password: bool = False
    needs_reading: bool = False  # wait until documents are read
    nothing_new: bool = False  # AlreadyThereError, PassedOverError: no action
    details: str = ""  # for experts, displayed on demand

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


class InputError(RagError): ...


class QuestionError(InputError): ...


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


class AlreadyThereError(InputError): ...


class PassedOverError(InputError): ...


class UnreadableFileError(InputError):
    """`what` has the name of the file as the user knows it."""


class EmptyFileError(UnreadableFileError): ...


class EncryptedFileError(UnreadableFileError):
    @classmethod
    def of(cls, name: str, password: str | None) -> EncryptedFileError:
        """For a file that `password` does not open."""
        if password is None:
            return cls(f"{name} is protected with a password.", hint="Enter its password to read it.")
        return cls(f"The password for {name} is not right.", hint="Enter the password again.")


class UnsupportedFileError(UnreadableFileError): ...


class DamagedFileError(UnreadableFileError): ...


class NoTextError(UnreadableFileError): ...


class TooLargeError(UnreadableFileError): ...


class UnsafeArchiveError(UnreadableFileError): ...


class ConfigError(RagError): ...


class MissingPackageError(RagError):
    """`extra`: of this distribution, with the package; None if it is a required dependency."""

    def __init__(self, package: str, *, extra: str | None = None) -> None:
        requirement = f'"lectern[{extra}]"' if extra else package
        super().__init__(
            f"The package {package} is not installed.", hint=f"Install it with: pip install {requirement}"
        )


class StoreError(RagError): ...


class DimensionError(StoreError):
    def __init__(self, got: int, expected: int) -> None:
        super().__init__(
            f"This index holds vectors of {expected} numbers, but was given {got}.",
            hint=(
                "The embedding model changed after the index was built. Rebuild the index, or change "
                "the model back."
            ),
        )


class UnknownDocumentError(StoreError):
    def __init__(self, document_id: str) -> None:
        super().__init__(
            f"There is no document with the id {document_id!r} in this index.",
            hint="It may have been deleted already. List the documents to see their ids.",
        )
        self.document_id = document_id


class DamagedStoreError(StoreError): ...


class DamagedTextError(DamagedStoreError):
    """`document_id`: whose stored text or passages are not what was stored."""

    def __init__(self, document_id: str) -> None:
        super().__init__(
            f"The stored text of the document {document_id!r} is damaged.",
            hint="Read the document again from its original file, and check the disk.",
        )
        self.document_id = document_id


class EmbeddingError(RagError): ...


class LLMError(RagError): ...


class LLMUnavailableError(LLMError):
    retryable = True


class LLMTimeoutError(LLMError):
    retryable = True


class LLMAuthError(LLMError): ...


class UnknownModelError(LLMError):
    """`available`: the names of the models on the server."""

    def __init__(self, what: str, *, hint: str = "", available: tuple[str, ...] = ()) -> None:
        super().__init__(what, hint=hint)
        self.available = available


class RateLimitError(LLMError):
    retryable = True


class LLMServerError(LLMError):
    retryable = True


class LLMProtocolError(LLMError):
    retryable = True


class ContextWindowError(LLMError): ...
