"""Questions about long conversations, as LoCoMo has them: each with the turns that are its evidence."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rankgate.core.errors import InputError
from rankgate.data.foreign_frames import string_table
from rankgate.data.formats.collected_judgments import GrowingQrels
from rankgate.data.formats.format import Format
from rankgate.data.text.json_text import detect_keys, read_records

if TYPE_CHECKING:
    from rankgate.data.file_contents import FileContents
    from rankgate.data.streams.source import InputFile
    from rankgate.data.text.json_text import JsonRecord

_SEPARATORS = re.compile(r"[;,\s]+")  # some evidence of LoCoMo is several turns in one text


def read_locomo(source: InputFile) -> FileContents:
    """Judgments of the turns that are evidence, grade 1, with the questions and the turns as texts.

    Raises:
        InputError: the file has no questions.
    """
    qrels = GrowingQrels(source)
    for sample in read_records(source):
        sample_id = sample.id("sample_id")
        for number, question in enumerate(sample.records("qa", required=True), 1):
            query = f"{sample_id}#{number}"
            category = question.get("category")
            qrels.ask(
                query, text=question.text("question"), category=None if category is None else str(category)
            )
            for evidence in question.as_list(question.get("evidence") or [], "evidence"):
                for turn in filter(None, _SEPARATORS.split(question.as_id(evidence, "evidence"))):
                    qrels.add(query, f"{sample_id} {turn}", 1, question.location_text)
        for turn_id, fields in _turns(sample.record("conversation")):
            qrels.describe("", f"{sample_id} {turn_id}", fields)
    if not qrels.asked:
        raise InputError("there are no questions in it.", source=source.label, code="no-queries")
    return qrels.contents(
        queries=string_table(qrels.query_rows(), ("query_id", "text", "category")),
        documents=qrels.documents(),
    )


def _turns(conversation: JsonRecord) -> Iterator[tuple[str, dict[str, str | None]]]:
    """The id and the text of each turn of a conversation, by session."""
    for key, turns in conversation.items():
        for turn in conversation.records(key) if isinstance(turns, list) else ():
            yield turn.id("dia_id"), {"text": turn.text("text"), "speaker": turn.text("speaker")}


LOCOMO_FORMAT = Format(
    name="locomo",
    title="Questions of LoCoMo about long conversations",
    suffixes=(".json",),
    sniff=detect_keys(("conversations with sample_id and qa", "[].sample_id|sample_id", "[].qa[]|qa[]")),
    read=read_locomo,
    holds=("qrels", "queries", "documents"),
    detail=(
        "Each question is SAMPLE#NUMBER, counted from 1 in qa; the turns of its evidence are relevant, as "
        "SAMPLE TURN: conv-26 D1:3. A question without evidence has no relevant document. The category is "
        "a tag; questions, and turns with their speakers, are the texts."
    ),
)
