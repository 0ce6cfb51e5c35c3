"""``make check`` runs the tests nearest to changed files first, and then the cheapest of every folder."""

from support.selection import cheapest, share

DEAR = {"tests/a/test_one.py": {"test_dear": 5.0, "test_less": 0.5}, "tests/b/test_two.py": {"test_all": 0.9}}
CASES = [f"tests/a/test_one.py::test_new[{case}]" for case in range(7)]
FEW = {CASES[0], CASES[3], CASES[6]}
DEAREST, LESS = "tests/a/test_one.py::test_dear", "tests/a/test_one.py::test_less"
BOTH = ["tests/b/test_two.py::test_all[x]", "tests/b/test_two.py::test_all[y]"]
NODE_IDS = [DEAREST, LESS, *CASES, *BOTH]


def select(limit, *first):
    return cheapest(NODE_IDS, DEAR, limit, first)


def test_three_cases_of_a_function_without_a_record_count_as_cheap():
    """The first, the one in the middle and the last: 0.03 s together."""
    assert select(0.1) == FEW
    assert select(100) == {*NODE_IDS} - {*CASES} | FEW


def test_tests_of_a_file_without_a_record_do_not_count_as_cheap():
    """A fifth of a second each, so that the tests of a new file do not fill the seconds of others."""
    new = [f"tests/c/test_new.py::test_{number}" for number in range(9)]
    assert cheapest([*CASES, *new], DEAR, 0.5) == {*FEW, *new[:2]}
    assert cheapest([*CASES, *new], DEAR | {"tests/c/test_new.py": {}}, 0.5) == {*FEW, *new}


def test_folders_share_the_limit():
    """Their tests come by the seconds that their folder has used with them: 0.53, 0.9, 1.8 and 5.53."""
    assert select(0.54) == FEW | {LESS}
    assert select(1.44) == FEW | {LESS, BOTH[0]}
    assert select(2.34) == FEW | {LESS, *BOTH}
    assert select(7.34) == FEW | {LESS, *BOTH, DEAREST}


def test_tests_of_changed_files_have_all_their_cases():
    assert {*CASES} <= select(0.1, "tests/a/test_one.py")
    assert {*CASES} <= select(0.1, "tests/a")
    assert DEAREST not in select(7.3, "tests")
    assert DEAREST in select(7.4, "tests")


def test_tests_of_a_nearer_file_may_cost_more():
    first, second = "tests/a/test_one.py", "tests/b/test_two.py"
    assert select(1.3, first, second) == {*CASES, LESS}
    assert select(1.3, second, first) == {*CASES, BOTH[0]}


def test_the_selection_does_not_depend_on_the_order_of_equal_costs():
    assert select(0.1) == cheapest(NODE_IDS[-2:] + NODE_IDS[:-2], DEAR, 0.1)


def test_workers_take_turns_with_the_nearest_files():
    first = ("tests/web/test_account.py", "tests/test_selection.py", "tests/mcp/test_mcp.py")
    shares = [share(first, worker, 2) for worker in range(2)]
    assert not shares[0] & shares[1]
    assert [{*first} & files for files in shares] == [{first[0], first[2]}, {first[1]}]
    assert shares[0] | shares[1] == share((), 0, 1)
