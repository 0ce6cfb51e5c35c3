"""scikit-learn: one query at a time, every judged document in the arrays."""

from sklearn.metrics import dcg_score, label_ranking_average_precision_score, ndcg_score
from wire import by_query


def arrays(grades, ranking):
    """Grades and scores as the functions want them."""
    return [[grades.get(name, 0) for name in ranking]], [list(ranking.values())]


def binary(grades, ranking):
    """Whether each is relevant, and scores."""
    return [[int(grades.get(name, 0) > 0) for name in ranking]], [list(ranking.values())]


by_query(
    "complete",
    {
        "ndcg_score": lambda g, r: ndcg_score(*arrays(g, r)),
        "dcg_score": lambda g, r: dcg_score(*arrays(g, r)),
        **{
            f"ndcg_score(k={k})": lambda g, r, k=k: ndcg_score(*arrays(g, r), k=k)
            for k in (1, 3, 10)
        },
        **{
            f"dcg_score(k={k})": lambda g, r, k=k: dcg_score(*arrays(g, r), k=k) for k in (1, 3, 10)
        },
        "label_ranking_average_precision_score": lambda g, r: label_ranking_average_precision_score(
            *binary(g, r)
        ),
    },
)
