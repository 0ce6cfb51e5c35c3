"""Sources of the advice rules."""

SOURCES = {
    "esci": "search-ranking-stack, Evaluation Metrics: a product search in stages on Amazon's ESCI",
    "guide": "S. Srivastava, Beyond Accuracy: A Technical Guide to Evaluating Search and "
    "Recommendation Systems, 24 March 2025",
    "migration": "Relevance Evaluation, notes on an engine's migration: the metric is part of the "
    "gate",
    "searchtweak": "SearchTweak, documentation, Evaluation Metrics",
    "recommender": "Evaluating Recommender Model, 2 August 2025",
    "definition": "rankgate metrics NAME: by the metric's definition",
    "validity": "docs/validity.md: simulations of this gate",
    "broder2002": "Broder, A taxonomy of web search, SIGIR Forum 36(2), 2002",
    "voorhees1999": "Voorhees, The TREC-8 question answering track report, TREC 1999",
    "jarvelin2002": "Järvelin and Kekäläinen, Cumulated gain-based evaluation of IR techniques, "
    "TOIS 20(4), 2002",
    "buckley2000": "Buckley and Voorhees, Evaluating evaluation measure stability, SIGIR 2000",
    "buckley2004": "Buckley and Voorhees, Retrieval evaluation with incomplete information, "
    "SIGIR 2004",
    "sakai2007": "Sakai, Alternatives to bpref, SIGIR 2007",
    "moffat2008": "Moffat and Zobel, Rank-biased precision for measurement of retrieval "
    "effectiveness, TOIS 27(1), 2008",
    "clarke2008": "Clarke et al., Novelty and diversity in information retrieval evaluation, "
    "SIGIR 2008",
    "webber2008": "Webber, Moffat and Zobel, Statistical power in retrieval experimentation, "
    "CIKM 2008",
    "chapelle2009": "Chapelle et al., Expected reciprocal rank for graded relevance, CIKM 2009",
    "urbano2013": "Urbano, Marrero and Martín, On the measurement of test collection reliability, "
    "SIGIR 2013",
    "sakai2016": "Sakai, Topic set size design, Information Retrieval Journal 19(3), 2016",
    "fuhr2017": "Fuhr, Some common mistakes in IR evaluation, and how they can be avoided, "
    "SIGIR Forum 51(3), 2017",
    "urbano2019": "Urbano, Lima and Hanjalic, Statistical significance testing in information "
    "retrieval, SIGIR 2019",
    "krichene2020": "Krichene and Rendle, On sampled metrics for item recommendation, KDD 2020",
    "castells2022": "Castells and Moffat, Offline recommender system evaluation: challenges and "
    "new directions, AI Magazine 43(2), 2022",
    "arabzadeh2022": "Arabzadeh et al., Shallow pooling for sparse labels, Information Retrieval "
    "Journal 25, 2022",
}
"""Citations by the key that rules use."""
