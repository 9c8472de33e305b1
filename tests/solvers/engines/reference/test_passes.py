"""The reference resolver and the compiled one tell the same of random trees."""

from __future__ import annotations

import pytest
from hypothesis import given

from tests.solvers.model.identities import SEEDS, SOME, Case, assert_equal, assert_same, control_case, observations


@given(seed=SEEDS)
@SOME
def test_resolvers_agree(seed: int) -> None:
    c = Case(seed)
    assert_same(observations(c, c.model), observations(c, c.system.resolve("reference")), c.tolerance)


def test_resolvers_disagree_on_everything_after_a_change_of_a_millionth() -> None:
    c = control_case()
    changes = {name: value + 1e-6 for name, (value, _) in c.model.parameters().items() if ".rest.q" not in name}
    found, expected = observations(c, c.model.with_parameters(changes)), observations(c, c.system.resolve("reference"))
    for name in expected:
        with pytest.raises(AssertionError):
            assert_equal(found[name], expected[name], c.tolerance)
