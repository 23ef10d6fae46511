"""Numbers of list items in the forms of HTML, Office and OpenDocument: 3, iv, B."""

from __future__ import annotations

LARGEST_ROMAN = 3999
_ROMAN = (
    *((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l")),
    *((40, "xl"), (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i")),
)


def list_number(number: int, form: str) -> str:
    """`number` in the form "1", "01", "a", "A", "i" or "I" of HTML, or in digits if the form does not have
    it.

    >>> list_number(4, "i"), list_number(28, "A"), list_number(0, "a")
    ('iv', 'AB', '0')
    """
    text = f"{number:02}" if form == "01" else str(number)
    if form in ("a", "A") and number > 0:
        text = ""
        while number:
            number, place = divmod(number - 1, 26)
            text = chr(ord("a") + place) + text
    elif form in ("i", "I") and 0 < number <= LARGEST_ROMAN:
        text = ""
        for value, sign in _ROMAN:
            text += sign * (number // value)
            number %= value
    return text.upper() if form.isupper() else text
