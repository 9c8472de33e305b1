"""From a system to a model, by one of two engines."""

from __future__ import annotations

import gc

import pytest

import titop as tt
from tests.refusals import ENGINES, body, hinged, refusal
from titop.solvers.engines.compiled.engine import CompiledEngine
from titop.solvers.engines.reference.engine import ReferenceEngine
from titop.solvers.resolve import resolve


@pytest.mark.parametrize(("engine", "kind"), [("compiled", CompiledEngine), ("reference", ReferenceEngine)])
def test_the_engine_is_the_one_that_is_named(engine: str, kind: type) -> None:
    assert isinstance(resolve(hinged(), engine).mechanism.engine, kind)
    assert isinstance(resolve(hinged()).mechanism.engine, CompiledEngine)


def test_other_engines_are_refused_before_anything_else() -> None:
    """Also for a system that cannot be resolved."""
    with refusal("bad-engine", "engine: got fast; expected 'compiled' or 'reference'"):
        resolve(tt.System("empty"), "fast")


@pytest.mark.parametrize("engine", ENGINES)
def test_what_is_suspicious_is_warned_of_where_it_was_called(engine: str) -> None:
    """From both: the system's blocks, and the model's inertia."""
    s = hinged(body(mass=1e-12, com=[0, 0, 0], inertia=1e-24))
    s.connect(s["arm"].port("tip"), body("heavy", mass=1e6, inertia=1e6), tt.Revolute("wrist", axis=[1, 0, 0]))
    with pytest.warns(tt.ModelWarning) as caught:
        s.resolve(engine)
    assert {warning.filename for warning in caught} == {__file__}


def test_collection_goes_on_after_an_error() -> None:
    assert gc.isenabled()
    with pytest.raises(tt.ModelError):
        resolve(hinged(body(mass=-1.0)))
    assert gc.isenabled()
