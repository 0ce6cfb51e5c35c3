"""Column names of many tools, in several languages, and tables of shown results with clicks.

Tables from many tools use these names for columns and labels. They serve only for guesses that a
user confirms; names that are accepted without confirmation are in `rankgate.data.column_names`.

Judgments are learned from tables of shown results with clicks.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import Any, TypeAlias

from rankgate.core.errors import InputError
from rankgate.data.column_names import TIME_NAMES, match_columns
from rankgate.data.unfold import QUERY_IDS, names_list

_NUMBER = re.compile(r"[-+]?[\d.]")

_COLUMN_NAMES: Mapping[str, str] = {
    "query_id": """
        search searchterm searchterms searchquery searchphrase searchtext searchstring searchkey
        term terms querytext querystring querystr userquery rawquery originalquery q keywords
        searchkeyword keyphrase phrase input userinput question questionid utterance customerid customer
        visitorid visitor clientid memberid accountid
        suchbegriff suchanfrage anfrage frage suchwort suche suchtext suchphrase kunde kundennummer
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
        distance dist vectordistance
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
    """The fit of a name for one of our columns: 3 for an equal name, 2 for a part, else 0.

    >>> name_fit("Search-Term", "query_id"), name_fit("shop_sku", "doc_id")
    (3, 2)
    """
    names = _normalized_names()[column]
    if normalize_name(name) in names:
        return 3
    parts = [part_text for part_text in re.split(r"[\W_]+|(?<=[a-z])(?=[A-Z])", name) if part_text]
    joined_parts = {normalize_name(first_word + next_word) for first_word, next_word in pairwise(parts)} | {
        normalize_name(word) for word in parts
    }
    return 2 if joined_parts & names else 0


def names_columns(names: Sequence[str]) -> bool:
    """True if names describe the content of columns, and none is a number.

    These are at least two of three names, or names of queries and of lists of documents.
    """
    if len({*names}) < len(names) or any(map(_NUMBER.match, names)):
        return False
    names_by_role = {
        role: {name for name in names if match_columns([name], (role,)) or name_fit(name, role)}
        for role in ("query_id", "doc_id", "grade", "rank")
    }
    queries = names_by_role["query_id"] | {name for name in names if name.lower() in QUERY_IDS}
    has_lists = bool(queries) and any(map(names_list, {*names} - queries))
    return has_lists or (len(names) > 2 and sum(map(bool, names_by_role.values())) > 1)


@cache
def _normalized_names() -> dict[str, frozenset[str]]:
    return {column: frozenset(map(normalize_name, names.split())) for column, names in _COLUMN_NAMES.items()}


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
    """A name in lower case without accents, blanks and punctuation.

    >>> normalize_name("Search-Term"), normalize_name("Relevância")
    ('searchterm', 'relevancia')
    """
    plain_name = unicodedata.normalize("NFKD", name.replace("ł", "l").replace("Ł", "L"))
    unaccented = "".join(character for character in plain_name if not unicodedata.combining(character))
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
        # labels with the same meaning have no known order
        label: None if level is None or known_levels.count(level) > 1 else grade_of_level[level]
        for label, level in best_first
    }


_LEVEL_OF_LABEL = {normalize_name(name): level for level, names in _LABEL_LEVELS for name in names.split()}


_MEASURED = re.compile(
    r"(?i)(^|[^a-z])(hit_?rate|mrr|rr|map|ap|dcg|ndcg|recall|precision|f1|accuracy|faithfulness|"
    r"latency|tokens?|cost|answer|response|output|expected_output|explanation|reason)([^a-z]|$)"
)


def names_measure(name: str) -> bool:
    """True for names of metrics, answers and costs, which are neither ids of documents nor grades.

    >>> names_measure("hit_rate"), names_measure("id_based_context_recall"), names_measure("map_id")
    (True, True, False)
    """
    return bool(_MEASURED.search(name)) and not name.lower().endswith(("id", "ids"))


_COLUMN_ALIASES: Mapping[str, str] = {
    "session": "session sessionid sessid visit visitid visitorsession besuch besuchid sitzung sitzungid "
    "visite sesion sesionid sessao sessione sessie sesja",
    "user": "user userid uid visitor visitorid client clientid customer customerid nutzer nutzerid benutzer "
    "besucher kunde kundennr utilisateur visiteur usuario visitante utente gebruiker uzytkownik",
    "variant": "arm variant abvariant testvariant bucket testgroup abgroup experimentgroup testgruppe "
    "variante groupetest groupedetest grupodeprueba grupodeteste gruppotest",
    "at": " ".join(TIME_NAMES).replace("_", "")
    + " zeit zeitpunkt zeitstempel heure horodatage hora ora czas tijd",
    "action": "action actionname eventtype eventname event activity behavior interaction aktion ereignis "
    "evenement accion evento acao azione actie akcja zdarzenie",
    "click": "clicked click clicks isclick isclicked wasclicked hasclick",
    "purchase": "purchased purchase bought ordered ispurchase converted conversion",
    "add_to_cart": "addtocart addedtocart cart incart",
}
"""Column names for fields of a mapping and kinds of events, in the form of `normalize_name`."""

_FLAGS = ("click", "add_to_cart", "purchase")


def column_of_fields(names: Sequence[str]) -> dict[str, str]:
    """The column of each field of a mapping and each kind of event that the names suggest.

    >>> column_of_fields(["ts", "visit_id", "clicked"])
    {'session': 'visit_id', 'at': 'ts', 'click': 'clicked'}
    """
    by_name = {normalize_name(name): name for name in reversed(names)}
    return {
        field: by_name[word]
        for field, alias_text in _COLUMN_ALIASES.items()
        for word in reversed(alias_text.split())
        if word in by_name
    }


def guess_fields(names: Sequence[str], mapping: Mapping[str, str] | None = None) -> dict[str, str]:
    """The columns of `column_of_fields`, and those of the query, the document and the rank.

    Args:
        names: the names of the columns.
        mapping: columns that the user names, by field.

    >>> guess_fields(["ts", "Search-Term", "clicked"])
    {'at': 'ts', 'click': 'clicked', 'query': 'Search-Term'}
    """
    fields = column_of_fields(names)
    our_columns = {"query": "query_id", "doc_id": "doc_id", "rank": "rank"}
    other_names = [name for name in names if name not in fields.values()]
    columns = guess_our_columns(other_names, our_columns.values())
    fields |= {field: columns[column] for field, column in our_columns.items() if column in columns}
    return fields | dict(mapping or {})


def columns_of_fields(fields: Iterable[str], columns: Mapping[str, str]) -> dict[str, str]:
    """The columns of some fields, without the fields that have none."""
    return {field: columns[field] for field in fields if field in columns}


def guess_our_columns(names: Sequence[str], our_columns: Collection[str]) -> dict[str, str]:
    """Our columns in a table, by their usual names, else by those of other tools (ours -> theirs)."""
    best_names = {
        column: max(names, key=lambda name: name_fit(name, column)) for column in our_columns if names
    }
    fits = {column: name for column, name in best_names.items() if name_fit(name, column)}
    return fits | match_columns(names, best_names)


Tables: TypeAlias = dict[str, dict[str, Any]]
"""The tables of a mapping: values by key, and in ``lists`` values by kind and key."""


def toml_lines(tables: Tables, comments: Mapping[tuple[str, str], str] | None = None) -> tuple[str, ...]:
    """The tables of a mapping as lines of TOML.

    Args:
        tables: the tables.
        comments: comments by table and key.

    >>> toml_lines({"flags": {"click": "clicked"}, "log": {"kind": "click"}}, {("flags", "click"): "0, 1"})
    ('[log]', 'kind = "click"', '[flags]', 'click = "clicked"  # 0, 1')
    """
    flat = {name: values for name, values in tables.items() if name != "lists"}
    flat |= {f"lists.{kind}": values for kind, values in tables.get("lists", {}).items()}
    lines = []
    for name in sorted(flat, key=lambda name: (*_TABLES, name).index(name)):
        lines += [f"[{name}]"] if flat[name] else []
        for key, value in flat[name].items():
            comment = (comments or {}).get((name, key))
            text = json.dumps(value, ensure_ascii=False)
            lines.append(f"{key} = {text}  # {comment}" if comment else f"{key} = {text}")
    return tuple(lines)


_TABLES = ("log", "columns", "kinds", "flags", "dimensions")


def with_search_id(columns: dict[str, str]) -> dict[str, str]:
    """The columns with one for the id of searches: their visit, else their user, and their words."""
    owner = columns.get("session") or columns.get("user")
    search_id = {"query_event_id": f"{owner}+{columns['query']}"} if owner else {}
    return {**columns, **search_id, **columns}


def click_log_tables(names: Sequence[str]) -> Tables:
    """The mapping of a table of shown results that its names suggest; empty without clicks.

    >>> click_log_tables(["session", "query", "rank", "doc", "clicked"])["flags"]
    {'click': 'clicked'}
    """
    fields = guess_fields(names)
    if not {"click", "query", "doc_id", "rank"} <= {*fields}:
        return {}
    mapped = ("query", "doc_id", "rank", "session", "user", "variant", "at")
    return {
        "log": {"kind": "impression"},
        "columns": with_search_id(columns_of_fields(mapped, fields)),
        "flags": columns_of_fields(_FLAGS, fields),
    }


def log_mapping(names: Sequence[str]) -> tuple[str, ...]:
    """The lines of a mapping for a table with clicks and sessions; empty for other tables."""
    tables = click_log_tables(names)
    return toml_lines(tables) if "query_event_id" in tables.get("columns", {}) else ()


def refuse_click_log(names: Sequence[str], label: str, line: int | None) -> None:
    """Check that a table is not a log of shown results with clicks.

    Args:
        names: its columns.
        label: the file.
        line: the line of their names, if the file has lines.

    Raises:
        InputError: the table is a log; the message has the mapping and the command that learns
            judgments.
    """
    lines = log_mapping(names)
    if not lines:
        return
    problem = (
        f"a log of shown results with clicks ({', '.join(names[:8])}), from which judgments are learned; if "
        "this guess is right, save it as log.toml:"
    )
    command = f"rankgate online judgments {label} --mapping log.toml -o qrels.csv"
    raise InputError(
        problem, source=label, line=line, code="log-not-judgments", suggestions=(*lines, "and run", command)
    )
