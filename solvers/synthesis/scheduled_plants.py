"""Plants that follow parameters, read from a family: members with named channels, in units that they share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import NEGLIGIBLE
from titop.solvers.lft.lft_model import LFTModel
from titop.solvers.linear.lpv_model import LPVModel
from titop.solvers.linear.matrices import Matrices
from titop.solvers.linear.state_space import read_linear
from titop.solvers.robust.uncertain_loop import read_loop
from titop.solvers.robust.varying_members import FractionalFamily, Members, SampledFamily, VaryingFamily
from titop.solvers.synthesis.general_plant import GeneralPlant, Units, read_plant, refuse_hidden_modes
from titop.solvers.synthesis.riccati import Parts
from titop.solvers.synthesis.synthesize import solve_hinf

#: Random members between the points at which functions are tested, as polynomials swing there.
_BETWEEN = 60


@dataclass(frozen=True)
class ScheduledPlant:
    """A plant for every value of the parameters of a family.

    `family`: its members; `model`: what returns one, weighted; `middle`: the plant nearest to the middle of the parameters;
    `units`: of all members, of gains that of the middle's least; `basis` (n, n): columns of the states in which the filter's
    and the regulator's Riccati equation of the middle have the same diagonal solution; `perturbation`: size of further errors
    of all controls and of noise on all measurements, zero where every member has these.
    """

    family: VaryingFamily
    model: Callable[[Mapping[str, float]], Any]
    middle: GeneralPlant
    units: Units
    basis: Array
    perturbation: float = 0.0

    def at(self, rho: Mapping[str, float]) -> GeneralPlant:
        """Return the plant at values of the parameters. Raises `ModelError` for other signals than those of the middle."""
        middle, model, where = self.middle, self.model(rho), f"family at {_text(rho)}"
        labels, expected = list(model.state_labels), [signal.name for signal in middle.states]
        if labels != expected:
            advice = "give all members the same states: leave no state out at single points, and weights as many states"
            raise ModelError(Finding("other-states", where, labels, f"{expected}, as in the middle", advice))
        places = []
        for known, signals in (
            (list(model.output_labels), [*middle.errors, *middle.measurements]),
            (list(model.input_labels), [*middle.disturbances, *middle.controls]),
        ):
            missing = [signal.name for signal in signals if signal.name not in known]
            if missing:
                advice = "all members need the same signals"
                raise ModelError(Finding("other-signals", where, f"no {', '.join(missing)}", "those of the middle", advice))
            places.append([known.index(signal.name) for signal in signals])
        return replace(middle, system=Matrices.of(model).part(*places))

    def parts(self, plant: GeneralPlant) -> Parts:
        """Return the parts of a member in common units and states, perturbed."""
        return plant.in_units(plant.system, self.units).turn(self.basis).perturb(self.perturbation, states=False)

    def controller(self, plant: GeneralPlant, K: Matrices) -> Matrices:
        """Return a controller of a member, its states estimates of the member's, from one of its parts."""
        return plant.controller(K.turn(np.linalg.inv(self.basis)), self.units)


def read_scheduled(
    family: Any, measurements: Any, controls: Any, weighted: Callable[[Any], Any] | None, points: int
) -> tuple[ScheduledPlant, Members, Members]:
    """Return a plant over a family, and members at points and between them.

    Raises `ModelError` for families of other types, sampled ones, blocks that are no parameters, points that no controller
    can stabilize, by name, and members of different states or signals.
    """
    members = _read_family(family, points)
    if weighted is not None and not callable(weighted):
        raise ModelError(Finding("wrong-type", "weighted", weighted, "a function of a member", "such as lambda G: ..."))

    def model(rho: Mapping[str, float]) -> Any:
        member = family.at(rho)
        return member if weighted is None else read_linear("weighted(member)", weighted(member))

    grid, between = members.grid(), members.between(_BETWEEN)
    nearest = int(np.linalg.norm(grid.s, axis=1).argmin())
    order = np.r_[nearest, np.delete(np.arange(len(grid.s)), nearest)]
    grid = Members(*(part[order] for part in grid))
    rho = members.values(grid.s[0])
    middle = _named(rho, lambda: read_plant(model(rho), measurements, controls))
    if middle.period:
        advice = "synthesize in continuous time; tt.ScheduledController samples the controller"
        raise ModelError(Finding("sampled-loop", "family", f"a step of {middle.period:g} s", "continuous time", advice))
    _, units = middle.balance(middle.system)
    least = np.sqrt(max(_named(rho, lambda: solve_hinf(middle)).optimum / units.gain, NEGLIGIBLE))
    units = units._replace(z=units.z * least, w=units.w * least)
    plant = ScheduledPlant(members, model, middle, units, middle.in_units(middle.system, units).even_basis())
    for s in grid.s[1:]:
        rho = members.values(s)
        member = plant.at(rho)
        _named(rho, partial(refuse_hidden_modes, member))
    return plant, grid, between


def _read_family(family: Any, points: int) -> VaryingFamily:
    if isinstance(family, LPVModel):
        if not family.valid.any():
            advice = "widen what tt.lpv may trim"
            raise ModelError(Finding("no-members", "family", "no valid point", "a family with equilibria", advice))
        return SampledFamily(family)
    if not isinstance(family, LFTModel):
        advice = "make one by tt.lpv, tt.lft, or of state spaces by tt.LPVModel.of"
        raise ModelError(Finding("wrong-type", "family", type(family).__name__, "an LPVModel or an LFTModel", advice))
    loop = read_loop(family, None)
    others = [block.name for block in loop.structure.blocks if block.kind != "real"]
    if others:
        expected = "real parameters that a controller can follow"
        advice = "leave these blocks out, and look at them with tt.worst_case_gain"
        raise ModelError(Finding("not-real", "family", ", ".join(others), expected, advice))
    return FractionalFamily(loop.uncertain, loop.structure, points)


def _named(rho: Mapping[str, float], read: Callable[[], Any]) -> Any:
    """Return what is read, or say at which values of the parameters that failed."""
    try:
        return read()
    except ModelError as error:
        raise ModelError([replace(f, where=f"{f.where} at {_text(rho)}") for f in error.findings]) from None


def _text(rho: Mapping[str, float]) -> str:
    return ", ".join(f"{name} = {value:.6g}" for name, value in rho.items())
