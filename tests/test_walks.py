"""The section "From input to output" of CONTRIBUTING.md names the files that calls enter."""

import os

import pytest

from support.walks import WALKS, entered_files, listed_files, write_guide

pytestmark = [pytest.mark.slow, pytest.mark.separate]
WRITE = os.environ.get("RANKGATE_WALKS") == "write"


@pytest.fixture(scope="module")
def files_of_walks(tmp_path_factory):
    """The files that each walk enters; written into the section on request."""
    files = {walk: entered_files(walk, tmp_path_factory.mktemp(walk)) for walk in WALKS}
    if WRITE:
        write_guide(files)
    return files


@pytest.mark.parametrize("walk", WALKS)
def test_the_guide_lists_the_files_of_a_walk(files_of_walks, walk):
    entered, listed = set(files_of_walks[walk]), listed_files()[walk]
    assert entered, "no function was called"
    assert listed == entered, "a list is out of date: run this test with RANKGATE_WALKS=write"
