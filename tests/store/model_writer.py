"""A program that has a model rate a batch, until it is killed."""

import sys

from rankgate.judging.llm.judge import Judge
from rankgate.judging.models.job_run import rate_batch
from rankgate.store.stored_project import StoredProject


def main(url, address):
    judge = Judge("m", url=address, backoff=0.01, timeout=60.0)
    with StoredProject.open(url, "shop") as stored:
        rate_batch(stored, "first", judge).run()


if __name__ == "__main__":
    main(*sys.argv[1:])
