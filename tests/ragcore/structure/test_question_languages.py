"""Questions over rows in German, French, Spanish and Chinese."""

from __future__ import annotations

import pytest

from tests.ragcore.structure.test_question import ROOMS, ask, table

RAEUME = table(
    "Raum|Plätze|Beamer|Preis pro Tag|Etage",
    *("Ahorn|12|ja|140,00 €|1", "Birke|8|nein|90,50 €|1", "Zeder|30|ja|1.260,00 €|2"),
    *("Fichte|6|nein|75,00 €|2", "Ulme|16|ja|180,00 €|3"),
)
WERKZEUGE = table(
    "Werkzeug|Farbe|Gewicht kg|Gekauft|Auf Lager",
    *("Säge|rot|1,2|10.01.2026|ja", "Bohrer|schwarz|2,1|03.11.2025|nein", "Hobel|rot|3,45|20.02.2026|ja"),
)
KONTO = table(
    "Datum|Kategorie|Betrag|Kontostand",
    *("02.01.2025|Einkommen|3150,00|4210,55", "06.01.2025|Lebensmittel|-84,32|4126,23"),
    *("09.02.2025|Reisen|-142,00|3984,23", "20.02.2025|Lebensmittel|-63,18|3921,05"),
)
SALLES = table(
    "Salle|Places|Projecteur|Prix par jour|Étage",
    *("Aulne|12|oui|140,00 €|1", "Bouleau|8|non|90,50 €|1", "Cèdre|30|oui|1 260,00 €|2"),
    *("Frêne|6|non|75,00 €|2", "Orme|16|oui|180,00 €|3"),
)
OUTILS = table(
    "Outil|Couleur|Poids kg|Acheté",
    *("Scie|rouge|1,2|2026-01-10", "Perceuse|noir|2,1|2025-11-03", "Rabot|rouge|3,45|2026-02-20"),
)
COMPTE = table(
    "Date|Catégorie|Montant|Solde",
    *("2025-01-02|Revenus|3150,00|4210,55", "2025-01-06|Courses|-84,32|4126,23"),
    *("2025-02-09|Voyages|-142,00|3984,23", "2025-02-20|Courses|-63,18|3921,05"),
)
SALAS = table(
    "Sala|Plazas|Proyector|Precio por día|Planta",
    *("Abeto|12|sí|140,00 €|1", "Boj|8|no|90,50 €|1", "Cedro|30|sí|1.260,00 €|2"),
    *("Fresno|6|no|75,00 €|2", "Olmo|16|sí|180,00 €|3"),
)
HERRAMIENTAS = table(
    "Herramienta|Color|Peso kg|Comprada",
    *("Sierra|rojo|1,2|2026-01-10", "Taladro|negro|2,1|2025-11-03", "Cepillo|rojo|3,45|2026-02-20"),
)
CUENTA = table(
    "Fecha|Categoría|Importe|Saldo",
    *("2025-01-02|Ingresos|3150,00|4210,55", "2025-01-06|Alimentos|-84,32|4126,23"),
    *("2025-02-09|Viajes|-142,00|3984,23", "2025-02-20|Alimentos|-63,18|3921,05"),
)
HUIYISHI = table(
    "会议室|座位|投影仪|价格|楼层",
    *("白杨|12|有|140|1", "桦木|8|无|90|1", "雪松|30|有|260|2", "冷杉|6|无|75|2", "榆树|16|有|180|3"),
)
GONGJU = table(
    "工具|颜色|重量|购买日期",
    *("锯子|红色|1.2|2026-01-10", "电钻|黑色|2.1|2025-11-03", "刨子|红色|3.45|2026-02-20"),
)
ZHANGDAN = table(
    "日期|类别|金额|余额",
    *("2025-01-02|收入|3150.00|4210.55", "2025-01-06|食品|-84.32|4126.23"),
    *("2025-02-09|交通|-142.00|3984.23", "2025-02-20|食品|-63.18|3921.05"),
)


@pytest.mark.smoke
@pytest.mark.parametrize(
    ("text", "question", "rows"),
    [
        (RAEUME, "Welche Räume haben keinen Beamer?", "Birke Fichte"),
        (RAEUME, "Räume ohne Beamer", "Birke Fichte"),
        (RAEUME, "Welcher Raum hat die meisten Plätze?", "Zeder"),
        (RAEUME, "Welche Räume kosten mehr als 1.000 Euro pro Tag?", "Zeder"),
        (RAEUME, "Welche Räume kosten höchstens 90,50 Euro?", "Birke Fichte"),
        (RAEUME, "Nenne alle Räume, die mehr als 10 Plätze haben", "Ahorn Zeder Ulme"),
        (RAEUME, "Welche Räume haben zwischen 10 und 20 Plätzen?", "Ahorn Ulme"),
        (RAEUME, "Die drei billigsten Räume", "Fichte Birke Ahorn"),
        (RAEUME, "Sortiere die Räume nach Preis", "Fichte Birke Ahorn Ulme Zeder"),
        (WERKZEUGE, "Welche Werkzeuge sind nicht auf Lager?", "Bohrer"),
        (WERKZEUGE, "Welche Werkzeuge wurden im Januar 2026 gekauft?", "Säge"),
        (WERKZEUGE, "Welches Werkzeug wurde zuletzt gekauft?", "Hobel"),
        (WERKZEUGE, "Werkzeuge, die rot sind", "Säge Hobel"),
        (SALLES, "Quelles salles n'ont pas de projecteur ?", "Bouleau Frêne"),
        (SALLES, "Quelle salle a le plus de places ?", "Cèdre"),
        (SALLES, "Quelle est la salle la moins chère ?", "Frêne"),
        (SALLES, "Quelles salles coûtent plus de 1 000 euros ?", "Cèdre"),
        (SALLES, "Liste les salles qui ont plus de 10 places", "Aulne Cèdre Orme"),
        (SALLES, "Les trois salles les moins chères", "Frêne Bouleau Aulne"),
        (SALLES, "Salles triées par prix décroissant", "Cèdre Orme Aulne Bouleau Frêne"),
        (OUTILS, "Quels outils sont rouges ou noirs ?", "Scie Perceuse Rabot"),
        (OUTILS, "Quels outils rouges y a-t-il ?", "Scie Rabot"),
        (SALAS, "¿Qué salas no tienen proyector?", "Boj Fresno"),
        (SALAS, "¿Qué sala tiene más plazas?", "Cedro"),
        (SALAS, "¿Cuál es la sala más cara?", "Cedro"),
        (SALAS, "¿Qué salas cuestan menos de 100 euros al día?", "Boj Fresno"),
        (SALAS, "Las tres salas más baratas", "Fresno Boj Abeto"),
        (HERRAMIENTAS, "¿Qué herramientas no son rojas?", "Taladro"),
        (HERRAMIENTAS, "¿Qué herramientas fueron compradas en enero de 2026?", "Sierra"),
        (HUIYISHI, "哪些会议室没有投影仪？", "桦木 冷杉"),
        (HUIYISHI, "哪个会议室座位最多？", "雪松"),
        (HUIYISHI, "最便宜的会议室是哪个？", "冷杉"),
        (HUIYISHI, "座位超过10个的会议室有哪些？", "白杨 雪松 榆树"),
        (HUIYISHI, "最便宜的三个会议室是哪些？", "冷杉 桦木 白杨"),
        (HUIYISHI, "会议室按价格从高到低排序", "雪松 榆树 白杨 桦木 冷杉"),
        (GONGJU, "红色的工具有哪些？", "锯子 刨子"),
    ],
)
def test_rows_that_are_asked_for(text: str, question: str, rows: str) -> None:
    computed = ask(question, text)
    assert computed is not None
    assert [row.cells[next(iter(row.cells))] for row in computed.rows] == rows.split()


@pytest.mark.parametrize(
    ("text", "question", "result"),
    [
        (RAEUME, "Plätze im Durchschnitt", "**14,4** ist der Durchschnitt von Plätze, aus 5 Zeilen."),
        (RAEUME, "Wie viele Räume haben einen Beamer?", "**3** von 5 Zeilen mit Beamer gleich ja."),
        (WERKZEUGE, "Wie viele Werkzeuge sind auf Lager?", "**2** von 3 Zeilen mit Auf Lager gleich ja."),
        (
            RAEUME,
            "Wie hoch ist der durchschnittliche Preis der Räume auf Etage 2?",
            "**667,50 €** ist der Durchschnitt von Preis pro Tag mit Etage gleich 2, aus 2 Zeilen.",
        ),
        (
            RAEUME,
            "Wie viel teurer ist Ulme als Birke?",
            "**89,50 €** ist der Unterschied bei Preis pro Tag zwischen Ulme (180,00 €) und Birke (90,50 €).",
        ),
        (
            KONTO,
            "Wie viel habe ich insgesamt für Lebensmittel ausgegeben?",
            "**-147,50** ist die Summe von Betrag mit Kategorie gleich Lebensmittel, aus 2 Zeilen.",
        ),
        (
            KONTO,
            "Wie viel habe ich pro Monat ausgegeben?",
            "Summe von Betrag mit Betrag unter 0 nach Monat, aus 3 Zeilen:\n\n"
            "- 2025-01: **-84,32**\n- 2025-02: **-205,18**",
        ),
        (
            KONTO,
            "Wie viel Geld hatte ich Ende Januar?",
            "**4126,23** ist der Wert von Kontostand in der letzten von 2 Zeilen mit Datum bis 2025-01.",
        ),
        (
            SALLES,
            "Combien de places y a-t-il au total ?",
            "**72** est la somme de Places, sur 5 lignes.",
        ),
        (
            SALLES,
            "Quel est le prix moyen par étage ?",
            "Moyenne de Prix par jour par Étage, sur 5 lignes :\n\n"
            "- 1: **115,25 €**\n- 2: **667,50 €**\n- 3: **180,00 €**",
        ),
        (
            COMPTE,
            "Combien ai-je dépensé au total en courses ?",
            "**-147,50** est la somme de Montant avec Catégorie égal à Courses, sur 2 lignes.",
        ),
        (
            COMPTE,
            "Quelle a été ma plus grosse dépense ?",
            "**-142,00** est la valeur la plus basse de Montant avec Montant inférieur à 0, sur 3 lignes.",
        ),
        (SALAS, "¿Cuántas salas hay en la planta 2?", "**2** de 5 filas con Planta igual a 2."),
        (
            SALAS,
            "¿Cuál es la diferencia de precio entre Olmo y Boj?",
            "**89,50 €** es la diferencia de Precio por día entre Olmo (180,00 €) y Boj (90,50 €).",
        ),
        (
            CUENTA,
            "¿Cuánto gasté en alimentos en enero?",
            "**-84,32** es la suma de Importe con Categoría igual a Alimentos y Fecha en 2025-01, de 1 fila.",
        ),
        (HUIYISHI, "一共有多少个座位？", "**72** 是 5 行的“座位”之和。"),
        (HUIYISHI, "榆树比桦木贵多少？", "榆树 (180) 与 桦木 (90) 的“价格”相差 **90**。"),
        (
            ZHANGDAN,
            "我在食品上一共花了多少钱？",
            "**-147.50** 是 2 行（类别为 食品）的“金额”之和。",
        ),
        (ZHANGDAN, "1月底我有多少钱？", "**4126.23** 是 2 行（日期不晚于 2025-01）中最后一行的“余额”。"),
    ],
)
def test_the_result_is_in_the_language_of_the_question(text: str, question: str, result: str) -> None:
    computed = ask(question, text)
    assert computed is not None
    assert computed.sentence == result


def test_a_name_as_it_is_written_is_before_one_with_its_stem() -> None:
    tenants = table("Mieter|Miete", "Ada|900,00 €", "Ben|1.100,00 €", "Cem|750,00 €")
    computed = ask("Welcher Mieter hat die höchste Miete?", tenants)
    assert computed is not None
    assert [row.cells["Mieter"] for row in computed.rows] == ["Ben"]
    assert ask("Wie hoch ist die Summe der Mieten?", tenants) is None


def test_a_table_in_another_language_is_asked_by_its_names() -> None:
    computed = ask("Welche Räume haben mehr als 10 Seats?", ROOMS)
    assert computed is None
    computed = ask("Welcher Room ist am teuersten?", ROOMS)
    assert computed is not None
    assert [row.cells["Room"] for row in computed.rows] == ["Cedar"]


@pytest.mark.parametrize(
    ("text", "question"),
    [
        (RAEUME, "Haben alle Räume einen Beamer?"),
        (RAEUME, "Welche Räume haben mehr Plätze als Birke?"),
        (RAEUME, "Welche Räume haben keine 12 Plätze?"),
        (RAEUME, "Welche Räume haben mehr als 12,500 Plätze?"),
        (RAEUME, "Welche Räume kosten weniger als 100 Dollar?"),
        (RAEUME, "Welche Räume kosten weniger als 100 Euro pro Monat?"),
        (RAEUME, "Welcher Raum hat die größten Plätze?"),
        (RAEUME, "Räume ohne Beamer und Etage 2"),
        (RAEUME, "Wie viel billiger ist Ulme als Birke?"),
        (WERKZEUGE, "Welches Werkzeug ist am ältesten?"),
        (KONTO, "Wie viel hat Einkommen ausgegeben?"),
        (KONTO, "Wie hoch ist die Summe der Kontostände?"),
        (KONTO, "Wie viel Geld hatte ich Ende Mai?"),
        (SALLES, "Quelles salles n'ont que 12 places ?"),
        (SALLES, "Quelles salles n'ont plus de 10 places ?"),
        (SALLES, "Quelles salles n'ont plus de projecteur ?"),
        (SALLES, "Quelles salles ont plus de 1.200 places ?"),
        (SALLES, "Quelle salle a les plus grandes places ?"),
        (SALLES, "Les salles ont-elles un projecteur ?"),
        (COMPTE, "Combien ai-je dépensé en courses et voyages ?"),
        (SALAS, "¿Tienen proyector todas las salas?"),
        (SALAS, "¿Qué sala tiene más plazas que Boj?"),
        (SALAS, "¿Qué salas ya no tienen proyector?"),
        (SALAS, "¿Qué salas no tienen más de 10 plazas?"),
        (SALAS, "¿Cuánto más cara es Boj que Olmo?"),
        (CUENTA, "¿Cuánto gastó Viajes?"),
        (HUIYISHI, "会议室有没有投影仪？"),
        (HUIYISHI, "会议室有多少人？"),
        (HUIYISHI, "有多少种会议室？"),
        (HUIYISHI, "会议室都有投影仪吗？"),
        (HUIYISHI, "座位10以上的会议室"),
        (HUIYISHI, "座位超过1千的会议室"),
        (HUIYISHI, "桦木比榆树贵多少？"),
        (ZHANGDAN, "余额总和是多少？"),
    ],
)
def test_what_may_mean_something_else_is_not_computed(text: str, question: str) -> None:
    assert ask(question, text) is None
