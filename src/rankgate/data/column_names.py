"""Names that tables from many tools give to columns and labels, in several languages.

They serve only for guesses that a user confirms; names that are read without asking are in
`rankgate.data.columns`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import pairwise

from rankgate.data.columns import map_columns

_NUMBER = re.compile(r"[-+]?[\d.]")

_COLUMN_NAMES: Mapping[str, str] = {
    "query_id": """
        search searchterm searchterms searchquery searchphrase searchtext searchstring searchkey
        term terms querytext querystring querystr userquery rawquery originalquery q keywords
        searchkeyword keyphrase phrase question questionid utterance customerid customer visitorid
        visitor clientid memberid accountid
        suchbegriff suchanfrage anfrage suchwort suche suchtext suchphrase kunde kundennummer
        requete recherche termederecherche motcle motscles requeterecherche
        consulta busqueda terminodebusqueda terminobusqueda palabraclave cliente
        termo termodebusca busca pesquisa consultadebusca palavrachave
        ricerca terminediricerca parolachiave
        zapytanie fraza szukanafraza wyszukiwanie
        zoekterm zoekopdracht zoekvraag dotaz sorgu arama aramaterimi sokterm sokord
        запрос поисковыйзапрос текстзапроса
        検索語 検索クエリ クエリ 検索キーワード 查询 查询词 搜索词 搜索 关键词 검색어 쿼리
        """,
    "doc_id": """
        sku skuid asin ean gtin upc isbn productcode productnumber productid product productsku
        articleid articlenumber articleno article url uri link page pageid result resultid hit hitid
        listing listingid hotelid jobid trackid songid videoid bookid newsid passageid passage
        chunkid chunk paperid businessid propertyid offerid offer recipeid imdbid objectid
        artikel artikelnummer artikelnr produkt produktid produktnummer dokument dokumentid
        produit idproduit codeproduit reference referenceproduit documentid
        producto idproducto codigoproducto articulo documento referencia codigo
        produto idproduto codigoproduto artigo
        prodotto idprodotto codiceprodotto articolo codice
        idproduktu produktu indeks dokumentu
        productnummer artikelcode urun urunid
        товар артикул документ идентификатортовара
        商品 商品id 商品コード 商品番号 文書 文書id 产品 产品id 商品编号 文档 文档id
        상품 상품id 문서
        """,
    "grade": """
        relevancelabel relevancegrade relevancescore relevancerating relevancejudgment relevancy
        relevant isrelevant finalrating finalgrade finallabel escilabel goldlabel
        humanlabel quality usefulness verdict stars points judgementlabel assessment class target
        bewertung relevanz note urteil punkte
        pertinence etiquette jugement
        relevancia calificacion puntuacion etiqueta valoracion
        avaliacao relevancia nota rotulo
        rilevanza valutazione etichetta voto giudizio
        ocena trafnosc etykieta
        beoordeling relevantie hodnoceni puan etiket betyg
        оценка релевантность метка
        評価 関連度 ラベル 相关性 评分 标签 평가 관련도 라벨
        """,
    "rank": """
        pos ranking order place resultrank resultposition rankposition slot
        rang platz stelle posicion puesto posicao pozycja posizione positie plek sira
        позиция место 順位 排名 名次 순위
        """,
    "score": """
        bm25 bm25score relevancescore searchscore retrievalscore modelscore systemscore
        cosine cosinesimilarity probability prob logit confidence points punktzahl
        puntaje pontuacao punteggio wynik pisteet
        スコア 得分 分数 점수 счет балл
        """,
}
"""For each of our columns the names in other tools, in the form of `normalize_name`."""


def name_fit(name: str, column: str) -> int:
    """The fit of a name for one of our columns: 3 for the same name, 2 for a part of it, else 0.

    >>> name_fit("Search-Term", "query_id"), name_fit("shop_sku", "doc_id")
    (3, 2)
    """
    names = _normalized_names()[column]
    if normalize_name(name) in names:
        return 3
    parts = [part_text for part_text in re.split(r"[\W_]+|(?<=[a-z])(?=[A-Z])", name) if part_text]
    joined_parts = {
        normalize_name(first_word + next_word) for first_word, next_word in pairwise(parts)
    } | {normalize_name(word) for word in parts}
    return 2 if joined_parts & names else 0


def names_columns(names: Sequence[str]) -> bool:
    """True if at least two of three names say what a column holds, and none is a number."""
    if len(names) < 3 or len({*names}) < len(names) or any(map(_NUMBER.match, names)):
        return False
    roles = ("query_id", "doc_id", "grade", "rank")
    clear_columns = [
        column
        for column in roles
        if map_columns(names, (column,)) or any(name_fit(name, column) for name in names)
    ]
    return len(clear_columns) > 1


@cache
def _normalized_names() -> dict[str, frozenset[str]]:
    return {
        column: frozenset(map(normalize_name, names.split()))
        for column, names in _COLUMN_NAMES.items()
    }


_LABEL_LEVELS: tuple[tuple[float, str], ...] = (
    (3.5, "perfect perfectlyrelevant perfectmatch vital perfekt perfecto perfetto parfait"),
    (
        3,
        """exact e excellent highlyrelevant veryrelevant verygood key sehrgut sehrrelevant
        exakt genau ausgezeichnet
        exacto exacta muyrelevante muybueno excelente esatto moltorilevante ottimo
        trespertinent tresbon exacte excellente
        muitorelevante exato doskonaly bardzotrafny bardzodobry dokladny
        отлично точно оченьрелевантно 完全一致 非常相关 完美 매우관련""",
    ),
    (
        2,
        """substitute s good relevant goodmatch similar gut relevante bueno bom buono bon pertinent
        pertinente rilevante dobry trafny goed goodrelevant ersatz sustituto substituto
        хорошо релевантно 関連 相关 관련""",
    ),
    (
        1,
        """complement c partial partialmatch partiallyrelevant somewhatrelevant marginal
        marginallyrelevant related fair okay ok average acceptable maybe teilweise
        teilweiserelevant mittel parcial parcialmenterelevante regular partiel
        partiellementpertinent moyen parziale parzialmenterilevante czesciowy sredni
        частично 部分一致 部分相关 부분""",
    ),
    (
        0,
        """irrelevant i nonrelevant notrelevant bad poor none off offtopic unrelated embarrassing
        terrible nomatch wrong irrelevante norelevante malo ruim mau nonpertinent
        nonrilevante pessimo cattivo schlecht nichtrelevant unpassend mauvais
        nietrelevant slecht nietrafny zly плохо нерелевантно 不一致 不相关 무관""",
    ),
)

_YES = "yes y true t ja oui si sim tak da да relevant click clicked はい 是 예"
_NO = """no n false f nein non nao nie nee нет notrelevant irrelevant nonrelevant
    いいえ 否 아니요"""


def normalize_name(name: str) -> str:
    """A name without accents, blanks and signs, in lower case.

    >>> normalize_name("Search-Term"), normalize_name("Relevância")
    ('searchterm', 'relevancia')
    """
    plain_name = unicodedata.normalize("NFKD", name.replace("ł", "l").replace("Ł", "L"))
    unaccented = "".join(
        character for character in plain_name if not unicodedata.combining(character)
    )
    return re.sub(r"[\W_]+", "", unicodedata.normalize("NFC", unaccented)).casefold()


def guess_grades(labels: list[str]) -> dict[str, int | None]:
    """The usual grade of each label, the best first; None for an unknown label.

    >>> guess_grades(["Irrelevant", "Exact"])
    {'Exact': 3, 'Irrelevant': 0}
    >>> guess_grades(["bad", "good", "excellent", "perfect", "fair"])
    {'perfect': 4, 'excellent': 3, 'good': 2, 'fair': 1, 'bad': 0}
    >>> guess_grades(["no", "yes"])
    {'yes': 1, 'no': 0}
    """
    keys = {label: normalize_name(label) for label in labels}
    yes, no = set(_YES.split()), set(_NO.split())
    if set(keys.values()) <= yes | no and set(keys.values()) & yes:
        levels: dict[str, float | None] = {label: int(key in yes) for label, key in keys.items()}
    else:
        levels = {label: _LEVEL_OF_LABEL.get(key) for label, key in keys.items()}
    known_levels = [level for level in levels.values() if level is not None]
    grade_of_level = {level: int(level) for level in known_levels}
    if len(set(grade_of_level.values())) < len(grade_of_level):
        grade_of_level = {level: grade for grade, level in enumerate(sorted(grade_of_level))}
    best_first = sorted(levels.items(), key=lambda pair: 1.0 if pair[1] is None else -pair[1])
    return {
        # it is unknown which of two labels with the same meaning is better
        label: None if level is None or known_levels.count(level) > 1 else grade_of_level[level]
        for label, level in best_first
    }


_LEVEL_OF_LABEL = {
    normalize_name(name): level for level, names in _LABEL_LEVELS for name in names.split()
}
