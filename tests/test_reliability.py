"""docs/reliability.md says no more than what was counted, and names no test or mutant that is not there."""

import re
from itertools import pairwise

from tests.documents import ROOT
from tests.mutants.catalogue import LIVES, MUTANTS
from tests.runs import runs, table

TEXT = (ROOT / "docs" / "reliability.md").read_text("utf-8")


def test_its_numbers_are_those_of_the_recorded_runs() -> None:
    assert table() in TEXT


def test_no_seed_counts_twice() -> None:
    spans = sorted((run["engine"], run["store"], run["first"], run["first"] + run["seeds"]) for run in runs())
    for (*before, _, end), (*after, first, _) in pairwise(spans):
        assert before != after or end <= first


def test_every_run_that_is_counted_was_clean() -> None:
    counted = runs()[-1]["engine"]
    assert [run for run in runs() if run["wrong"] and run["engine"] == counted] == []


def test_the_mutants_and_tests_it_names_are_there() -> None:
    known = {mutant.name for mutant in MUTANTS} | set(LIVES)
    named = set(re.findall(r'mutant "([^"]+)"', TEXT))
    assert named
    assert named <= known
    for path in re.findall(r"`(tests/[\w/.]+)`", TEXT):
        assert (ROOT / path).exists(), path
