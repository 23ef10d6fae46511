"""German words of questions over rows."""

from __future__ import annotations

import re

from ragcore.structure.words.vocabulary import Vocabulary

GERMAN = Vocabulary(
    language="de",
    keywords={
        "H": "wie viele, wieviele",
        "M": "wie viel, wieviel, wie viel geld, wieviel geld, um wie viel, um wieviel",
        "W": "welche, welcher, welches, welchen, welchem, was, wie hoch, wie groß",
        "L": "liste, zeige, zeig, zeige mir, zeig mir, nenne, nenne mir, gib mir",
        "n": "anzahl, anzahl von",
        "T": "insgesamt, zusammen, gesamt, summe, summe von, gesamte, gesamten",
        "A": "durchschnitt, im durchschnitt, durchschnittlich, durchschnittliche, durchschnittlichen, "
        "durchschnittlicher, durchschnittliches, mittlere, mittleren",
        "B": "zwischen",
        "<": "weniger als, kleiner als, niedriger als, geringer als, unter",
        ">": "mehr als, größer als, höher als, über",
        "l": "höchstens, maximal, bis zu",
        "g": "mindestens, wenigstens",
        "e": "vor, vor dem",
        "y": "nach dem",
        "z": "seit, seit dem, ab",
        "!": "nicht, kein, keine, keinen, keiner, keines, keinem, ohne, außer",
        "&": "und",
        "|": "oder",
        "b": "ist, sind, war, waren, wurde, wurden, liegt, liegen",
        "w": "hat, haben, hatte, hatten, habe, mit",
        "i": "ich, wir",
        "t": "gibt es, gibt es da",
        "j": "pro, je, nach, für jede, für jeden, für jedes, gruppiert nach",
        "o": "sortiere, sortiert, sortieren, ordne, geordnet",
        "k": "als",
        "f": "unterschied, differenz",
        "Y": "wie viel mehr, wieviel mehr, wie viele mehr, mehr",
        "a": "ende, am ende, am ende des",
        "c": "enthält, enthalten",
        "u": "euro, dollar, pfund, €, $, £, ¥, prozent, %, kg, kilo, kilogramm, g, gramm, t, km, m, meter, "
        "metern, "
        "cm, mm, l, liter, litern, h, stunde, stunden, min, minute, minuten, tag, tage, nacht, monat, jahr, "
        "pro tag, am tag, pro nacht, pro stunde",
        "": "ein, eine, einen, einem, einer, eines, der, die, das, den, dem, des, alle, bitte, mein, "
        "meine, meiner, "
        "meinem, unser, unsere, es, da",
    },
    prepositions={"in": "in, im, auf, an, am", "from": "aus", "of": "von, vom, für, bei, beim"},
    largest="meisten, höchste, höchsten, höchster, größte, größten, größter, am meisten, die höchsten, "
    "maximale, maximalen",
    smallest="wenigsten, niedrigste, niedrigsten, kleinste, kleinsten, am wenigsten, die niedrigsten, "
    "geringste, geringsten, "
    "minimale, minimalen",
    last="zuletzt, letzte, letzten, letzter, als letztes, als letzte, als letzter",
    first="zuerst, erste, ersten, erster, als erstes, als erste, als erster",
    superlatives={
        "money": (
            "teuerste, teuersten, teuerster, teuerstes, am teuersten",
            "billigste, billigsten, billigster, billigstes, am billigsten, günstigste, günstigsten, "
            "günstigster, am günstigsten",
        ),
        "weight": (
            "schwerste, schwersten, schwerster, schwerstes, am schwersten",
            "leichteste, leichtesten, leichtester, leichtestes, am leichtesten",
        ),
        "length": (
            "längste, längsten, längster, längstes, am längsten",
            "kürzeste, kürzesten, kürzester, kürzestes, am kürzesten",
        ),
        "height": ("höchste, höchsten, am höchsten", "niedrigste, niedrigsten, am niedrigsten"),
        "dated": (
            "neueste, neuesten, neuester, neuestes, am neuesten",
            "älteste, ältesten, ältester, ältestes, am ältesten",
        ),
    },
    comparatives={
        "money": ("teurer", "billiger, günstiger"),
        "weight": ("schwerer", "leichter"),
        "length": ("länger", "kürzer"),
        "height": ("höher", "niedriger"),
    },
    verbs={"money": "kostet, kosten", "weight": "wiegt, wiegen"},
    spent="ausgegeben, bezahlt, gezahlt",
    received="eingenommen, erhalten, verdient",
    expenses="ausgabe, ausgaben",
    incomes="einnahme, einnahmen",
    payments="zahlung, zahlungen, buchung, buchungen",
    sized="die höchsten, die niedrigsten, größte, größten, größter, kleinste, kleinsten",
    periods={
        "month": "pro monat, je monat, im monat, jeden monat, nach monat, nach monaten, monatlich",
        "quarter": "pro quartal, je quartal, jedes quartal, nach quartal, nach quartalen",
        "year": "pro jahr, je jahr, im jahr, jedes jahr, nach jahr, nach jahren, jährlich",
    },
    descending="absteigend",
    ascending="aufsteigend",
    numbers="zwei drei vier fünf sechs sieben acht neun zehn",
    relative="die der das welche welcher welches",
    no_values="andere anderen nächste letzte erste beste gleiche neue alte mehr weniger alle max min",
    stems=((r"(?<=...)(?:innen|ern|en|er|es|em|e|n)$", ""), (r"(?<=...)s$", "")),
    endings=(("e", ""), ("en", ""), ("er", ""), ("es", ""), ("em", "")),
    number=re.compile(r"\d{1,3}(?:\.\d{3})+(?:,\d+)?|\d+(?:,\d+)?"),
    unclear_number=re.compile(r"[1-9]\d{0,2},\d{3}"),
    has_decimal_comma=True,
)
