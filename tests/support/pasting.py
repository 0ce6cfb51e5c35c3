"""Lines that a command prints to be copied: found, and run as they are."""

import re
import shlex


def printed_lines(text):
    """The commands that a command printed, in order."""
    return [line.strip() for line in text.splitlines() if line.startswith("  rankgate ")]


def paste(run, line, key_of=None):
    """Run a printed line; ``rate`` with the key for each document that it shows.

    Args:
        run: the fixture.
        line: the line.
        key_of: a function from a document to the key of its grade.
    """
    words = shlex.split(line)[1:]
    if words[0] != "rate":
        return run(*words)
    shown = run(*words, stdin=b"s" * 500).err  # all are skipped, and nothing is rated
    documents = re.findall(r"^document: (\S+)", shown, re.MULTILINE)
    return run(*words, stdin="".join(map(key_of, documents)).encode())
