"""Models on the reference engine whose parameters may be complex, for complex steps through whole systems."""

from __future__ import annotations

from functools import partial

from titop.graph.network.assembly import Assembly
from titop.solvers.engines.reference.reference_engine import ReferenceEngine
from titop.solvers.model.mechanism import Mechanism
from titop.solvers.model.model import Model


def reference_model(assembly: Assembly, dtype: type = float) -> Model:
    """Return the model of an assembly on the reference engine, its parameters of a `dtype`."""
    return Model(Mechanism(assembly, partial(ReferenceEngine, dtype=dtype)))
