"""Ten pages whose words are known, drawn as a scanner or a telephone sees them: A4 at 200 dots per inch, in
grey.

Chinese needs a font that has its characters, such as Debian's fonts-droid-fallback; the others use PyPI's and
the system's.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from PIL import Image, ImageDraw, ImageFilter, ImageFont

SIZE = (1654, 2339)  # pixels
MARGIN = 160
LATIN_FONTS = ("LiberationSerif-Regular.ttf", "DejaVuSerif.ttf", "times.ttf", "Times New Roman.ttf")
CHINESE_FONTS = (
    "DroidSansFallbackFull.ttf",
    "NotoSansCJK-Regular.ttc",
    "wqy-microhei.ttc",
    "simsun.ttc",
    "PingFang.ttc",
)

ENGLISH = """The cliff railway of Penrose Bay was opened in the spring of 1871. It has two cars on one cable,
and the weight of the car that goes down pulls up the other. Water from the stream above the town fills a tank
below the floor of the upper car. When the car has arrived at the beach, the tank is emptied into the sea and
the next journey can begin. Ada Penrose, who paid for the works, lived in the tower beside the upper station
until her death. She left the railway to the town on one condition: nobody under the age of seven was ever to
be charged a fare. The council has kept her wish. In a good summer the railway carries ninety thousand
passengers, and on the first Sunday of May the first car is decorated with flowers."""
GERMAN = """Die Zahnradbahn führt vom Marktplatz über zwölf Brücken zum Gipfel. Für größere Gruppen gibt es
eine Ermäßigung, wenn sie früh genug angekündigt werden. Die Fähre legt täglich um halb acht ab und überquert
die Bucht in vierzig Minuten. Über den höchsten Punkt der Strecke bläst häufig ein kräftiger Wind, und dann
müssen die Wagen langsamer fahren. Schließlich erreicht man das Gästehaus, in dem schon seit achtzig Jahren
Käse, Öl und süßes Gebäck verkauft werden. Zurück geht es über die südliche Straße, an der im Frühjahr die
Mandelbäume blühen."""
FRENCH = """Le téléphérique a été inauguré en février après de longues années de travaux. À l'arrivée, les
élèves découvrent une forêt très ancienne où poussent des chênes, des hêtres et des châtaigniers. Le maître
des lieux, âgé de quatre-vingts ans, reçoit les visiteurs chez lui et leur offre du thé à la menthe. Ça et là,
des bancs permettent de se reposer à l'ombre. Dès le mois d'août, la fête du village attire des milliers de
personnes venues de toute la région. Les hôtels étant complets, beaucoup dorment à la belle étoile, près du
lac où naquit le poète."""
SPANISH = """El año pasado, los niños del pueblo plantaron cien árboles junto al río. ¿Quién cuidará de ellos
durante el verano? La señora Núñez respondió que su compañía regaría los jóvenes castaños cada mañana. También
pidió que se construyera un pequeño puente de piedra, según el plan que había dibujado su abuelo. ¡Qué alegría
cuando llegó la noticia de que el ayuntamiento había aceptado! La inauguración será el próximo sábado, después
de la misa. Habrá música, bailes y un almuerzo para más de trescientas personas."""
CHINESE = """\
悬崖铁路于一八七一年春天开通。铁路有两辆车，用一根缆绳连接，下行的车用自己的重量把另一辆车拉上山。
山上的溪水流入车厢地板下面的水箱。车到达海滩以后，水箱里的水排入大海，下一次旅程就可以开始了。
建造铁路的女士一直住在车站旁边的塔楼里。她把铁路送给了城市，条件是七岁以下的孩子永远不用买票。
每年夏天有九万名乘客乘坐这条铁路，五月的第一个星期日，第一辆车会用鲜花装饰。"""
HARBOUR = """The first column tells of the harbour. Its oldest wall was built by monks who dried their fish on
the warm stones. Later the town bought the wall and made it longer, so that ships with three masts could lie
behind it in winter. A lamp was lit every evening by the keeper, whose house still stands at the end of the
pier."""
MARKET = """The second column tells of the market. Farmers come on Tuesdays with apples, honey and wool, and
stay until noon. Nobody may sell before the bell is rung. In the year of the great frost the bell cracked, and
a new one was cast from the spoons and kettles of the whole town. It sounds a little higher than the old
one."""
TABLE = [
    ["Station", "Opened", "Height", "Visitors"],
    ["Cliff Top", "1871", "84 m", "90,000"],
    ["Harbour", "1902", "3 m", "41,250"],
    ["North Gate", "1935", "27 m", "12,700"],
    ["Observatory", "1958", "210 m", "8,430"],
    ["Old Mill", "1964", "15 m", "23,900"],
    ["Lighthouse", "1988", "46 m", "67,115"],
]


@dataclass(frozen=True, slots=True)
class ScannedPage:
    """`words` in reading order; in Chinese its characters."""

    name: str
    picture: Image.Image
    words: tuple[str, ...]


def scanned_pages(chinese_font: str | None = None) -> list[ScannedPage]:
    """All ten; without a font that has Chinese characters, nine. OSError without a font for Latin letters."""
    latin = _font(LATIN_FONTS, 38)
    pages = [
        _page(name, _draw_text(text, latin), text)
        for name, text in (("English", ENGLISH), ("German", GERMAN), ("French", FRENCH), ("Spanish", SPANISH))
    ]
    with suppress(OSError):
        pages.append(
            _page("Chinese", _draw_text(CHINESE, _font((chinese_font or "", *CHINESE_FONTS), 46)), CHINESE)
        )
    english = _draw_text(ENGLISH, latin)
    return [
        *pages,
        _page("two columns", _columns(latin), f"{HARBOUR} {MARKET}"),
        _page("table", _table(latin), " ".join(cell for row in TABLE for cell in row)),
        _page(
            "skewed by 2 degrees",
            _noisy(english.rotate(2, fillcolor=255, resample=Image.Resampling.BICUBIC)),
            ENGLISH,
        ),
        _page("photograph", _photograph(english), ENGLISH),
        _page("on its side", english.transpose(Image.Transpose.ROTATE_90), ENGLISH),
    ]


def words_of(text: str) -> tuple[str, ...]:
    """The words without the punctuation around them; in Chinese each character."""
    if any("\u4e00" <= sign <= "\u9fff" for sign in text):
        return tuple(sign for sign in text if sign.isalnum())
    return tuple(word for each in text.split() if (word := each.strip(".,:;!?¡¿|'\"()")))


def _page(name: str, picture: Image.Image, text: str) -> ScannedPage:
    return ScannedPage(name, picture, words_of(text))


def _font(names: Sequence[str], size: int) -> ImageFont.FreeTypeFont:
    for name in filter(None, names):
        try:
            return ImageFont.truetype(name, size)
        except OSError:
            continue
    raise OSError(f"none of the fonts {', '.join(names)} is installed")


def _draw_text(text: str, font: ImageFont.FreeTypeFont) -> Image.Image:
    paper = Image.new("L", SIZE, 255)
    _write(paper, text, font, MARGIN, 200, SIZE[0] - 2 * MARGIN)
    return paper


def _write(paper: Image.Image, text: str, font: ImageFont.FreeTypeFont, x: int, top: int, width: int) -> None:
    pen = ImageDraw.Draw(paper)
    spaced = text[0] < "\u4e00"
    line, space = "", " " if spaced else ""
    for word in [*(text.split() if spaced else text.replace("\n", "")), ""]:
        longer = f"{line}{space}{word}".strip()
        if word and pen.textlength(longer, font=font) <= width:
            line = longer
            continue
        pen.text((x, top), line, font=font, fill=20)
        line, top = word, top + round(1.4 * font.size)


def _columns(font: ImageFont.FreeTypeFont) -> Image.Image:
    paper = Image.new("L", SIZE, 255)
    width = (SIZE[0] - 2 * MARGIN - 80) // 2
    _write(paper, HARBOUR, font, MARGIN, 300, width)
    _write(paper, MARKET, font, MARGIN + width + 80, 300, width)
    return paper


def _table(font: ImageFont.FreeTypeFont) -> Image.Image:
    paper = Image.new("L", SIZE, 255)
    pen = ImageDraw.Draw(paper)
    for number, row in enumerate(TABLE):
        for place, cell in enumerate(row):
            pen.text((MARGIN + 340 * place, 300 + 90 * number), cell, font=font, fill=20)
        pen.line((MARGIN - 20, 365 + 90 * number, SIZE[0] - MARGIN, 365 + 90 * number), fill=120, width=2)
    return paper


def _noisy(paper: Image.Image) -> Image.Image:
    grain = Image.effect_noise(paper.size, 40)
    return Image.blend(paper.filter(ImageFilter.GaussianBlur(0.8)), grain, 0.12)


def _photograph(paper: Image.Image) -> Image.Image:
    """As in a photograph: at an angle, lit from one side, a little out of focus, on a dark table."""
    width, height = paper.size
    # from the top left, counterclockwise
    corners = (-90, -60, -140, height + 90, width + 60, height + 150, width + 110, -120)
    sheet = paper.transform(paper.size, Image.Transform.QUAD, corners, Image.Resampling.BICUBIC, fillcolor=70)
    light = (
        Image.linear_gradient("L").rotate(90).resize(paper.size).point(lambda shade: 130 + shade * 120 // 255)
    )
    shaded = Image.composite(sheet, Image.new("L", paper.size, 0), light)
    return _noisy(shaded.filter(ImageFilter.GaussianBlur(0.7)))


def save_pages(pages: Sequence[ScannedPage], folder: Path) -> None:
    """Each as PNG, to look at."""
    folder.mkdir(parents=True, exist_ok=True)
    for page in pages:
        page.picture.save(folder / f"{page.name.replace(' ', '-')}.png")
