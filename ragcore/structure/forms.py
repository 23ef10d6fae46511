"""The forms of questions over rows. The symbols of a question must have one of them as a whole.

Keywords are the signs of `words`: H how many, M how much, W which, L list, n number of, T total, A average,
B between, < > l g less, more, at most, at least, e y z before, after, since, ! not, & and, | or, b is, w has,
d does, i I, t there is, r that, s the Chinese 的, p a preposition, j per, m per month, o sorted, N the order,
k than, f difference, Y how much more, a at the end of, c contains, u a unit, X most, S cheapest, Z last,
E cheaper, v a verb such as "cost", G one such as "spent", O expenses.

Others are of the table: R the name of its rows; F, C, D, x a column of yes and no, of numbers, of dates, of
text; V a value, K a number, P a date, q a quotation.
"""

from __future__ import annotations

import re

from ragcore.structure.query import Operation

_SIGN = "[<>gl]"
CONDITION = "|".join(
    (
        "(?P<flag>(?:r?w|r?bp?|p|)F|rF[wb])",
        "(?P<no_flag>(?:r?d!w?|r?w!|r?b!|!w?)F|r!F[wb]|rF!b)",
        r"(?P<equal>(?:r?bp?|p|r?w)CK(?:\|K)*|r?wKC|rpCKb|rKCw|s?CbK)",
        "(?P<unequal>(?:r?b!p?|r?d!w|r?w!|!p?)CK|(?:r?d!w|!)KC|s?C!K)",
        f"(?P<compared>(?:r?w|){_SIGN}KC|(?:r?w|r?b|p|s|)Cb?{_SIGN}K[um]*|r?v{_SIGN}K[um]*|r{_SIGN}KCw|r{_SIGN}K[um]*v|r?b[ES][kr]K[um]*)",
        "(?P<between>(?:r?w|)BK&KC|(?:r?w|p|s|)Cb?BK&K[um]*|r?vBK&K[um]*|rBK&KCw|rBK&K[um]*v|s?CpK&K[um]*B)",
        r"(?P<values>(?:r?bp|p|r?b)x?V(?:\|V)*s?|r?wxV(?:\|V)*|rp?V(?:\|V)*b|s?xbV(?:\|V)*|rxbV(?:\|V)*)",
        "(?P<not_value>r?b!p?V|!p?V|r!p?Vb|s?xb?!V|r?!bp?V)",
        "(?P<contains>r?[xR]?cq|r[xR]qc)",
        "(?P<dated>(?:r?b|r|)(?:D(?:p|[eyz])P|[peyzj]?PDb?|p?P[ey]D|DpP[ey])|(?:r?b|)(?:p|[eyz])P)",
    )
)
"""One condition. The name of its group says which."""

# Signs of conditions, as few as the rest of the form leaves: CONDITION says whether they are some.
_SIGNS = "(?:[FCDxVKPqrwbdp!s<>glBeyzjvcum&|]|[ES][kr])"
_CONDITIONS = f"(?P<conditions>{_SIGNS}*?)"
_BEFORE = f"(?P<before>{_SIGNS}+?)"
_ADJECTIVES = r"(?P<adjectives>(?:V(?:\|?V)*s?)?)"
_ROWS = rf"{_ADJECTIVES}(?:{_BEFORE}s)?R(?P<behind>V?)"
_C = "(?P<target>C)"
_PER = "(?:j[CxD]s?|m)"
_SPENDING = f"(?:T|p?Vp?|p?P|{_PER})*"

_FORMS: tuple[tuple[Operation, str], ...] = (
    # How many rooms are there per floor? 每个楼层有多少会议室？
    ("count", f"(?:T?H|(?:Wb)?n){_ROWS}(?:t|diw)?{_CONDITIONS}T?{_PER}?"),
    ("count", f"{_ROWS}T?H"),
    ("count", f"{_PER}(?:w?H)?{_ROWS}n?"),
    # Which rooms have no projector? 没有投影仪的会议室有哪些？ red tools, outils rouges
    ("list", f"[WL]?{_ROWS}t?(?P<conditions>{_SIGNS}+?)(?:b?W)?"),
    ("list", r"(?P<adjectives>V(?:\|?V)*s?)RW"),
    ("list", f"L?{_BEFORE}s{_ADJECTIVES}R(?:b?W)?"),
    ("list", r"[WL]?(?P<adjectives>V(?:\|?V)*s?)Rt?|[WL]R(?P<behind>V)t?"),
    ("list", f"L{_ROWS}"),
    ("list", "[WL](?P<target>O)(?P<conditions>(?:pV|p?P)*)"),
    # How many seats are there in total? somme des places, 座位总数
    ("sum", f"H{_C}(?:t|d?wR|dRw)?{_CONDITIONS}T"),
    ("sum", f"H{_C}d{_ROWS}{_CONDITIONS}wT"),
    ("sum", f"TH{_C}t?{_CONDITIONS}"),
    ("sum", f"(?:Wb)?Tn?{_C}(?:p?{_ROWS})?{_CONDITIONS}{_PER}?"),
    ("sum", f"(?:{_PER}|Rs)?{_C}s?T(?:p?{_ROWS})?{_CONDITIONS}{_PER}?"),
    ("sum", f"Wb{_C}T(?:p?{_ROWS})?{_CONDITIONS}{_PER}?"),
    # How much did I spend on food in May? 我在食品上一共花了多少钱？ total expenses
    (
        "sum",
        f"(?=.*M)(?=.*[TVPmj])M?[dwib]*(?P<before>{_SPENDING})w?(?P<target>G)(?P<conditions>{_SPENDING})M?",
    ),
    ("sum", f"M(?:d{_ROWS}(?P<target>v)T)"),
    ("sum", f"M(?P<target>v){_ROWS}T"),
    ("sum", f"(?:Wb)?(?:T(?P<target>O))(?P<conditions>(?:p?P)?){_PER}?"),
    # the average price by floor, le prix moyen; How much does a room cost on average?
    ("average", f"(?:Wb)?An?s?{_C}(?:p?{_ROWS})?{_CONDITIONS}{_PER}?"),
    ("average", f"(?:Wb)?{_C}A(?:p?{_ROWS})?{_CONDITIONS}{_PER}?"),
    ("average", f"(?:{_ROWS}s?|{_PER})A{_C}"),
    ("average", f"Md{_ROWS}(?P<target>v)A"),
    ("average", f"M(?P<target>v){_ROWS}A"),
    # Which room has the most seats? 哪个会议室座位最多？ the three cheapest rooms, les salles les plus chères
    ("most", f"W{_ROWS}{_CONDITIONS}w(?P<how>X)n?{_C}"),
    ("most", f"W{_ROWS}w(?P<how>X)n?{_C}{_CONDITIONS}"),
    ("most", f"W(?P<limit>K){_ROWS}w(?P<how>X)n?{_C}"),
    ("most", f"(?:Wb|L)?(?P<limit>K){_ROWS}w(?P<how>X)n?{_C}"),
    ("most", f"W{_ROWS}(?:s?{_C}(?P<how>X))"),
    ("most", f"W{_ROWS}{_CONDITIONS}b?(?P<how>S)"),
    ("most", f"W{_ROWS}(?P<target>v)(?P<how>X)"),
    ("most", f"(?:Wb|L)?(?P<limit>K)?(?P<how>S)R{_CONDITIONS}"),
    ("most", f"(?:Wb|L)?(?P<limit>K)?R(?P<how>S){_CONDITIONS}"),
    ("most", "(?P<how>S)s(?P<limit>K)?u?R(?:b?W)?"),
    ("most", f"{_C}(?P<how>X)s(?P<limit>K)?u?R(?:b?W)?"),
    ("most", f"L?(?P<how>X)(?P<limit>K)Rj{_C}"),
    # the highest price, bought last, my biggest expense
    ("most", f"Wb(?P<how>X)n?{_C}(?:p{_ROWS})?{_CONDITIONS}"),
    ("most", f"Wb{_C}(?P<how>X)(?:p?{_ROWS})?{_CONDITIONS}"),
    ("most", f"(?:Rs)?(?P<how>X)s?{_C}W?"),
    ("most", f"W{_ROWS}b?(?:(?P<target>D)(?P<how>Z))"),
    ("most", f"W{_ROWS}b(?P<how>Z)(?P<target>D)"),
    ("most", "(?:Wb)?i?s?(?P<limit>K)?(?P<how>[XZ])s?(?P<target>O)(?P<conditions>(?:p?P)?)(?:b?W)?"),
    # rooms sorted by price, 按价格排序
    ("sort", "(?=.*o)L?o?R?o?j(?P<target>[CD])o?(?P<how>N)?o?"),
    ("sort", "(?:R|)j(?P<target>[CD])(?P<how>N)?o(?:s?R)?"),
    # How many seats does Cedar have? the price of Cedar
    ("value", f"H{_C}(?:d(?P<first>V)w|w(?P<second>V))"),
    ("value", f"(?:Wb)?{_C}p(?P<first>V)"),
    ("value", f"(?P<first>V)s?(?:w?H)?{_C}H?"),
    ("value", "Md(?P<first>V)(?P<target>v)"),
    ("value", "[MW](?P<target>v)(?P<first>V)"),
    # How much more expensive is Elm than Birch? the difference in price between Elm and Birch
    ("difference", "M?(?P<target>[ES])b(?P<first>V)[kr](?P<second>V)"),
    ("difference", "Mb?(?P<first>V)b?(?P<target>[ES])[kr](?P<second>V)"),
    ("difference", "Mb(?P<first>V)(?P<target>[ES])[kr](?P<second>V)"),
    ("difference", "(?P<first>V)k(?P<second>V)(?P<target>E)[MH]"),
    ("difference", f"(?P<first>V)k(?P<second>V)YH{_C}"),
    ("difference", "Yd(?P<first>V)(?P<target>v)k(?P<second>V)"),
    ("difference", "Y(?P<target>v)(?P<first>V)[kr](?P<second>V)"),
    ("difference", f"Y{_C}d(?P<first>V)wk(?P<second>V)"),
    ("difference", f"Y{_C}w(?P<first>V)[kr](?P<second>V)"),
    ("difference", f"H{_C}Yw(?P<first>V)[kr](?P<second>V)"),
    ("difference", f"H{_C}w(?P<first>V)>(?P<second>V)"),
    ("difference", f"(?:Wb)?fp?{_C}B(?P<first>V)&(?P<second>V)"),
    ("difference", f"(?:Wb)?{_C}fB(?P<first>V)&(?P<second>V)"),
    ("difference", f"(?:Wb)?fB(?P<first>V)&(?P<second>V)p{_C}"),
    ("difference", f"(?P<first>V)&(?P<second>V)s?{_C}f"),
    # How much money did I have at the end of February?
    ("balance", "M[dwi]*a(?P<day>P)"),
    ("balance", "i?(?P<day>P)ai?w?M"),
    ("balance", f"(?P<day>P)a?s?{_C}"),
    ("balance", f"Wb{_C}[ap](?P<day>P)"),
)
FORMS = tuple((operation, re.compile(form)) for operation, form in _FORMS)
