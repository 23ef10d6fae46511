"""What is one whole sentence of prose, and what only looks like one: a menu, a caption, a letterhead."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.text.prose import is_prose

SENTENCES = {
    "en": (
        "The lamp was moved to the upper gallery in the spring of 1903.",
        "Members may bring one guest to the pool on each day of the week.",
        "The council has not decided who will pay for the bridge.",
        "Where are the tickets of the ferry sold?",
    ),
    "de": (
        "Die Miete ist am dritten Werktag des Monats fällig.",
        "Das Gerät wird mit dem Schalter auf der Rückseite eingeschaltet.",
        "Wie oft muss der Filter gereinigt werden?",
    ),
    "fr": (
        "La séance a été levée par la présidente à vingt heures.",
        "Le locataire doit prévenir le propriétaire dans les huit jours.",
        "Quand la séance du conseil a-t-elle été levée ?",
    ),
    "es": (
        "La junta fue aplazada hasta el lunes por falta de quórum.",
        "El contrato incluye una garantía de dos años para la caldera.",
        "¿Cuándo se puede cancelar el contrato?",
    ),
    "zh": ("会议由主席在上午九点宣布开始。", "租客应当在每月三日之前交付房租。", "房租在每月几号之前交付？"),
}
NO_SENTENCES = (
    "F1 F2 F3 F4 F5 Reset filter sign?",
    "P. Hartley & J. Quinn ?",
    "Delete file?",
    "Home Products Services About us Contact.",
    "Home > Gardens > Roses.",
    "Annual Report of the Foundation 2024.",
    "Board of Trustees Chair Susan Lee Treasurer Omar Diaz.",
    "Figure 3: The lamp was moved to the upper gallery in 1903.",
    "Events 18 %.",
    "99 %",
    "12 Quay Street, Oldport, OP4 2TT.",
    "MINUTES OF THE MEETING OF THE BOARD.",
    "Our Mission Our Programs The foundation was started by Omar Diaz in 1990.",
    "Total | 12,400 | 8,100",
    "Rent: 980; Heating: 85; Parking: 40.",
    "Startseite Produkte Service Über uns Kontakt.",
    "Abbildung 4: Das Gerät wird mit dem Schalter eingeschaltet.",
    "Menü Einstellungen Anzeige Helligkeit Zurück?",
    "Accueil Produits Mentions légales Contact.",
    "Réinitialiser le filtre ?",
    "Inicio Productos Sobre nosotros Contacto.",
    "首页 产品 服务 关于我们 联系。",
    "图3：会议由主席在上午九点宣布开始。",
)


@pytest.mark.parametrize("sentence", [one for several in SENTENCES.values() for one in several])
def test_a_whole_sentence_is_prose(sentence: str) -> None:
    assert is_prose(sentence)


@pytest.mark.parametrize("text", NO_SENTENCES)
def test_labels_captions_and_headings_are_no_prose(text: str) -> None:
    assert not is_prose(text)


@pytest.mark.parametrize("sentence", [one for several in SENTENCES.values() for one in several])
def test_two_sentences_or_half_of_one_are_no_prose(sentence: str) -> None:
    assert not is_prose(f"{sentence} {sentence}")
    assert not is_prose(sentence[:-1])


@given(
    st.lists(
        st.sampled_from(["File", "Edit", "View", "F1", "Print", "OK", "Filter", "Help", "ESC"]), min_size=1
    )
)
def test_no_row_of_labels_is_prose(labels: list[str]) -> None:
    assert not is_prose(f"{' '.join(labels)}?")
    assert not is_prose(f"{' '.join(labels)}.")
