"""What the name of a column says about its values, in five languages."""

from __future__ import annotations

import re


def _names(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


MONEY = _names(
    r"(?:total |net |gross )?(?:price|costs?|amount|fees?|fare|rent)"
    r"|(?:gesamt|netto|brutto|einzel|stück)?(?:preis|kosten|betrag|gebühr|miete)"
    r"|prix|coûts?|montant|tarif|loyer|precio|costes?|costos?|importe|tarifa|alquiler"
    r"|(?:总|单)?(?:价格?|费用|金额|租金)"
)
SPENT = _names(  # which may be added up
    r"(?:total |net |gross )?(?:costs?|amount)|(?:gesamt)?(?:kosten|betrag)|coûts?|montant|costes?|costos?"
    r"|importe|费用|金额"
)
AMOUNT = _names(r".*(?:amount|betrag|montant|importe|金额).*")
RUNNING = _names(
    r"(?:running |account |closing )?balance|(?:meter )?reading|zählerstand|relevé|lectura|读数"
    r"|(?:konto)?stand|saldo|kontosaldo|solde|余额|(?:账户)?结余"
)
WEIGHT = _names(r"weight|mass|gewicht|poids|peso|重量")
LENGTH = _names(r"length|duration|länge|dauer|longueur|durée|longitud|duración|长度|时长")
HEIGHT = _names(r"height|altitude|elevation|höhe|hauteur|altura|高度|海拔")
DATED = _names(
    r"date|dated|published|released|created|built|founded|opened|datum|erschienen|gebaut|gegründet|eröffnet"
    r"|publiée?|construite?|fondée?|fecha|publicad[oa]|construid[oa]|fundad[oa]|日期"
)
DAY = _names(  # of the row itself
    r"(?:booking |transaction |payment )?date|day|datum|tag|buchungs(?:tag|datum)|(?:jour|date)"
    r"(?: de (?:l')?opération)?|fecha|día|(?:交易)?日期"
)
YEAR = _names(
    r"(?:fiscal |calendar )?year|(?:geschäfts|kalender)?jahr|année|exercice|año|ejercicio|年份?|年度"
)
QUANTITY = _names(
    r".*(?:\b(?:persons|people|personen|personnes|personas|quantity|qty|pieces|units?|stock|count|number|pcs|quantité|stock|nombre|cantidad|unidades"
    r"|existencias)\b|menge|anzahl|stückzahl|bestand|数量|库存|件数|人数).*"
)
ORDERED_BY_TIME = _names(
    r".*(?:\b(?:year|season|month|quarter|week|day|date|time|jahr|saison|monat|quartal|woche|tag|datum|zeit"
    r"|an|année|mois|trimestre|semaine|jour|heure|año|mes|semana|día|fecha|hora|temporada)\b"
    r"|年|月|季|周|日期|时间).*"
)
RANKED = _names(
    r".*(?:\b(?:rank|ranking|position|place|priority|level|rang|platz|platzierung|priorität|stufe|classement"
    r"|priorité|niveau|puesto|posición|prioridad|nivel|clasificación)\b|排名|名次|优先级|等级).*"
)
NAMELESS = _names(r"name|title|titel|bezeichnung|nom|titre|nombre|título|titulo|名称|姓名|名字|标题")
DESCRIBING = _names(  # by an adjective
    r"colou?r|type|kind|status|state|category|material|size|farbe|typ|art|zustand|kategorie|größe|couleur"
    r"|genre|statut|état|catégorie|matière|taille|color|tipo|estado|categoría|tamaño|颜色|类型|种类|状态|类别|材料|尺寸"
)
LOCATION = _names(
    r"city|town|country|region|place|location|site|stadt|ort|land|region|standort|ville|pays|région|lieu"
    r"|ciudad|país|región|lugar|城市|国家|地区|地点"
)
GROUP = _names(
    r"department|category|group|section|building|office|team|class|abteilung|kategorie|gruppe|bereich"
    r"|gebäude|büro|klasse|service|catégorie|groupe|rayon|bâtiment|bureau|équipe|classe|departamento"
    r"|categoría|grupo|sección|edificio|oficina|equipo|clase|部门|类别|分类|组|楼|办公室|班级"
)
ORIGIN = _names(
    r"from|origin|country|von|herkunft|land|abfahrt|de|origine|pays|provenance|départ|origen|país|salida"
    r"|来源|国家|出发地|产地"
)
SCALED = _names(
    r"thousand|million|billion|hundred|\bbn\b|\(k\)|tausend|milliarde|milliers|milliards|miles|[千万亿]"
)
ORDERED = _names(r".*(?:\b(?:version|time)\b|uhrzeit|heure|hora|版本|时间).*")  # 3.10 is after 3.9

CUSTOMER = _names(  # whose amounts are received
    r"customers?|clients?|buyers?|payer|donor|tenant|kunden?|käufer|mieter|zahler|auftraggeber|acheteur|locataire"
    r"|payeur|clientes?|comprador|inquilino|pagador|客户|顾客|买家|付款人|租户"
)
ACCOUNT = _names(r"(?:bank )?account(?: name)?|konto(?:name)?|compte|cuenta|iban|账户|账号")
MEASURE = _names(  # what the numbers of a row are in
    r"units?|currency|per|(?:billing )?(?:period|cycle|interval)|frequency|einheit|pro|je|turnus|zeitraum|par"
    r"|por|période|periodo|período|周期|计费周期|währung|unités?|devise|monnaie|unidad(?:es)?|moneda|divisa|单位|货币|币种"
)
PAID_OR_RECEIVED = _names(  # values of a column
    r"debits?|credits?|in|out|incomes?|expenses?|einnahmen?|ausgaben?|soll|haben|crédit|débit|recettes?|revenus?"
    r"|dépenses?|cargo|abono|ingresos?|gastos?|salary|gehalt|salaire|nómina|收入|支出|工资"
)
SIZED = _names(  # of which the largest is the highest
    MONEY.pattern
    + r"|balance|income|expenses|sales|revenue|turnover|profit|loss|budget|salary|population|area|size|value"
    r"|volume|weight|distance|number|einkommen|umsatz|gewinn|verlust|budget|gehalt|einwohner|bevölkerung|fläche"
    r"|größe|wert|volumen|gewicht|entfernung|anzahl|revenu|chiffre d'affaires|bénéfice|salaire|population"
    r"|superficie|surface|taille|valeur|volume|poids|distance|nombre|ingresos|ventas|beneficio|presupuesto"
    r"|salario|sueldo|población|superficie|tamaño|valor|volumen|peso|distancia|número|收入|支出|销售额|利润|预算|工资"
    r"|薪水|人口|面积|大小|价值|体积|重量|距离|数量|余额|温度|分数|得分|评分|成绩|海拔|高度"
)
BORN = _names(
    r".*(?:\b(?:born|birth\w*|age|alter|geboren|geburts\w+|née?|naissance|âge|nacid[oa]|nacimiento|edad)\b"
    r"|出生|生日|年龄).*"
)
NEVER_ADDED = _names(  # as a sum of them says nothing
    r".*(?:\b(?:rate|ratio|percentage|percent|share|rating|stars|grade|age|temperature|year|speed|density"
    r"|interest|floor|note|alter|temperatur|jahr|tempo|geschwindigkeit|anteil|quote|zins\w*|sterne|etage|stock"
    r"|taux|pourcentage|part|étoiles|âge|température|année|vitesse|densité|étage|tasa|porcentaje|estrellas|edad"
    r"|temperatura|año|velocidad|densidad|planta|piso|nota)\b|%|率|比例|评分|星级|年龄|温度|年份|速度|密度|楼层).*"
)

ABOUT = {
    "money": MONEY,
    "spent": SPENT,
    "received": SPENT,
    "signed": SPENT,
    "weight": WEIGHT,
    "length": LENGTH,
    "height": HEIGHT,
    "dated": DATED,
}
"""The names of the columns that a word of a question may be about: "expensive" is about money."""
