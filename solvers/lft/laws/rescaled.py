"""Own coordinates of bodies that a loop has in other scales than the model, by what is uncertain: what must not touch them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.bodies.beam import Beam
from titop.blocks.bodies.flexible_body import FlexibleBody
from titop.solvers.lft.uncertainty.uncertain import Uncertainty
from titop.solvers.model.model import Model
from titop.solvers.signals.grammar import OUTPUT, read_name
from titop.solvers.signals.quantities import Kind
from titop.solvers.signals.system_inputs import SystemInputs

#: Parameters with which the amplitudes of a beam's modes scale, but not its tip's displacements.
_MASSES = ("density", "area", "iy", "iz")
#: Kinds of outputs that read own coordinates.
_READ = {Kind.POSITION, Kind.RATE, Kind.ACCELERATION, Kind.EFFORT, Kind.MOMENTUM}


def rescaled_coordinates(model: Model, uncertainty: Uncertainty) -> Array:
    """Return which coordinates (nv) are scaled by an uncertain number."""
    result = np.zeros(model.nv, dtype=bool)
    for name, block in model.assembly.blocks.items():
        if not isinstance(block, FlexibleBody):
            continue
        own = np.arange(block.nv)
        if isinstance(block, Beam):
            modes = any(uncertainty.at(f"{name}.{entry}") for entry in _MASSES)
            scaled = bool(uncertainty.at(f"{name}.length")) | (modes & (own >= 6))
        else:
            scaled = np.full(block.nv, bool(uncertainty.at(f"{name}.mass_scale")))
        result[model.assembly.v_slices[name]] = scaled
    return result


def refuse_rescaled(model: Model, rescaled: Array, inputs: SystemInputs, outputs: Sequence[Any]) -> None:
    """Refuse what drives, reads or joins rescaled coordinates, all at once.

    Raises
    ------
    ModelError
        Naming each coordinate.
    """
    touched: dict[int, str] = {}
    driven = np.abs(inputs.applied(model.nv)) + np.abs(inputs.motions(model.nv))
    driven = driven.any(axis=1) | model.inputs.motors.any(axis=1)
    touched |= dict.fromkeys(np.flatnonzero(driven).tolist(), "an input")
    for output in outputs:
        if isinstance(output, str) and (of := read_name(model, OUTPUT, output)).kind in _READ:
            touched |= dict.fromkeys(of.entries, "an output")
    for joined in model.interactions:
        touched |= {model.assembly.place(name)[1]: joined.closure.name for name in joined.coordinates}
    for gear in model.gear_constraints:
        touched |= dict.fromkeys((gear.driven[1], gear.driver[1]), gear.gear.name)
    expected = "coordinates whose scale is not uncertain: a mode's amplitude goes with mass and length"
    advice = "read or drive ports of the body"
    findings = [
        Finding("rescaled-coordinate", model.coordinate_names[k], by, expected, advice)
        for k, by in sorted(touched.items())
        if rescaled[k]
    ]
    if findings:
        raise ModelError(findings)
