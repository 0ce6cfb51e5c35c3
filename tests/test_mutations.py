"""The sample of small faults hangs on their text and the seed, not on where they are."""

from support.programs import tool

mutations = tool("tests/mutations.py")
LINES = [f"    x{i} = a + {i} if a < {i} else b * {i}\n" for i in range(2, 30)]


def tree(folder, lines, file):
    """A package with one function of these lines."""
    path = folder / "rankgate" / "measurement" / "scoring" / file
    path.parent.mkdir(parents=True)
    path.write_text("def f(a, b):\n" + "".join(lines))
    return folder


def test_code_that_is_added_and_moved_leaves_the_others_in_the_sample(tmp_path):
    original_tree = tree(tmp_path / "one", LINES, "one.py")
    changed_tree = tree(tmp_path / "two", ["    new = a - 99\n", *LINES[::-1]], "two.py")
    first, second = (
        [mutation.content for mutation in mutations.sampled(source, 12, 13, also)]
        for source, also in ((original_tree, changed_tree), (changed_tree, original_tree))
    )
    assert first == second
    assert len(set(first)) == 12
    assert first != [mutation.content for mutation in mutations.sampled(original_tree, 12, 14, changed_tree)]


def test_a_line_that_is_there_twice_is_left_out(tmp_path):
    source = tree(tmp_path, [LINES[0], LINES[0], LINES[1]], "one.py")
    assert {text for text, _, _ in mutations.unique(source)} == {LINES[1].strip()}
