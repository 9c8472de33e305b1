"""Resolving a system into a model."""

from __future__ import annotations

from titop.blocks.basics.errors import Finding, ModelError, warn
from titop.blocks.basics.garbage import collection_paused
from titop.graph.checking.system_check import system_findings
from titop.graph.network.assembly import assemble
from titop.graph.network.network import Network
from titop.solvers.constraints.mechanism import Engine
from titop.solvers.model.mechanism import Mechanism
from titop.solvers.model.model import Model


def resolve(system: Network, engine: str = "compiled") -> Model:
    """Check a system and return its model; see `System.resolve`."""
    with collection_paused():
        make_engine = _engine(engine)
        warn(system_findings(system), stacklevel=4)
        mechanism = Mechanism(assemble(system), make_engine)
        findings = mechanism.check_inertia()
    warn([*findings, *mechanism.closure_findings()], stacklevel=4)
    return Model(mechanism)


def _engine(name: str) -> type[Engine]:
    if name == "compiled":
        from titop.solvers.engines.compiled.engine import CompiledEngine

        return CompiledEngine
    if name == "reference":
        from titop.solvers.engines.reference.engine import ReferenceEngine

        return ReferenceEngine
    raise ModelError(Finding("bad-engine", "engine", name, "'compiled' or 'reference'", "choose one of the two"))
