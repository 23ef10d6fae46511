"""The words of the screens in the reader's language: every text that is shown goes through `_` or `ngettext`.

_("Nothing was found in {name}.").format(name=label(file.name))      # the text is a literal, never an f-string
ngettext("{number} file", "{number} files", number).format(number=number)
"""

from __future__ import annotations

import gettext

_translations = gettext.NullTranslations()


def _(text: str) -> str:
    return _translations.gettext(text)


def ngettext(one: str, many: str, number: int) -> str:
    return _translations.ngettext(one, many, number)
