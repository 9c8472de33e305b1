"""From a system to a model."""

from __future__ import annotations

from titop.blocks.errors import Finding, ModelError, warn
from titop.graph.assembly import assemble
from titop.graph.system import System
from titop.solvers.model import Model


def resolve(system: System, engine: str = "compiled") -> Model:
    """Check a system and turn it into a model; see `System.resolve`."""
    from titop.solvers.compiled import CompiledModel
    from titop.solvers.reference import ReferenceModel

    engines = {"compiled": CompiledModel, "reference": ReferenceModel}
    if engine not in engines:
        raise ModelError(Finding("bad-engine", "engine", engine, "'compiled' or 'reference'", "choose one of the two"))
    warn(system.check(), stacklevel=4)
    model = engines[engine](assemble(system))
    model.check_inertia()
    warn(model.closure_findings(), stacklevel=4)
    return model
