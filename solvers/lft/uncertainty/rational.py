"""Which parameters enter a linear model as rational functions, about a configuration that stays."""

from __future__ import annotations

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.paths import owner_of, parts_of
from titop.blocks.constraints.gear import Gear
from titop.blocks.devices.actuators import Motor
from titop.blocks.devices.loads import Load
from titop.blocks.interactions.interaction import Interaction
from titop.solvers.lft.uncertainty.uncertain import Uncertainty
from titop.solvers.model.model import Model

#: Of blocks that are neither joints nor bodies nor interactions, which of their parameters are rational.
_RATIONAL: dict[type, tuple[str, ...]] = {Motor: ("gear", "rotor_inertia"), Load: ("force", "torque"), Gear: ("ratio",)}


def refuse_irrational(model: Model, uncertainty: Uncertainty) -> None:
    """Refuse parameters that are known not to be rational, all at once; block by block, laws are looked at when they are read.

    Raises
    ------
    ModelError
        Naming each.
    """
    findings = []
    for path in uncertainty.paths():
        if path in uncertainty.known and not _may_be_rational(model, path):
            expected = "a mass, centre, inertia, stiffness, damping, frequency, position, gear, force or gravity"
            advice = "directions of actuators and sensors are not rational: keep it fixed, or sample it with tt.lpv"
            findings.append(Finding("not-rational", "parameters", path, expected, advice))
    if findings:
        raise ModelError(findings)


def _may_be_rational(model: Model, path: str) -> bool:
    """Tell whether a parameter is one of a kind that may enter so, by a fit at least."""
    owner, parts = owner_of(path), parts_of(path)
    if path.startswith("gravity."):
        return True
    block = model.assembly.blocks.get(owner)
    joined = [node for c in model.assembly.connections for node in (c.joint, c.child.block)]
    if block is model.assembly.world or any(block is own for own in joined) or isinstance(block, Interaction):
        return True
    return any(isinstance(block, kind) and parts[-1 - (kind is Load)] in names for kind, names in _RATIONAL.items())
