"""`Model.program`: functions of a model as programs, which are called like the model's own."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, did_you_mean
from titop.blocks.basics.notebook import page, table
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import CANCELLED
from titop.blocks.basics.user_input import is_finite
from titop.blocks.contract.own_coordinates import acceleration_unit, effort_unit, rate_unit
from titop.blocks.programs import program as straight
from titop.solvers.arguments.reading import are_ready_rows, as_arrays, check_quaternions, is_world, overflow, read_state
from titop.solvers.native import calling
from titop.solvers.native.programs import SystemCode
from titop.solvers.programs.closed_loop import ARGUMENTS as CLOSED_ARGUMENTS
from titop.solvers.programs.closed_loop import CLOSED_LOOP, closed_loop
from titop.solvers.programs.tracing import FUNCTIONS, OF_PORTS, Recorded, check_length, traced, without_program
from titop.solvers.programs.trusted_program import HEALTH, TRUST, trusted
from titop.solvers.signals.exported import Signal, refuse_twice, state_signals
from titop.solvers.signals.grammar import INPUT, OUTPUT, read_name, read_names
from titop.solvers.signals.quantities import Kind, units_of
from titop.solvers.support.threads import call_in_parts

#: The arguments of each function that programs know.
_ARGUMENTS = {name: function.arguments for name, function in FUNCTIONS.items()} | {CLOSED_LOOP: CLOSED_ARGUMENTS}


@dataclass(frozen=True, eq=False)
class ModelProgram:
    """Functions of a model as programs: no branches, no memory, no loops but those over points and sections of soft bodies.

    Made by `Model.program`. Each function is an attribute that is called like the model's, with one state or with stacked ones;
    all arguments are optional. ``u``, ``x`` and ``parameters`` are further ones, if the program has them. By default q is the
    nominal configuration, parameters have the model's values, and all else is zero.

    Attributes
    ----------
    functions : mapping of str to program
        The programs by the functions' names; `titop.blocks.programs.program` says what they are.
    names, units : mapping of str to tuple of str
        Of the numbers of each input, of the outputs ``y``, of the states of linear matrices: the rows and columns of ``A``, and
        of the ``ports``, the first axis of the results of their functions.
    at : mapping of str to array
        The nominal inputs. In systems with closures, the branch at ``at["q"]`` is the one on which the program holds.
    health : float
        The least of all coordinates' pivots at ``at``, each over the coordinate's inertia there: where it comes near zero,
        accelerations lose digits. The same ratio elsewhere is the output ``health`` of the programs that solve equations;
        calls refuse states at which it is lost. Of coordinates that closures make dependent it is the square of the
        constraint's pivot, over that at ``at``.
    quaternions : sequence of int
        Where quaternions begin in q: calls refuse others than unit ones, and divide those by their norms.
    threads : int or None
        Number of threads for stacked states, those of the model (``s.resolve(threads=2)``); None for one a processor.
    """

    functions: Mapping[str, straight.Program]
    names: Mapping[str, tuple[str, ...]]
    units: Mapping[str, tuple[str, ...]]
    at: Mapping[str, Array]
    health: float
    quaternions: Sequence[int] = ()
    threads: int | None = 1

    @property
    def operations(self) -> int:
        """How many operations all functions take."""
        return sum(program.operations for program in self.functions.values())

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Return a function of a name, from the first time on as an attribute."""
        if name.startswith("_") or name not in self.__dict__.get("functions", ()):
            raise AttributeError(f"the program has no function {name!r}; it has {', '.join(self.functions)}")
        self.__dict__[name] = function = ProgramFunction(self, name)
        return function

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(getattr(self, each.name) for each in fields(self))

    def _repr_html_(self) -> str:
        rows = ((name, each.operations, list(each.inputs), list(each.outputs)) for name, each in self.functions.items())
        return page(
            "Program", f"{self.operations} operations", table("functions", rows, ("function", "operations", "of", "gives"))
        )

    def __repr__(self) -> str:
        return f"Program({', '.join(self.functions)}; {self.operations} operations)"


#: The name under which users know it: inside, a program is that of one function.
Program = ModelProgram


class ProgramFunction:
    """One function of a `ModelProgram`, as machine code: compiled when it is first called, and kept in the cache."""

    def __init__(self, program: ModelProgram, name: str) -> None:
        self.program, self.name, self.function = program, name, trusted(program.functions[name], program.quaternions)
        self._code, outputs = SystemCode(self.function), self.function.outputs
        self._names, self._lengths = [*self.function.inputs], [*self.function.inputs.values()]
        self._sizes, self._arguments = [len(output.values) for output in outputs.values()], _ARGUMENTS[name]
        self._kept = [output.shape for of, output in outputs.items() if of != TRUST]
        self._count = len(self._names) if len(self._names) == len(self._arguments) else -1
        self._is_vector = [*map(len, self._kept)] == [1]
        self._is_plain = tuple(self._names[: len(self._arguments)]) == self._arguments and calling.obstacle() is None

    def __reduce__(self) -> tuple[Any, ...]:
        return getattr, (self.program, self.name)

    def __call__(self, *state: Any, **others: Any) -> Any:
        """Return the function at one state or at stacked ones; a tuple of arrays if there are several.

        Raises `ModelError` for arguments of wrong lengths or that are not finite, quaternions that are not unit ones, states
        without health, and results that are not finite.
        """
        given = stacks = state if len(state) == self._count and not others else self._filled(state, others)
        for _ in range(2 if self._is_plain else 0):  # with the arguments as they are, and as arrays
            results = [*map(np.empty, self._sizes)]
            try:
                if [*map(len, given)] == self._lengths:
                    self._code.compiled(*given, *results)
                    if results[-1][-1] == 0.0:
                        return results[0] if self._is_vector else self._shaped(results, ())
                    break
            except TypeError:
                pass
            given = as_arrays(*given)
        if self._is_plain and all(map(are_ready_rows, stacks)) and [x.shape[1] for x in stacks] == self._lengths:
            rows = tuple({len(stack) for stack in stacks})
            if len(rows) == 1 and not (results := self._computed(stacks, rows))[-1][:, -1].any():
                return self._shaped(results, rows)
        named = named_arguments(self.program, self.name, state, others)
        read = [self._read(name, named.get(name)) for name in self._names]
        counts = {len(array) for array in read if array.ndim == 2}
        if len(counts) > 1:
            got, advice = f"stacks of {', '.join(map(str, sorted(counts)))} states", "give one row for each state"
            raise ModelError(Finding("wrong-shape", self.name, got, "stacks of one length", advice))
        rows = (counts.pop(),) if counts else ()
        *found, trust = self._computed(read, rows)
        if not (health := trust[..., :-1] > CANCELLED).all():
            raise ModelError(without_health(self.program.names["v"][int(np.argwhere(~health)[0][-1])]))
        if not all(map(is_finite, found)):
            raise ModelError(overflow())
        return self._shaped(found, rows)

    def _filled(self, state: tuple[Any, ...], others: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return all inputs in their order, those that are not given as they are by default; none if names are strange."""
        names = self._names[len(state) :]
        is_known = len(state) <= len(self._arguments) and others.keys() <= {*names}
        return (*state, *(others.get(name, self.program.at[name]) for name in names)) if is_known else ()

    def _shaped(self, results: Sequence[Array], rows: tuple[int, ...]) -> Any:
        found = [result.reshape((*rows, *shape)) for result, shape in zip(results, self._kept, strict=False)]
        return found[0] if len(found) == 1 else tuple(found)

    def _computed(self, given: Sequence[Array], rows: tuple[int, ...]) -> list[Array]:
        """Return all outputs, row by row, of one state or of so many `rows`."""
        if calling.obstacle() is not None:
            found = self.function.evaluate(dict(zip(self._names, given, strict=True))).values()
            return [result.reshape((*rows, size)) for result, size in zip(found, self._sizes, strict=True)]
        results = [np.empty((*rows, size)) for size in self._sizes]
        if rows:
            given = [array if array.ndim == 2 else np.tile(array, (*rows, 1)) for array in given]
            call_in_parts(self.program.threads, self._code.in_lanes.compiled, *given, *results)
        else:
            self._code.compiled(*given, *results)
        return results

    def _read(self, name: str, value: Any) -> Array:
        """Return an argument as a vector, or rows of them."""
        if value is None:
            return self.program.at[name]
        names = self.program.names[name]
        if isinstance(value, Mapping):
            value = [*numbers_by_name(name, value, names, self.program.at[name]).values()]
        array = _real(name, read_state(name, value, names, stacked=True))
        if name == "q" and self.program.quaternions:
            check_quaternions(array, self.program.quaternions, names)
        return array


def named_arguments(program: ModelProgram, name: str, state: Sequence[Any], others: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a function by name, from those given in order and those given by name.

    A function takes its own, and all others of the program on which functions of a state may depend. Raises `TypeError` for
    any other, and for one that is given twice.
    """
    more = () if name == CLOSED_LOOP else ("u", "x", "parameters")
    known = dict.fromkeys([*_ARGUMENTS[name], *(of for of in more if of in program.at), *program.functions[name].inputs])
    first = dict(zip(_ARGUMENTS[name], state, strict=False))
    if unknown := [of for of in others if of not in known or of in first] or state[len(first) :]:
        raise TypeError(f"{name} takes {', '.join(known)}, each once, not {', '.join(map(str, unknown))}")
    return first | dict(others)


def numbers_by_name(argument: str, given: Mapping[str, Any], names: Sequence[str], default: Any) -> dict[str, Any]:
    """Return the numbers of an argument by their names, by `default` those that are not given. Raises `ModelError`."""
    if unknown := [name for name in given if name not in names]:
        raise ModelError(Finding("unknown-name", argument, unknown[0], f"one of {argument}", did_you_mean(unknown[0], names)))
    return dict(zip(names, np.asarray(default).tolist(), strict=True)) | dict(given)


def _real(name: str, array: Array) -> Array:
    if np.iscomplexobj(array):
        raise ModelError(Finding("wrong-type", name, "complex numbers", "real ones", "programs have derivatives of their own"))
    return array


def without_health(name: str) -> Finding:
    """Return the finding for a coordinate whose pivot is lost."""
    got, expected = "lost at this configuration", "inertia to move, or closures that determine it"
    advice = "move away from this configuration; or make the program with `at` there, if the model has accelerations"
    return Finding("no-health", name, got, expected, advice)


class Recording(NamedTuple):
    """A model whose functions are recorded, and what `ModelProgram` says of its inputs and outputs."""

    recorded: Recorded
    names: dict[str, tuple[str, ...]]
    units: dict[str, tuple[str, ...]]
    nominal: dict[str, Array]


def program(
    model: Any,
    *functions: str,
    parameters: Sequence[str] = (),
    inputs: Sequence[str] = (),
    outputs: Sequence[str] | None = None,
    at: Any = None,
    controller: Any = None,
    ports: str | Sequence[str] = (),
    frame: str = "port",
    prescribed: Sequence[str] = (),
) -> ModelProgram:
    """Return the program of functions of a model: `Model.program`."""
    _refuse_names("function", functions, _ARGUMENTS)
    if not functions:
        raise ModelError(Finding("missing", "functions", "none", "names of functions", f"{', '.join(_ARGUMENTS)} are known"))
    if (controller is None) == (CLOSED_LOOP in functions):
        got = "none" if controller is None else "one without a function of it"
        advice = "give both or none"
        raise ModelError(Finding("no-controller", "controller", got, f"one beside the function {CLOSED_LOOP!r}", advice))
    of_names: tuple[tuple[str, Any, Collection[str]], ...]
    of_names = ("ports", ports, OF_PORTS), ("prescribed", prescribed, {"hybrid_dynamics"})
    for what, given, own in of_names:
        if bool(read_names(what, given)) != any(name in own for name in functions):
            advice = f"give both or none: functions of these are {', '.join(sorted(own))}"
            raise ModelError(Finding(f"no-{what}", what, given or "none", "names beside a function of them", advice))
    return programmed(model, functions, recording(model, parameters, inputs, outputs, at, ports, frame, prescribed), controller)


def programmed(model: Any, functions: Sequence[str], recording: Recording, controller: Any = None) -> ModelProgram:
    """Return the program of functions of a model that is recorded."""
    recorded, names, units, nominal = recording
    programs = {name: traced(name, recorded) for name in functions if name != CLOSED_LOOP}
    if "linear_matrices" in functions:
        signals = [state_signals(model)[k] for k in recorded.states]
        names["A"], units["A"] = tuple(path for path, _ in signals), tuple(unit for _, unit in signals)
    if controller is not None:
        known = names.get("parameters", ()), recorded.quantities, nominal["q"]
        loop, own_names, own_units, own_values = closed_loop(model, controller, *known)
        programs = {name: programs.get(name, loop) for name in functions}
        names, units, nominal = names | own_names, units | own_units, nominal | own_values
    for name, found in programs.items():
        check_length(name, found, model.mechanism)
    with np.errstate(all="ignore"):
        healths = [found.evaluate({k: nominal[k] for k in found.inputs}).get(HEALTH) for found in programs.values()]
    all_healths = [found for found in healths if found is not None and found.size]
    if (lost := next((found for found in all_healths if not (found > CANCELLED).all()), None)) is not None:
        raise ModelError(without_health(model.coordinate_names[int(np.argmin(lost > CANCELLED))]))
    health = min((float(found.min()) for found in all_healths), default=1.0)
    return ModelProgram(programs, names, units, nominal, health, tuple(model.mechanism.quaternions), model.threads)


def _refuse_names(what: str, asked: Sequence[str], known: Collection[str]) -> None:
    for k, name in enumerate(asked):
        if not isinstance(name, str) or name not in known:
            raise ModelError(
                Finding(f"unknown-{what}", f"{what}s", name, f"a {what} that programs know", did_you_mean(name, known))
            )
        if name in asked[:k]:
            raise ModelError(Finding(f"duplicate-{what}", f"{what}s", name, "each name once", "leave one out"))


def recording(
    model: Any,
    parameters: Sequence[str],
    inputs: Sequence[str],
    outputs: Sequence[str] | None,
    at: Any = None,
    ports: str | Sequence[str] = (),
    frame: str = "port",
    prescribed: Sequence[str] = (),
) -> Recording:
    """Return a model whose functions are recorded, with the arguments of `Model.program`."""
    mechanism = model.mechanism
    all_ports = read_names("ports", ports)
    _refuse_names("port", all_ports, mechanism.ports)
    parameters = read_names("parameters", parameters)
    _refuse_names("parameter", parameters, mechanism.parameters())
    if at is None:
        at = mechanism.regular_configuration if mechanism.is_constrained else mechanism.probes[1]
    nominal = {
        "q": _real("at", mechanism._read_q(at, "at")).copy(),
        **{name: np.zeros(mechanism.nv) for name in ("v", "tau", "a")},
    }
    values = mechanism.parameters()
    names: dict[str, tuple[str, ...]] = {
        "q": mechanism.configuration_names,
        **dict.fromkeys(("v", "tau", "a"), mechanism.coordinate_names),
    }
    units: dict[str, tuple[str, ...]] = {
        "q": mechanism.assembly.configuration_units,
        **_coordinate_units(mechanism.assembly.coordinate_units),
    }
    ends = [read_name(model, INPUT, name) for name in read_names("inputs", inputs)]
    places, efforts = ([k for of in ends if of.kind == kind for k in of.entries] for kind in (Kind.INPUT, Kind.EFFORT))
    if strange := [of.paths[0] for of in ends if of.kind not in (Kind.INPUT, Kind.EFFORT)]:
        advice = "give efforts of joints, and inputs of actuators and blocks"
        raise ModelError(Finding("no-program", "inputs", strange[0], "an effort or an actuator's input", advice))
    named = None if outputs is None else [read_name(model, OUTPUT, name) for name in read_names("outputs", outputs)]
    read = mechanism.sensor_signals if named is None else named
    for role, quantities in {"input": ends, "output": read}.items():
        refuse_twice(role, [Signal(path, "") for of in quantities for path in of.paths])
    for name, of, unit in (
        ("u", tuple(mechanism.input_names[k] for k in places), [mechanism.inputs.units[k] for k in places]),
        ("x", mechanism.inputs.state_names, mechanism.inputs.state_units),
        ("parameters", tuple(parameters), [values[name][1] for name in parameters]),
    ):
        if of:
            names[name], units[name], nominal[name] = of, tuple(unit), np.zeros(len(of))
    if parameters:
        nominal["parameters"] = np.array([values[name][0] for name in parameters])
    try:
        of_ports = ports if isinstance(ports, str) else all_ports, is_world(frame), mechanism.prescribed(prescribed)
        recorded = Recorded(mechanism, nominal, parameters, places, efforts, read, *of_ports)
    except TypeError as error:
        raise without_program(error, "parameters") from error
    names["y"], units["y"] = tuple(x for of in read for x in of.paths), tuple(x for of in read for x in units_of(model, of))
    if all_ports:
        names["ports"], units["ports"] = tuple(all_ports), ("m and rad",) * len(all_ports)
    return Recording(recorded, names, units, nominal)


def _coordinate_units(units: Sequence[str]) -> dict[str, tuple[str, ...]]:
    return {"v": tuple(map(rate_unit, units)), "tau": tuple(map(effort_unit, units)), "a": tuple(map(acceleration_unit, units))}
