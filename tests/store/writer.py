"""A program that rates 1,000 tasks at once and prints acknowledged ratings, until it is killed."""

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import count

from rankgate.store.rating import next_task, ratings
from rankgate.store.store import Store

NUMBER = count()


def main(url, project, raters):
    with Store.open(url) as store, ThreadPoolExecutor(len(raters) * 2) as pool:

        def work(rater):
            while True:
                with store.write() as connection:
                    task = next_task.take(connection, project, rater)
                    if task is None:
                        return
                    name = f"{rater}-{task}-{next(NUMBER)}"
                    ratings.rate(connection, task, rater, rating_id=name, grade=1.0)
                os.write(1, f"{name}\n".encode())  # after the transaction: it is acknowledged

        for future in [pool.submit(work, rater) for rater in raters * 2]:
            future.result()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), [int(rater) for rater in sys.argv[3:]])
