"""Spanish words of questions over rows."""

from __future__ import annotations

import re

from ragcore.structure.words.vocabulary import Vocabulary

SPANISH = Vocabulary(
    language="es",
    keywords={
        "H": "cuántos, cuántas",
        "M": "cuánto, cuánta, cuánto dinero",
        "W": "qué, cuál, cuáles",
        "L": "lista, listar, muestra, muéstrame, enumera, dame",
        "n": "número de",
        "T": "en total, total, totales, suma, suma de, total de",
        "A": "medio, media, promedio, promedio de, media de, de media, en promedio",
        "B": "entre",
        "<": "menos de, menor que, menor de, inferior a, inferiores a, por debajo de",
        ">": "más de, mayor que, mayor de, superior a, superiores a, por encima de",
        "l": "como máximo, hasta",
        "g": "al menos, como mínimo, por lo menos",
        "e": "antes de, antes del",
        "y": "después de, después del",
        "z": "desde, desde el",
        "!": "no, sin, excepto, salvo, ningún, ninguna",
        "&": "y, e",
        "|": "o, u",
        "b": "es, son, era, eran, está, están, fue, fueron",
        "w": "tiene, tienen, tenía, tenían, tengo, con, he, hemos, ha",
        "i": "yo, nosotros",
        "t": "hay",
        "r": "que, cuyo, cuya",
        "j": "por, por cada, de cada, en cada, agrupado por",
        "o": "ordena, ordenar, ordenado, ordenada, ordenados, ordenadas",
        "f": "diferencia, diferencia de, diferencia en",
        "Y": "cuánto más, cuántos más, cuántas más",
        "a": "a final de, a finales de, al final de, a fin de, a fines de",
        "c": "contiene, contienen",
        "u": "euro, euros, dólar, dólares, libra, libras, €, $, £, ¥, por ciento, %, kg, kilo, kilos, g, "
        "gramo, "
        "gramos, t, km, m, metro, metros, cm, mm, l, litro, litros, h, hora, horas, min, minuto, minutos, "
        "día, "
        "días, noche, mes, año, por día, al día, por noche, por hora",
        "": "un, una, unos, unas, el, la, los, las, lo, todos, todas, todos los, todas las, mi, mis, nuestro",
    },
    prepositions={"in": "en", "from": "procedente de", "of": "de, del, para, a"},
    largest="más, mayor, el mayor, la mayor, mayores, más alto, más alta, más altos, más altas, máximo, "
    "máxima, "
    "más grande, mayor número de",
    smallest="menos, menor, menores, más bajo, más baja, más bajos, más bajas, mínimo, mínima, más pequeño, "
    "más pequeña, menor número de",
    last="por última vez, último, última, últimos, últimas, en último lugar",
    first="por primera vez, primer, primero, primera, en primer lugar",
    superlatives={
        "money": (
            "más caro, más cara, más caros, más caras",
            "más barato, más barata, más baratos, más baratas, menos caro, menos cara",
        ),
        "weight": (
            "más pesado, más pesada, más pesados, más pesadas",
            "más ligero, más ligera, más ligeros, más ligeras",
        ),
        "length": (
            "más largo, más larga, más largos, más largas",
            "más corto, más corta, más cortos, más cortas",
        ),
        "height": ("más alto, más alta", "más bajo, más baja"),
        "dated": (
            "más reciente, más recientes, más nuevo, más nueva",
            "más antiguo, más antigua, más antiguos, más antiguas",
        ),
    },
    comparatives={"money": ("cuánto más caro, cuánto más cara", "cuánto más barato, cuánto más barata")},
    verbs={"money": "cuesta, cuestan", "weight": "pesa, pesan"},
    spent="gasté, gastado, pagué, pagado, gastamos",
    received="recibí, recibido, ganado, cobrado",
    expenses="gasto, gastos",
    incomes="ingreso, ingresos",
    payments="pago, pagos, movimiento, movimientos",
    sized="mayor, el mayor, la mayor, mayores, más grande, menor, menores, más pequeño, más pequeña",
    periods={
        "month": "por mes, al mes, cada mes, por cada mes, mensual",
        "quarter": "por trimestre, al trimestre, cada trimestre",
        "year": "por año, al año, cada año, anual",
    },
    descending="descendente, en orden descendente, de mayor a menor",
    ascending="ascendente, en orden ascendente, de menor a mayor",
    numbers="dos tres cuatro cinco seis siete ocho nueve diez",
    no_values="otro otra otros otras siguiente último primero mejor mismo nuevo viejo más menos todos max "
    "min",
    stems=((r"ces$", "z"), (r"(?<=...)(?:es|s|e)$", "")),
    endings=(("s", ""), ("es", ""), ("a", "o"), ("as", "o"), ("os", "o")),
    number=re.compile(r"\d{1,3}(?:\.\d{3})+(?:,\d+)?|\d+(?:,\d+)?"),
    unclear_number=re.compile(r"[1-9]\d{0,2},\d{3}"),
    has_decimal_comma=True,
)
