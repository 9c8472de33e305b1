"""Plants as `tune` takes them: one, several, a grid or an uncertain family, in continuous time or sampled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.notebook import member_text
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import SINGULAR
from titop.solvers.lft.delta_blocks import DeltaBlock, Structure
from titop.solvers.lft.feedback import read_delays, split_delay
from titop.solvers.linear.lpv_model import grid_points
from titop.solvers.linear.matrices import Matrices
from titop.solvers.linear.state_space import named_signals, period_of, read_linear
from titop.solvers.robust.uncertain_loop import to_continuous
from titop.solvers.signals.exported import Signal
from titop.solvers.tuning.objective import Member
from titop.solvers.tuning.tuned_loop import Plant

#: Corners of a family's box that are tuned on from the beginning, at most.
_CORNERS = 4
#: Numbers of a family at most whose corners are all looked at for a response.
_SIGNED = 8


class PlantFamily(NamedTuple):
    """Plants as they were read.

    - `members`: those known beforehand;
    - `period` (s): zero in continuous time;
    - `uncertain`: with the channels of its uncertainty;
    - `blocks`: the uncertainty.
    """

    members: list[Member]
    states: list[Signal]
    inputs: list[Signal]
    outputs: list[Signal]
    period: float
    uncertain: Plant | None
    blocks: tuple[DeltaBlock, ...]

    def values(self, place: int, member: Member) -> dict[str, float]:
        """Return the parameters of the member at a place among those tuned on, of one of several plants its number."""
        if member.delta is not None:
            return values_at(Structure.of(self.blocks), member.delta)
        return {"model": float(place)} if len(self.members) > 1 and not member.rho else dict(member.rho)


def values_at(structure: Structure, delta: Array) -> dict[str, float]:
    """Return real parameters by name, in their units, of normalised ones (n)."""
    blocks = (structure.blocks[k] for k in structure.real)
    return {block.name: block.value(float(d)) for block, d in zip(blocks, delta, strict=True)}


def read_family(plants: Any, delay: Any) -> PlantFamily:
    """Return plants as members; of an uncertain family the nominal one, and corners where there are few.

    Raises `ModelError` for other types, members of different signals or sample times, and families some of which have no
    response.
    """
    named, blocks = list(_members(plants)), tuple(getattr(plants, "blocks", ()))
    channels = plants.channels if blocks else (0, 0)
    systems = [system for _, _, system in named]
    first = systems[0]
    for name, _, system in named:
        for what in ("input_labels", "output_labels", "dt"):
            found, expected = getattr(system, what), getattr(first, what)
            if found != expected:
                kind = "other-sample-time" if what == "dt" else "other-signals"
                raise ModelError(Finding(kind, f"plants: {name}", found, f"{expected}, as of the first", "make all alike"))
    states, inputs, outputs = named_signals(first)
    inputs, outputs = inputs[channels[0] :], outputs[channels[1] :]
    period = period_of(first)
    late = _whole_samples(delay, inputs, period)
    plants_ = [
        Plant.of(to_continuous(Matrices.of(s), period) if period else Matrices.of(s), channels, late, period) for s in systems
    ]
    if not blocks:
        members = [Member(p, name, rho) for (name, rho, _), p in zip(named, plants_, strict=True)]
        return PlantFamily(members, states, inputs, outputs, period, None, ())
    members = _known_members(plants_[0], Structure.of(blocks))
    return PlantFamily(members, states, inputs, outputs, period, plants_[0], blocks)


def member_at(family: Plant, structure: Structure, delta: Array) -> Member:
    """Return the member of normalised parameters (n). Raises `LinAlgError` where it is ill-posed."""
    return Member(family.member(structure.real_matrix(delta)), member_text(values_at(structure, delta)), {}, delta)


def _known_members(family: Plant, structure: Structure) -> list[Member]:
    """Return the nominal member, and all corners where these are few: optima of the nominal one may be far from theirs."""
    count, (w, z) = len(structure.real), structure.shape
    D, signed = family.system.D[:z, :w], product((-1.0, 1.0), repeat=count) if 0 < count <= _SIGNED else ()
    corners = [np.array(corner) for corner in signed]
    for corner in corners if D.any() else []:  # the determinant is affine in each number, and one in the middle
        loop = np.eye(z) - D @ structure.real_matrix(corner)
        if np.linalg.slogdet(loop)[0] <= 0 or np.linalg.norm(loop, -2) < SINGULAR:
            got, advice = f"none on the way to {member_text(values_at(structure, corner))}", "make the ranges smaller"
            raise ModelError(Finding("ill-posed", "plants", got, "a response of each member", advice))
    nominal = replace(member_at(family, structure, np.zeros(count)), name="nominal")
    return [nominal, *(member_at(family, structure, corner) for corner in corners if 2**count <= _CORNERS)]


def _members(plants: Any) -> Iterator[tuple[str, Mapping[str, float], Any]]:
    """Yield names, values of scheduling parameters, and systems; of an uncertain family its M alone."""
    if getattr(plants, "blocks", None):
        yield "nominal", {}, plants.M
    elif hasattr(plants, "valid") and hasattr(plants, "at"):
        points = grid_points(plants.parameters, plants.valid.ndim == len(plants.parameters))
        for row in points[plants.valid.ravel()].tolist():
            rho = dict(zip(plants.parameters, row, strict=True))
            yield member_text(rho), rho, plants.at(rho)
    elif isinstance(plants, Sequence) and not isinstance(plants, str) and plants:
        for k, plant in enumerate(plants):
            yield f"plants[{k}]", {}, read_linear(f"plants[{k}]", plant)
    else:
        expected = "a control.StateSpace, a list of them, an LPVModel or an LFTModel"
        yield "nominal", {}, read_linear("plants", plants, expected)


def _whole_samples(delay: Any, inputs: Sequence[Signal], period: float) -> list[int]:
    delays = read_delays(delay, [signal.name for signal in inputs])
    if not delays.any():
        return [0] * len(inputs)
    if not period:
        advice = "sample the plant (control.sample_system), or add a Pade form to it (control.pade)"
        raise ModelError(Finding("bad-time", "delay", delay, "none in continuous time", advice))
    split = [split_delay(f"delay of {s.name}", d, period) for s, d in zip(inputs, delays.tolist(), strict=True)]
    if any(part for _, part in split):
        advice = "sample the plant with the delay inside"
        raise ModelError(Finding("bad-time", "delay", delay, f"whole periods of {period:g} s", advice))
    return [whole for whole, _ in split]
