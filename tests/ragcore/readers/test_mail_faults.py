"""Mails as careless programs write them: each still has its body, once."""

from __future__ import annotations

import base64
import time
from email.message import EmailMessage
from pathlib import Path

import pytest

from ragcore.errors import RagError
from ragcore.readers.base import DEEPEST, ReadOptions
from ragcore.readers.ocr.page_words import PageWords
from ragcore.readers.registry import read_file

HEAD = b"From: ada@example.org\nSubject: Order 5512\nMIME-Version: 1.0\n"


def read(folder: Path, data: bytes, name: str = "a.eml") -> tuple[str, list[str]]:
    left_out: list[RagError] = []
    (folder / name).write_bytes(data)
    text = read_file(folder / name, ReadOptions(name, on_loss=left_out.append)).text
    return text, [error.what for error in left_out]


def alternative(plain: str, html: str) -> bytes:
    message = EmailMessage()
    message["Subject"] = "Order 5512"
    message.set_content(plain)
    message.add_alternative(html, subtype="html")
    return message.as_bytes()


TABLE = (
    "<table><tr><th>Item</th><th>Price</th></tr><tr><td>Kettle</td><td>31.90</td></tr></table><p>Delivery "
    "on 14 May.</p>"
)


@pytest.mark.parametrize(
    "plain",
    ["View this message in a browser that shows HTML.", "Order 5512", " ", "https://example.org/1?a=b"],
)
def test_of_two_parts_the_one_that_says_more_is_read(plain: str, tmp_path: Path) -> None:
    text, _ = read(tmp_path, alternative(plain, TABLE))
    assert "31.90" in text
    assert plain.strip() not in text or plain in (" ", "Order 5512")


def test_plain_text_goes_before_html_that_says_no_more(tmp_path: Path) -> None:
    plain = "The kettle costs 31.90 and comes on 14 May.\nSee https://example.org/5512"
    text, _ = read(
        tmp_path,
        alternative(plain, "<p>The kettle costs 31.90 and comes on 14 May.</p><p>See <a>here</a></p>"),
    )
    assert text.count("31.90") == 1
    assert "https://example.org/5512" in text


def test_a_plain_text_that_says_more_than_html_stays(tmp_path: Path) -> None:
    text, _ = read(
        tmp_path, alternative("The kettle costs 31.90, is red and comes on 14 May.", "<p>The kettle</p>")
    )
    assert "red" in text


BODY = "The kettle costs 31.90 and comes on Tuesday."


@pytest.mark.parametrize(
    "data",
    [
        HEAD + BODY.encode(),  # no blank line
        HEAD + b"Price: 31.90\nThe kettle costs 31.90 and comes on Tuesday.\n",
        b"\n\nsaved by a program\n" + HEAD + b"\n" + BODY.encode(),
        HEAD + b"Content-Type: text/plain; charset=x-unknown\n\n" + BODY.encode(),
        HEAD + b"Content-Type: text/plain; charset=\n\n" + BODY.encode(),
        HEAD + b"Content-Type: nonsense\n\n" + BODY.encode(),
        HEAD + b"Content-Type: multipart/mixed; boundary=wrong\n\n--right\nContent-Type: text/plain\n\n"
        + BODY.encode() + b"\n--right--\n",
        HEAD + b"Content-Type: multipart/mixed\n\n--right\nContent-Type: text/plain\n\n"
        + BODY.encode() + b"\n--right--\n",
        HEAD + b"Content-Type: multipart/mixed; boundary=b\n\n" + BODY.encode(),
        # not ended
        HEAD + b"Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/plain\n\n"
        + BODY.encode(),
        HEAD + b"Content-Transfer-Encoding: base64\n\n" + BODY.encode(),
        HEAD + b"Content-Transfer-Encoding: base64\n\n" + base64.b64encode(BODY.encode()).rstrip(b"="),
        HEAD + b"Content-Transfer-Encoding: 7bit\n\n" + base64.encodebytes(BODY.encode() * 3),
        HEAD + b"Content-Transfer-Encoding: 8 bit\n\n" + BODY.encode(),
        HEAD + b"Content-Transfer-Encoding: quoted-printable\n\n" + BODY.encode().replace(b"31", b"=331"),
        HEAD + b"Content-Type: message/rfc822\nContent-Transfer-Encoding: base64\n\n"
        + base64.encodebytes(b"Subject: Inner\n\n" + BODY.encode()),
        HEAD + (
            b"Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: message/rfc822\n\n"
            b"Subject: Inner\n\n"
)
        + BODY.encode() + b"\n--b--\n",
    ],
)  # fmt: skip
def test_a_mail_in_broken_form_still_has_its_body(data: bytes, tmp_path: Path) -> None:
    text, _ = read(tmp_path, data)
    assert text.count("kettle costs 31.90 and comes on Tuesday") in (1, 3)
    assert "Order 5512" in text
    boxed, _ = read(tmp_path, b"From ada@example.org Tue May  7 09:00:00 2024\n" + data.lstrip(), "a.mbox")
    assert "kettle costs 31.90" in boxed


def test_lines_of_the_body_that_look_like_headers_are_read(tmp_path: Path) -> None:
    text, _ = read(tmp_path, HEAD + b"Price: 31.90\nColour: red\nThe kettle comes on Tuesday.\n")
    assert "Price: 31.90\nColour: red\nThe kettle" in text


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252", "gbk", "koi8_r"])
def test_headers_that_are_no_ascii_are_decoded(encoding: str, tmp_path: Path) -> None:
    subject = {
        "gbk": "订单已经发货，请注意查收今天的包裹",
        "koi8_r": "Ваш заказ отправлен сегодня утром",
    }.get(encoding, "Größe für Müller")
    text, left_out = read(tmp_path, b"Subject: " + subject.encode(encoding) + b"\n\nWords.\n")
    assert text == f"Subject: {subject}\n\nWords."
    assert left_out == []


def test_wrongly_declared_encoding_is_read_and_bad_bytes_named(tmp_path: Path) -> None:
    head = HEAD + b"Content-Type: text/plain; charset=us-ascii\nContent-Transfer-Encoding: 8bit\n\n"
    assert "Größe für Müller" in read(tmp_path, head + "Größe für Müller".encode())[0]
    text, left_out = read(
        tmp_path,
        HEAD + b"Content-Type: text/plain; charset=big5\n\n" + "今天收到訂單。".encode("big5") + b"\xff\n",
    )
    assert "今天收到訂單。" in text
    assert left_out == ["a.eml has broken characters in 1 place, shown as �."]


def test_an_invitation_says_when_and_where(tmp_path: Path) -> None:
    message = EmailMessage()
    message["Subject"] = "Invitation"
    message.set_content("You are invited.")
    lines = [
        "BEGIN:VCALENDAR",
        "BEGIN:VEVENT",
        "SUMMARY:Board",
        "  meeting",
        "DTSTART;TZID=Europe/Berlin:20240507T093000",
    ]
    alarm = ["BEGIN:VALARM", "DESCRIPTION:Reminder", "END:VALARM"]
    event = "\r\n".join([*lines, *alarm, r"LOCATION:Room 4\, Elm Street", "END:VEVENT", "END:VCALENDAR", ""])
    message.add_alternative(event, subtype="calendar")
    text, _ = read(tmp_path, message.as_bytes())
    assert "You are invited." in text
    assert "Event: Board meeting\nBegins: 2024-05-07 09:30\nPlace: Room 4, Elm Street" in text
    assert "Reminder" not in text


@pytest.mark.parametrize("name", ["winmail.dat", None])
def test_winmail_dat_is_named(name: str | None, tmp_path: Path) -> None:
    message = EmailMessage()
    message.set_content("See what is attached.")
    message.add_attachment(
        b"\x78\x9f\x3e\x22\0\1" + bytes(range(40)), maintype="application", subtype="ms-tnef", filename=name
    )
    text, left_out = read(tmp_path, message.as_bytes())
    assert "Attached: winmail.dat" in text
    assert left_out == ["a.eml was read without the files inside it: winmail.dat."]


def test_what_a_report_of_delivery_says_is_read(tmp_path: Path) -> None:
    status = b"--b\nContent-Type: message/delivery-status\n\nReporting-MTA: dns; a.org\n\n"
    status += b"Final-Recipient: rfc822; x@y\nStatus: 5.1.1\n"
    data = (
        HEAD
        + b"Content-Type: multipart/report; boundary=b\n\n--b\nContent-Type: text/plain\n\nNot delivered.\n"
        + status
    )
    text, _ = read(tmp_path, data + b"\n--b--\n")
    assert "Not delivered." in text
    assert "Final-Recipient: rfc822; x@y\nStatus: 5.1.1" in text


def test_a_body_without_any_header_is_read(tmp_path: Path) -> None:
    assert read(tmp_path, BODY.encode())[0] == BODY


def test_windows_letters_are_read_in_a_latin_1_body(tmp_path: Path) -> None:
    assert (
        "It’s € 5"
        in read(tmp_path, HEAD + b"Content-Type: text/plain; charset=iso-8859-1\n\nIt\x92s \x80 5\n")[0]
    )


def test_nested_messages_are_read_to_a_depth_and_the_next_named(tmp_path: Path) -> None:
    data = b"Subject: innermost\n\nThe heron waits.\n"
    for level in range(DEEPEST + 2):
        outer = EmailMessage()
        outer["Subject"] = f"level {level}"
        outer.set_content(f"This is level {level}.")
        outer.add_attachment(
            data, maintype="application", subtype="octet-stream", filename=f"level-{level}.eml"
        )
        data = outer.as_bytes()
    text, left_out = read(tmp_path, data)
    assert "This is level 1." in text
    assert "The heron waits." not in text
    assert any("level-1.eml" in what for what in left_out)


def test_words_recognised_in_an_attachment_are_of_no_page() -> None:
    placed: list[int] = []
    options = ReadOptions("a.eml", on_words=lambda page_index, words: placed.append(page_index))
    options.inside("scan.png").on_words(0, PageWords(0, []))
    assert placed == []


def test_list_footer_after_base64_is_read_below_it(tmp_path: Path) -> None:
    head = b"Subject: s\nContent-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: base64\n\n"
    for words in ("Der Preis beträgt 40 EUR.", "Der Preis beträgt 40 EUR. " * 200):
        body = base64.encodebytes(words.encode()) + b"____\nUsers mailing list\nUsers@x.org\n"
        text, left_out = read(tmp_path, head + body)
        assert "Der Preis beträgt 40 EUR." in text
        assert text.endswith("Users@x.org")
        assert left_out == []


def test_lines_of_letters_and_digits_that_are_no_base64_stay(tmp_path: Path) -> None:
    keys = b"ABCDEFGH12345678IJKL\nMNOPQRST87654321UVWX\n"
    assert "ABCDEFGH12345678IJKL" in read(tmp_path, b"Subject: keys\n\n" + keys)[0]


def test_broken_characters_are_reported_once_for_the_attachment(
    tmp_path: Path,
) -> None:
    message = EmailMessage()
    message["Subject"] = "Logs"
    message.set_content("The log has a \ufffd in it.", cte="8bit")
    message.add_attachment(
        "今天收到訂單。".encode() + b"\x81 and more", maintype="text", subtype="plain", filename="a.log"
    )
    reports = ["a.log has broken characters in 1 place, shown as �."]
    assert read(tmp_path, message.as_bytes())[1] == reports
    assert (
        read(tmp_path, b"From ada@example.org Tue May  7 09:00:00 2024\n" + message.as_bytes(), "a.mbox")[1]
        == reports
    )


def test_broken_characters_of_the_unused_part_do_not_count(tmp_path: Path) -> None:
    message = alternative("The kettle costs 31.90.", "<p>The kettle costs 31.90. X</p>").replace(
        b"X", b"\xe4\xbb"
    )
    assert read(tmp_path, message)[1] == []


def nested(levels: int, kind: str, boundary: str = "b{}") -> bytes:
    lines = ["Subject: Order 5512"]
    for level in range(levels):
        mark = boundary.format(level)
        lines += [f'Content-Type: multipart/{kind}; boundary="{mark}"', "", f"--{mark}"]
    lines += ["Content-Type: text/plain", "", BODY]
    return "\n".join(
        [*lines, *(f"--{boundary.format(level)}--" for level in reversed(range(levels)))]
    ).encode()


@pytest.mark.parametrize("kind", ["mixed", "alternative", "related"])
def test_parts_inside_each_other_are_read_quickly(kind: str, tmp_path: Path) -> None:
    began = time.process_time()
    assert BODY in read(tmp_path, nested(60, kind))[0]
    assert time.process_time() - began < 1


@pytest.mark.parametrize("kind", ["mixed", "alternative", "digest"])
def test_parts_that_are_nested_very_deeply_are_read_quickly(kind: str, tmp_path: Path) -> None:
    began = time.process_time()
    assert BODY in read(tmp_path, nested(20_000, kind))[0]
    assert time.process_time() - began < 10  # quadratic, it took 25


def test_of_parts_that_are_nested_very_deeply_each_is_read(tmp_path: Path) -> None:
    lines = ["Subject: Orders"]
    for level in range(200):
        lines += [
            f"Content-Type: multipart/mixed; boundary=b{level}",
            "",
            f"--b{level}",
            "Content-Type: text/plain",
            "",
        ]
        lines += [f"Order number {level}.", f"--b{level}"]
    packed = base64.b64encode(b"name,price\nkettle,31.90\n").decode()
    lines += [
        "Content-Type: text/csv",
        "Content-Transfer-Encoding: base64",
        "Content-Disposition: attachment; filename=a.csv",
    ]
    text, left_out = read(tmp_path, "\n".join([*lines, "", packed]).encode())
    assert [level for level in range(200) if f"Order number {level}." not in text] == []
    assert "31.90" in text
    assert left_out == []


def test_first_of_very_deeply_forwarded_messages_is_read(tmp_path: Path) -> None:
    began = time.process_time()
    assert (
        BODY
        in read(tmp_path, b"Subject: Fwd\nContent-Type: message/rfc822\n\n" * 20_000 + b"\n" + BODY.encode())[
            0
        ]
    )
    assert time.process_time() - began < 10  # quadratic, it took 25


def test_forwarded_base64_message_without_a_blank_line_is_read(tmp_path: Path) -> None:
    packed = base64.b64encode(b"Subject: Order\nPrice: 31.90 EUR\nDelivered by post.")
    head = b"Subject: Fwd\nContent-Type: message/rfc822\nContent-Transfer-Encoding: base64\n\n"
    assert "Price: 31.90 EUR\nDelivered by post." in read(tmp_path, head + packed)[0]


def test_nested_parts_with_wrong_boundaries_are_read_fast(tmp_path: Path) -> None:
    began = time.process_time()
    wrong = nested(5_000, "mixed").replace(b'boundary="b', b'boundary="c')
    assert BODY in read(tmp_path, wrong)[0]
    assert time.process_time() - began < 10  # quadratic, it took 25


def test_reading_time_is_linear_in_the_number_of_parts(tmp_path: Path) -> None:
    def seconds(parts: int) -> float:
        began = time.process_time()
        assert BODY in read(tmp_path, nested(parts, "mixed", boundary="b"))[0]
        return time.process_time() - began

    seconds(100)  # what is imported at first
    assert seconds(16_000) < 8 * seconds(4_000)


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("Subject", "old lamps " * 100_000, "old lamps " * 100_000),
        ("To", "ann@example.org, " * 60_000, "ann@example.org, " * 60_000),
        ("Subject", "=?utf-8?q?l=C3=A4mp?= " * 90_000, "lämp" * 90_000),
    ],
    ids=["subject", "addresses", "encoded"],
)
def test_a_header_of_a_megabyte_is_read_in_seconds_and_whole(
    name: str, value: str, shown: str, tmp_path: Path
) -> None:
    path = tmp_path / "a.eml"
    path.write_text(f"{name}: {value}\n\nhello\n", "ascii")
    began = time.process_time()
    assert read_file(path, ReadOptions("a.eml")).text == f"{name}: {shown.strip()}\n\nhello"
    assert time.process_time() - began < 8


def test_a_kind_of_a_megabyte_of_parameters_is_read_in_seconds(tmp_path: Path) -> None:
    parameters = "; ".join(f"a*{number}=b" for number in range(100_000))
    began = time.process_time()
    text, _ = read(tmp_path, f"Subject: a\nContent-Type: text/plain; {parameters}\n\nhello\n".encode())
    assert text == "Subject: a\n\nhello"
    assert time.process_time() - began < 8


@pytest.mark.parametrize("name", ["From", "To", "Cc", "Date", "Content-Type", "Content-Disposition"])
@pytest.mark.parametrize("broken", ["(" * 400, "ada@example.org (" + "(" * 4_000])
def test_a_mail_with_a_broken_header_is_read(name: str, broken: str, tmp_path: Path) -> None:
    text, _ = read(tmp_path, f"{name}: {broken}\nSubject: Order 5512\n\n{BODY}".encode())
    assert text.endswith(BODY)
    assert name.startswith("Content") or text.startswith(f"{name}: {broken}")


def test_a_kind_with_a_broken_comment_is_known(tmp_path: Path) -> None:
    text, _ = read(
        tmp_path,
        HEAD + b"Content-Type: text/html " + b"(" * 400 + b"\n\n<p>The kettle <b>costs</b> 31.90.</p>",
    )
    assert text.endswith("\n\nThe kettle costs 31.90.")
