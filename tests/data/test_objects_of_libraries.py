"""Objects that the libraries themselves make give the numbers of the same data in TREC form."""

from __future__ import annotations

import importlib
import json
import warnings
from importlib import metadata

import pytest

import rankgate
from rankgate.core.errors import InputError, UsageError
from rankgate.data.adapters import ADAPTERS
from rankgate.data.answers.clients import ANSWERS

pytestmark = [pytest.mark.libraries, pytest.mark.filterwarnings("ignore")]  # theirs

QRELS = {"1": {"20": 2, "30": 1}, "2": {"40": 1, "50": 3}}
LISTS = {"1": ["10", "20", "30"], "2": ["20", "40"]}
RUN = {query: {doc: 9.0 - i for i, doc in enumerate(docs)} for query, docs in LISTS.items()}
METRICS = ["nDCG@10", "RR", "P(rel=2)@2"]


@pytest.fixture(scope="module", autouse=True)
def no_network():
    """Some libraries warn when they are imported, or check for new versions."""
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("ignore")
        patch.setenv("HF_HUB_OFFLINE", "1")
        patch.setenv("HAYSTACK_TELEMETRY_ENABLED", "False")
        patch.setenv("GRPC_VERBOSITY", "ERROR")  # which Weaviate's client sets
        yield


@pytest.fixture(scope="module")
def trec(tmp_path_factory):
    """The files of the same data in TREC form."""
    folder = tmp_path_factory.mktemp("trec")
    qrels, run = folder / "a.qrels", folder / "a.run"
    qrels.write_text("".join(f"{q} 0 {d} {g}\n" for q, row in QRELS.items() for d, g in row.items()))
    run.write_text("".join(f"{q} Q0 {d} 1 {s} a\n" for q, row in RUN.items() for d, s in row.items()))
    return qrels, run


def values(qrels, run):
    return rankgate.evaluate(qrels, run, METRICS).values.get_column("value").to_list()


@pytest.fixture(scope="module")
def expected(trec):
    return values(*trec)


def data_set(folder):
    """A registered data set of ir_datasets with local files."""
    ir_datasets = importlib.import_module("ir_datasets")
    formats = importlib.import_module("ir_datasets.formats")
    util = importlib.import_module("ir_datasets.util")
    qrels, run = folder
    return ir_datasets.Dataset(
        formats.TrecQrels(util.LocalDownload(qrels), {}), formats.TrecScoredDocs(util.LocalDownload(run))
    )


def test_ir_datasets(trec, expected):
    ir_datasets = importlib.import_module("ir_datasets")
    dataset = data_set(trec)
    ir_datasets.registry.register("rankgate/shop", dataset)
    loaded = ir_datasets.load("rankgate/shop")
    assert values(loaded, loaded) == expected
    assert values(loaded.qrels_iter(), loaded.scoreddocs_iter()) == expected
    assert values(loaded.qrels, loaded.scoreddocs) == expected
    assert values(loaded.qrels.asdict(), {"first": loaded}) == expected
    qrels_dataset = ir_datasets.Dataset(loaded.qrels_handler())
    with pytest.raises(InputError) as refused:
        values(qrels_dataset, qrels_dataset)
    assert refused.value.code == "missing-input"


def test_ir_measures(trec, expected):
    im = importlib.import_module("ir_measures")
    assert values(im.read_trec_qrels(str(trec[0])), im.read_trec_run(str(trec[1]))) == expected
    qrels = [im.Qrel(q, d, g) for q, row in QRELS.items() for d, g in row.items()]
    run = [im.ScoredDoc(q, d, s) for q, row in RUN.items() for d, s in row.items()]
    assert values(qrels, run) == expected
    measures = [im.nDCG @ 10, im.AP(rel=2), im.nDCG(dcg="exp-log2") @ 2, im.P @ 2, im.SetF(beta=2.0)]
    peer_values = im.calc_aggregate(measures, qrels, run)
    means = rankgate.evaluate(QRELS, RUN, measures, "ir_measures").means
    for measure in measures:
        assert means[str(measure)][0] == pytest.approx(peer_values[measure], abs=2e-5)  # 5 digits
    (result,) = rankgate.compare(QRELS, RUN, {"new": RUN}, im.nDCG @ 10).comparisons
    assert result.metrics["metric"].to_list() == ["nDCG@10"]


def test_the_drop_in_takes_measures_of_ir_measures():
    im = importlib.import_module("ir_measures")
    from rankgate.compat import ir_measures as ours

    length = im.define_byquery(lambda qrels, run: float(len(run)), name="length")  # noqa: ARG005
    measures = [im.nDCG @ 10, im.AP(rel=2), im.P(rel=2) @ 2, im.RR, length, length @ 1]
    peer_values = im.calc_aggregate(measures, QRELS, RUN)
    means, values = ours.calc([*measures, ours.RR, "RR@1"], QRELS, RUN)
    assert [type(measure).__module__.split(".")[0] for measure in means][-3:] == [
        "ir_measures",
        "rankgate",
        "rankgate",
    ]
    for measure in measures:
        assert means[measure] == pytest.approx(peer_values[measure], abs=1e-9)
    by_query = {(m.query_id, m.measure): m.value for m in im.iter_calc(measures, QRELS, RUN)}
    ours_by_query = {(m.query_id, m.measure): m.value for m in values if m.measure in peer_values}
    assert ours_by_query == pytest.approx(by_query, abs=1e-9)
    for wrong in (im.RR, "RR", [3]):
        with pytest.raises(UsageError) as refused:
            ours.calc_aggregate(wrong, QRELS, RUN)
        assert refused.value.code == "wrong-type"


def test_ranx(expected):
    ranx = importlib.import_module("ranx")
    qrels, run = ranx.Qrels(QRELS), ranx.Run(RUN, name="bm25")
    assert values(qrels, run) == expected
    assert values(qrels, [run, run]) == expected * 2
    from rankgate.compat import ranx as ours

    assert ours.evaluate(qrels, run, "mrr") == ranx.evaluate(qrels, run, "mrr")
    assert values(ours.Qrels(QRELS), ours.Run(RUN)) == expected
    assert values(ours.Qrels(qrels), ours.Run(run)) == expected
    assert ours.Run(run).name == "bm25"
    backwards = {query: {doc: -score for doc, score in row.items()} for query, row in RUN.items()}
    reversed_run = ranx.Run(backwards, name="other")
    for judgments in (qrels, ours.Qrels(QRELS)):
        report = ours.compare(judgments, [run, reversed_run], ["mrr"]).to_dict()
        means = [report[name]["scores"]["mrr"] for name in ("bm25", "other")]
        assert means == [ranx.evaluate(qrels, system, "mrr") for system in (run, reversed_run)]
    assert (
        ours.fuse([run, reversed_run], method="sum").to_dict()
        == ours.fuse([ours.Run(RUN), ours.Run(backwards)], method="sum").to_dict()
    )
    with pytest.raises(InputError) as refused:
        ours.Qrels([1, 2])
    assert refused.value.code == "wrong-type"


def test_hugging_face(expected):
    datasets = importlib.import_module("datasets")
    rows = [{"query-id": q, "corpus-id": d, "score": g} for q, row in QRELS.items() for d, g in row.items()]
    qrels = datasets.Dataset.from_list([*rows, {"query-id": "3", "corpus-id": "1", "score": 0}])
    run = datasets.Dataset.from_list(
        [{"qid": q, "docno": d, "score": s} for q, row in RUN.items() for d, s in row.items()]
    )
    judged = qrels.filter(lambda row: row["query-id"] != "3")  # which keeps all rows in its table
    assert values(judged, run) == expected
    assert values(judged.to_iterable_dataset(), run.to_iterable_dataset()) == expected
    with pytest.raises(InputError) as refused:
        values(datasets.DatasetDict({"test": qrels}), run)
    assert refused.value.code == "several-tables"


def elasticsearch():
    elasticsearch = importlib.import_module("elasticsearch")
    transport = importlib.import_module("elastic_transport")

    class Node(transport.BaseNode):
        """A node that answers without a server."""

        def perform_request(self, *_request, body=None, headers=None, **_options):
            query = json.loads(body)["query"]["match"]["text"] if body else ""
            hits = [
                {"_index": "shop", "_id": d, "_score": s, "_source": {"sku": d}}
                for d, s in RUN[query].items()
            ]
            answer = json.dumps({"took": 1, "hits": {"hits": hits}}).encode()
            headers = transport.HttpHeaders(
                {"content-type": "application/json", "x-elastic-product": "Elasticsearch"}
            )
            meta = transport.ApiResponseMeta(200, "1.1", headers, 0.1, self.config)
            return importlib.import_module("elastic_transport._node").NodeApiResponse(meta, answer)

        def close(self):
            """No resource is left open."""

    client = elasticsearch.Elasticsearch("http://shop:9200", node_class=Node)
    return {q: client.search(query={"match": {"text": q}}) for q in RUN}


def dsl(module, search):
    """The responses of the helpers of Elasticsearch and OpenSearch."""
    response = importlib.import_module(f"{module}.response").Response
    hits = {
        q: [{"_id": d, "_score": s, "_source": {"sku": d}} for d, s in row.items()] for q, row in RUN.items()
    }
    return {q: response(search(), {"hits": {"hits": row}}) for q, row in hits.items()}


def elasticsearch_dsl():
    return dsl("elasticsearch.dsl", importlib.import_module("elasticsearch.dsl").Search)


def opensearch_dsl():
    search = importlib.import_module("opensearchpy.helpers.search").Search
    return dsl("opensearchpy.helpers", search)


def solr():
    pysolr = importlib.import_module("pysolr")
    return {
        q: pysolr.Results({"response": {"docs": [{"id": d, "sku": [d], "score": s} for d, s in row.items()]}})
        for q, row in RUN.items()
    }


def qdrant():
    client = importlib.import_module("qdrant_client").QdrantClient(":memory:")
    models = importlib.import_module("qdrant_client.models")
    size = models.VectorParams(size=2, distance=models.Distance.DOT)
    answers = {}
    for query, row in RUN.items():
        client.create_collection(query, vectors_config=size)
        points = [models.PointStruct(id=int(d), vector=[s, 0.0], payload={"sku": d}) for d, s in row.items()]
        client.upsert(query, points)
        answers[query] = client.query_points(query, query=[1.0, 0.0])
    return answers


def weaviate():
    classes = importlib.import_module("weaviate.collections.classes.internal")
    uuid = importlib.import_module("uuid")
    return {
        q: classes.QueryReturn(
            objects=[
                classes.Object(
                    uuid=uuid.UUID(int=int(d)),
                    metadata=classes.MetadataReturn(score=s),
                    properties={"sku": d},
                    references=None,
                    vector={},
                    collection="Shop",
                )
                for d, s in row.items()
            ]
        )
        for q, row in RUN.items()
    }


def vespa():
    response = importlib.import_module("vespa.io").VespaQueryResponse
    return {
        q: response(
            {"root": {"children": [{"id": d, "relevance": s, "fields": {"sku": d}} for d, s in row.items()]}},
            200,
            "http://shop",
        )
        for q, row in RUN.items()
    }


def algolia():
    models = importlib.import_module("algoliasearch.search.models.search_response")
    return {
        q: models.SearchResponse.from_dict(
            {
                "hits": [{"objectID": d, "sku": d} for d in docs],
                "processingTimeMS": 1,
                "query": q,
                "params": "",
                "nbHits": 3,
            }
        )
        for q, docs in LISTS.items()
    }


def langchain_store():
    core = importlib.import_module("langchain_core.vectorstores")
    documents = importlib.import_module("langchain_core.documents")
    embeddings = importlib.import_module("langchain_core.embeddings").Embeddings

    class Numbers(embeddings):
        """The numbers that texts are, as angles."""

        def embed_documents(self, texts):
            return [[1.0, float(text)] for text in texts]

        def embed_query(self, text):
            return [1.0, float(text)]

    stores = {}
    for query, row in RUN.items():
        stores[query] = core.InMemoryVectorStore(Numbers())
        stores[query].add_documents(
            [documents.Document(page_content=str(9 - s), id=d, metadata={"sku": d}) for d, s in row.items()]
        )
    return stores


def langchain():
    return {q: store.as_retriever().invoke("0") for q, store in langchain_store().items()}


def langchain_scores():
    return {q: store.similarity_search_with_score("0") for q, store in langchain_store().items()}


def llama_index():
    schema = importlib.import_module("llama_index.core.schema")
    return {
        q: [
            schema.NodeWithScore(node=schema.TextNode(id_=d, text="x", metadata={"sku": d}), score=s)
            for d, s in row.items()
        ]
        for q, row in RUN.items()
    }


def llama_index_response():
    response = importlib.import_module("llama_index.core.base.response.schema").Response
    return {q: response("x", source_nodes=nodes) for q, nodes in llama_index().items()}


def haystack():
    document = importlib.import_module("haystack").Document
    store = importlib.import_module("haystack.document_stores.in_memory").InMemoryDocumentStore
    retrievers = importlib.import_module("haystack.components.retrievers.in_memory")
    answers = {}
    for query, docs in LISTS.items():
        documents = store()
        documents.write_documents(
            [  # fewer words in all: a greater score
                document(id=d, content="mug " + "cup " * i, meta={"sku": d}) for i, d in enumerate(docs)
            ]
        )
        answers[query] = retrievers.InMemoryBM25Retriever(documents).run(query="mug")
    return answers


CLIENTS = [
    elasticsearch,
    elasticsearch_dsl,
    opensearch_dsl,
    solr,
    qdrant,
    weaviate,
    vespa,
    algolia,
    langchain,
    langchain_scores,
    llama_index,
    llama_index_response,
    haystack,
]


@pytest.mark.parametrize("client", CLIENTS)
def test_clients_of_engines(client, expected):
    answers = client()
    collection = rankgate.Collection(QRELS, columns="doc=sku")
    assert values(collection, answers) == expected  # a stored field holds the ids
    assert values(collection, {"new": answers}) == expected
    if client is not weaviate:  # whose own ids are UUIDs
        assert values(QRELS, answers) == expected
        result = rankgate.compare(QRELS, answers, {"new": answers}, METRICS)
        assert set(result.comparisons[0].metrics["delta"]) == {0.0}


def test_the_versions_of_the_declarations():
    """A newer version of a library is tried here before it is declared as tested."""
    heavy = {"lenskit", "rankgate", ""}  # LensKit asks for PyTorch
    declared = {kind.package: kind.tested for kind in (*ADAPTERS, *ANSWERS)}
    for name in declared.keys() - heavy:
        assert metadata.version(name) == declared[name]


def test_an_object_of_another_version_names_what_is_expected(monkeypatch):
    answers = qdrant()
    models = importlib.import_module("qdrant_client.models")
    kind = next(kind for kind in ANSWERS if kind.title == "Qdrant")
    monkeypatch.setitem(kind.answers, models.QueryResponse.__name__, "results")
    with pytest.raises(InputError) as refused:
        values(QRELS, answers)
    assert refused.value.code == "unsupported-version"
    message = str(refused.value)
    assert all(word in message for word in ("QueryResponse", "'results'", kind.tested, "points"))


def test_trackers_take_flat_numbers(tmp_path, monkeypatch):
    mlflow, wandb = importlib.import_module("mlflow"), importlib.import_module("wandb")
    monkeypatch.chdir(tmp_path)
    for name in ("MLFLOW_TRACKING_URI", "WANDB_SERVICE"):  # which they set
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    result = rankgate.compare(QRELS, RUN, {"new": RUN}, [*METRICS, "nDCG(gain='exp')@5"])
    flat = result.to_flat()
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/mlflow.db")
    with mlflow.start_run() as run:
        mlflow.log_metrics(flat)
    assert mlflow.get_run(run.info.run_id).data.metrics == flat
    with wandb.init(mode="offline", dir=str(tmp_path)) as tracked:
        tracked.log(flat)
        tracked.log({"comparison": wandb.Table(dataframe=result.to_pandas())})
        assert {name: tracked.summary[name] for name in flat} == flat
