"""``make check`` runs the cheapest tests of every folder, and first those of changed files."""

from support.selection import cheapest

DEAR = {"tests/a/test_one.py": {"test_dear": 5.0, "test_less": 0.5}, "tests/b/test_two.py": {"test_all": 0.9}}
CASES = [f"tests/a/test_one.py::test_new[{case}]" for case in range(7)]
NODE_IDS = [
    *("tests/a/test_one.py::test_dear", "tests/a/test_one.py::test_less"),
    *CASES,
    *("tests/b/test_two.py::test_all[x]", "tests/b/test_two.py::test_all[y]"),
]


def select(limit, *first):
    return cheapest(NODE_IDS, DEAR, limit, frozenset(first))


def test_three_cases_of_a_function_without_a_record_count_as_cheap():
    """The first, the one in the middle and the last: 0.012 s together."""
    cases = {CASES[0], CASES[3], CASES[6]}
    assert select(0.1) & {*CASES} == cases
    assert cases <= select(10)
    assert not {*CASES} - cases & select(10)


def test_each_folder_has_a_second_whatever_others_cost():
    assert select(0.0) == {CASES[0], CASES[3], CASES[6], *NODE_IDS[1:2], NODE_IDS[-2]}


def test_the_cheapest_come_first_up_to_the_limit():
    """0.012 + 0.5 of folder a and 0.9 of folder b leave room for 0.9 more at 2.32."""
    assert NODE_IDS[-1] not in select(2.3)
    assert NODE_IDS[-1] in select(2.32)
    assert NODE_IDS[0] not in select(7.3)
    assert select(7.32) == {*NODE_IDS} - {CASES[i] for i in (1, 2, 4, 5)}


def test_tests_of_changed_files_have_all_their_cases():
    assert {*CASES} <= select(0.1, "tests/a/test_one.py")
    assert {*CASES} <= select(0.1, "tests/a")
    assert NODE_IDS[0] not in select(7.3, "tests")
    assert NODE_IDS[0] in select(7.4, "tests")


def test_the_selection_does_not_depend_on_the_order_of_equal_costs():
    assert select(0.1) == cheapest(NODE_IDS[-2:] + NODE_IDS[:-2], DEAR, 0.1)
