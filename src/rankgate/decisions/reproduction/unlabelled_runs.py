"""Show runs for which there are no judgments yet, and the commands that lead to a verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from shlex import join
from typing import Any

from rankgate.core.console.shared_options import write_output
from rankgate.core.console.terminal_output import open_page, output_width, style_output
from rankgate.core.errors import UsageError
from rankgate.core.present.pages.page import Links, document_page
from rankgate.core.present.write_results import FORMS, render_document, to_json
from rankgate.data.collection import Collection
from rankgate.data.files.own_files import find_files, known_texts
from rankgate.decisions.reproduction.list_changes import changes_document, lists_document, one_run_document
from rankgate.decisions.reproduction.rank_similarity import rank_similarity


def show_if_runs(paths: Sequence[str], verb: str, options: Mapping[str, Any]) -> bool:
    """Show the runs if each path is a file, or a folder, that holds a run and no judgments.

    Arguments and errors are those of `show_runs`.

    Returns:
        True if they are runs, and were shown.
    """
    if not paths or not all(Path(path).exists() and Path(path).suffix != ".toml" for path in paths):
        return False
    files = [find_files([path]) for path in paths]
    if not all(
        len(file_list) == 1 and file_list[0].has_run and not file_list[0].has_judgments for file_list in files
    ):
        return False
    show_runs(paths, verb, options)
    return True


def show_runs(paths: Sequence[str], verb: str, options: Mapping[str, Any]) -> None:
    """Print what one run needs, or what changed between two; the page has their lists side by side.

    Args:
        paths: one run or two, the baseline first.
        verb: the command that was called, ``gate`` or ``compare``.
        options: those of the command: columns, form, output, and of a gate open_page.

    Raises:
        InputError: a run that cannot be read.
        UsageError: a form that needs a verdict; the output cannot be written.
    """
    form, output, opens_page = options["form"], options["output"], options.get("open_page", False)
    if form not in FORMS:
        problem = (
            f"--format {form} needs a verdict, and a verdict needs judgments; see without it what to judge."
        )
        raise UsageError(problem, code="missing-input")
    columns = options["columns"]
    collection = Collection(columns=columns)
    arguments = join([*paths, *(["--columns", columns] if columns else [])])
    runs = [collection.run(path) for path in paths]
    similarity = rank_similarity(runs[0], runs[1]) if len(runs) == 2 else None
    document = (
        one_run_document(runs[0], arguments)
        if similarity is None
        else changes_document(similarity, arguments, verb)
    )
    page = ""
    if form == "html" or opens_page:
        texts, titles = known_texts(find_files(paths))
        lists = lists_document(runs, None, texts, titles)
        page_document = replace(document, sections=(*document.sections, *lists.sections))
        page = document_page(page_document, Links(query_text=lambda query: texts.get(query, "")))
    if form == "html":
        text = page
    elif form == "json" and similarity is not None:
        text = to_json(similarity.to_dict())
    else:
        text = render_document(document, "text" if form == "json" else form, output_width(output))
    write_output(style_output(text, form, output), output)
    if opens_page:
        open_page(page)
