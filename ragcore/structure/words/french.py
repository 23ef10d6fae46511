"""French words of questions over rows."""

from __future__ import annotations

import re

from ragcore.structure.words.vocabulary import Vocabulary

FRENCH = Vocabulary(
    language="fr",
    keywords={
        "H": "combien de, combien d', combien y a-t-il de, combien y a-t-il d', combien ya-t-il de",
        "M": "combien, combien d'argent, de combien",
        "W": "quel, quelle, quels, quelles",
        "L": "liste, lister, listez, montre, montre-moi, montrez-moi, affiche, affichez, donne-moi, "
        "donnez-moi",
        "n": "nombre de, nombre d'",
        "T": "au total, en tout, total, totale, somme, somme de, somme des, total de, total des",
        "A": "moyen, moyenne, moyenne de, moyenne des, moyenne du, en moyenne",
        "B": "entre",
        "<": "moins de, moins d', inférieur à, inférieure à, inférieurs à, inférieures à, en dessous de",
        ">": "plus de, plus d', supérieur à, supérieure à, supérieurs à, supérieures à, au-dessus de",
        "l": "au plus, au maximum",
        "g": "au moins, au minimum",
        "e": "avant, avant le",
        "y": "après, après le",
        "z": "depuis, depuis le",
        "!": "pas, pas de, pas d', aucun, aucune, sans, sauf",
        "~": "ne, n'",
        "&": "et",
        "|": "ou",
        "b": "est, sont, était, étaient, a été, ont été, est-elle, est-il, sont-elles, sont-ils",
        "w": "a, ont, avait, avaient, ayant, avec, ai",
        "i": "j', je, nous, ai-je, avais-je, avons-nous",
        "t": "y a-t-il, il y a",
        "r": "qui, dont",
        "j": "par, pour chaque, de chaque, à chaque",
        "o": "trie, triez, trier, trié, triée, triés, triées, classe, classés, classées",
        "k": "que, qu'",
        "f": "différence, différence de, écart, écart de",
        "Y": "combien de plus, combien d'euros de plus",
        "a": "à la fin de, à la fin du mois de, fin, à fin",
        "c": "contient, contiennent, contenant",
        "u": "euro, euros, dollar, dollars, livre, livres, €, $, £, ¥, %, pour cent, kg, kilo, kilos, g, "
        "gramme, "
        "grammes, t, km, m, mètre, mètres, cm, mm, l, litre, litres, h, heure, heures, min, minute, minutes, "
        "jour, jours, nuit, mois, an, ans, par jour, par nuit, par heure",
        "": "un, une, des, le, la, les, l', tous, toutes, mon, ma, mes, notre, nos, tous les, "
        "toutes les, "
        "pour moi",
    },
    prepositions={
        "in": "en, dans, à, au, aux, sur",
        "from": "depuis la, venant de",
        "of": "de, d', du, de la, de l', pour, chez",
    },
    largest="le plus de, le plus d', le plus grand nombre de, le plus grand, la plus grande, le plus élevé, "
    "la plus élevée, les plus élevés, les plus élevées, plus grand, plus grande, plus élevé, plus élevée, "
    "plus gros, plus grosse, plus grands, plus grandes, plus grosses, maximal, maximale, maximum, le plus",
    smallest="le moins de, le moins d', le plus petit nombre de, le plus petit, la plus petite, le plus bas, "
    "la plus basse, plus petit, plus petite, plus bas, plus basse, minimal, minimale, minimum, le moins",
    last="en dernier, dernier, dernière, derniers, dernières",
    first="en premier, premier, première",
    superlatives={
        "money": (
            "le plus cher, la plus chère, les plus chers, les plus chères, plus cher, plus chère, "
            "plus chers, "
            "plus chères",
            "le moins cher, la moins chère, les moins chers, les moins chères, moins cher, moins chère, "
            "moins chers, moins chères",
        ),
        "weight": (
            "le plus lourd, la plus lourde, les plus lourds, les plus lourdes",
            "le plus léger, la plus légère, les plus légers, les plus légères",
        ),
        "length": (
            "le plus long, la plus longue, les plus longs, les plus longues",
            "le plus court, la plus courte, les plus courts, les plus courtes",
        ),
        "height": ("le plus haut, la plus haute, les plus hauts, les plus hautes", ""),
        "dated": (
            "le plus récent, la plus récente, les plus récents, les plus récentes",
            "le plus ancien, la plus ancienne, les plus anciens, les plus anciennes",
        ),
    },
    comparatives={},  # as the superlatives
    verbs={"money": "coûte, coûtent", "weight": "pèse, pèsent"},
    spent="dépensé, payé",
    received="reçu, gagné",
    expenses="dépense, dépenses",
    incomes="recette, recettes, revenu, revenus",
    payments="paiement, paiements, opération, opérations",
    sized="le plus grand, la plus grande, plus grand, plus grande, plus gros, plus grosse, plus grands, "
    "plus grandes, plus grosses, le plus petit, la plus petite, plus petit, plus petite",
    periods={
        "month": "par mois, chaque mois, pour chaque mois, mensuel, mensuelle",
        "quarter": "par trimestre, chaque trimestre",
        "year": "par an, par année, chaque année",
    },
    descending="décroissant, par ordre décroissant, en ordre décroissant, dans l'ordre décroissant",
    ascending="croissant, par ordre croissant, en ordre croissant, dans l'ordre croissant",
    numbers="deux trois quatre cinq six sept huit neuf dix",
    no_values="autre autres suivant dernier premier meilleur même nouveau plus moins tous max min",
    stems=((r"(?<!e)aux$", "al"), (r"(?<=...)[sx]$", "")),
    endings=(("s", ""), ("e", ""), ("es", "")),
    number=re.compile(r"\d{1,3}(?:[ \u00a0\u202f]\d{3})+(?:,\d+)?|\d+(?:,\d+)?"),
    unclear_number=re.compile(r"[1-9]\d{0,2},\d{3}"),
    has_decimal_comma=True,
    token=re.compile(
        r"\d{1,3}(?:[ \u00a0\u202f]\d{3})+(?!\d)(?:,\d+)?|\d+(?:[.,]\d+)*|(?:[cdjlmnst]|qu)['’](?=\w)"
        r"|[^\W\d_]+(?:['’-][^\W\d_]+)*|[€$£¥%]|[\"“„«][^\"”“»]+[\"”“»]",
        re.IGNORECASE,
    ),
)
