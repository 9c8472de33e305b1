"""`Model.program`: functions of a model as straight-line programs, which are called like the model's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, did_you_mean
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import CANCELLED
from titop.blocks.contract.own_coordinates import acceleration_unit, effort_unit, rate_unit
from titop.blocks.programs.program import Program as FunctionProgram
from titop.graph.checking.tree import massless_joint
from titop.solvers.model.mechanism import Resolved
from titop.solvers.programs.tracing import FUNCTIONS, Recorded, traced

#: The output by which programs say whether they can be trusted.
_HEALTH = "health"


@dataclass(frozen=True)
class Program:
    """Functions of a model as straight-line programs: no branches, no memory, no loops but those over points of soft bodies.

    Made by `Model.program`. Each function is an attribute that is called like the model's, with one state or with stacked ones;
    arguments that it does not depend on are optional. ``u``, ``x`` and ``parameters`` are further arguments, if the program has
    them: zero, and the model's values, by default.

    Attributes
    ----------
    functions : mapping of str to program
        The programs by the functions' names; `titop.blocks.programs.program` says what they are.
    names, units : mapping of str to tuple of str
        Of the numbers of each input.
    at : mapping of str to array
        The nominal inputs. In systems with closures, the branch at ``at["q"]`` is the one on which the program holds.
    health : float
        The least of all coordinates' pivots at ``at``, each over the coordinate's inertia there: where it comes near zero,
        accelerations lose digits. The same ratio elsewhere is the output ``health`` of the programs that solve for accelerations;
        calls refuse states at which it is lost.
    """

    functions: Mapping[str, FunctionProgram]
    names: Mapping[str, tuple[str, ...]]
    units: Mapping[str, tuple[str, ...]]
    at: Mapping[str, Array]
    health: float

    @property
    def operations(self) -> int:
        """How many operations all functions take."""
        return sum(program.operations for program in self.functions.values())

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_") or name not in self.functions:
            raise AttributeError(f"the program has no function {name!r}; it has {', '.join(self.functions)}")
        return ProgramFunction(self, name)

    def __repr__(self) -> str:
        return f"Program({', '.join(self.functions)}; {self.operations} operations)"


@dataclass(frozen=True)
class ProgramFunction:
    """One function of a `Program`."""

    program: Program
    name: str

    def __call__(self, *state: Any, **others: Any) -> Any:
        """Return the function at one state or at stacked ones; a tuple of arrays if there are several.

        Raises `ModelError` for arguments of wrong lengths or that are not finite, and for states without health.
        """
        whole, function = self.program, self.program.functions[self.name]
        named = dict(zip(FUNCTIONS[self.name].arguments, state, strict=False)) | others
        if unknown := [name for name in named if name not in whole.at]:
            raise TypeError(f"{self.name} takes {', '.join(whole.at)}, not {', '.join(unknown)}")
        given = {name: self._read(name, named.get(name)) for name in function.inputs}
        results = function.evaluate(given)
        if (health := results.pop(_HEALTH, None)) is not None and (lost := ~(health > CANCELLED)).any():
            coordinate = whole.names["v"][int(np.argwhere(lost)[0][-1])]
            raise ModelError(massless_joint(coordinate, "no inertia at this configuration"))
        found = tuple(results.values())
        return found[0] if len(found) == 1 else found

    def _read(self, name: str, value: Any) -> Array:
        if value is None:
            return self.program.at[name] if name == "parameters" else np.zeros(len(self.program.at[name]))
        names = self.program.names[name]
        if isinstance(value, Mapping):
            changed = dict(zip(names, self._read(name, None), strict=True))
            for key in value:
                if key not in changed:
                    raise ModelError(Finding("unknown-name", name, key, f"one of {name}", did_you_mean(key, names)))
            value = list((changed | dict(value)).values())
        array = np.asarray(value, dtype=float)
        if array.shape[-1:] != (len(names),) or not np.isfinite(array).all():
            got, expected = f"shape {array.shape}", f"{len(names)} finite numbers, or a row of them for each state"
            raise ModelError(Finding("wrong-shape", name, got, expected, "check the argument"))
        return array


def program(
    model: Resolved, *functions: str, parameters: Sequence[str] = (), inputs: Sequence[str] = (), at: Any = None
) -> Program:
    """Return the program of functions of a model: `Model.program`."""
    mechanism = model.mechanism
    known = {"function": FUNCTIONS, "parameter": mechanism.parameters(), "input": mechanism.input_names}
    for what, names in {"function": functions, "parameter": parameters, "input": inputs}.items():
        for name in names:
            if name not in known[what]:
                advice = did_you_mean(name, known[what])
                raise ModelError(Finding(f"unknown-{what}", f"{what}s", name, f"a {what} that programs know", advice))
    if not functions:
        raise ModelError(Finding("missing", "functions", "none", "names of functions", f"{', '.join(FUNCTIONS)} are known"))
    if at is None:
        at = mechanism.regular_configuration if mechanism.is_constrained else mechanism.probes[1]
    nominal = {"q": mechanism._read_q(at), **{name: np.zeros(mechanism.nv) for name in ("v", "tau", "a")}}
    values = mechanism.parameters()
    names = {"q": mechanism.configuration_names, **dict.fromkeys(("v", "tau", "a"), mechanism.coordinate_names)}
    units = {"q": mechanism.assembly.configuration_units, **_coordinate_units(mechanism.assembly.coordinate_units)}
    places = [mechanism.input_names.index(name) for name in inputs]
    for name, of, unit in (
        ("u", tuple(inputs), [mechanism.inputs.units[k] for k in places]),
        ("x", mechanism.inputs.state_names, mechanism.inputs.state_units),
        ("parameters", tuple(parameters), [values[name][1] for name in parameters]),
    ):
        if of:
            names[name], units[name], nominal[name] = of, tuple(unit), np.zeros(len(of))
    if parameters:
        nominal["parameters"] = np.array([values[name][0] for name in parameters])
    recorded = Recorded(mechanism, nominal, parameters, places)
    programs = {name: traced(name, recorded) for name in functions}
    healths = [found.evaluate({k: nominal[k] for k in found.inputs}).get(_HEALTH) for found in programs.values()]
    health = min((float(found.min()) for found in healths if found is not None and found.size), default=1.0)
    return Program(programs, names, units, nominal, health)


def _coordinate_units(units: Sequence[str]) -> dict[str, tuple[str, ...]]:
    return {"v": tuple(map(rate_unit, units)), "tau": tuple(map(effort_unit, units)), "a": tuple(map(acceleration_unit, units))}
