"""From a system to a model."""

from __future__ import annotations

from titop.blocks.basics.errors import Finding, ModelError, warn
from titop.blocks.basics.garbage import collection_paused
from titop.graph.network.assembly import assemble
from titop.graph.system import System
from titop.solvers.model import Model


def resolve(system: System, engine: str = "compiled") -> Model:
    """Check a system and turn it into a model; see `System.resolve`."""
    with collection_paused():
        model_class = _engine(engine)
        warn(system.check(), stacklevel=4)
        model = model_class(assemble(system))
        findings = model.check_inertia()
    warn([*findings, *model.closure_findings()], stacklevel=4)
    return model


def _engine(name: str) -> type[Model]:
    if name == "compiled":
        from titop.solvers.compiled import CompiledModel

        return CompiledModel
    if name == "reference":
        from titop.solvers.reference import ReferenceModel

        return ReferenceModel
    raise ModelError(Finding("bad-engine", "engine", name, "'compiled' or 'reference'", "choose one of the two"))
