"""Models as FMUs, for other tools to simulate: `export_fmu`."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from pathlib import PurePath
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, did_you_mean, refuse, warn
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import CANCELLED, SAME
from titop.blocks.contract.own_coordinates import in_brackets, rate_unit
from titop.graph.network.assembly import refuse_unsteady
from titop.solvers.equilibrium.operating_point import OperatingPoint, read_point
from titop.solvers.linear.path_series import refuse_paths
from titop.solvers.model.model import Model, read_model
from titop.solvers.programs.c_code import Dialect, FunctionPrinter
from titop.solvers.programs.c_controllers import read_controller
from titop.solvers.programs.c_text import c_names, table
from titop.solvers.programs.controller_text import ControllerText
from titop.solvers.programs.fmu.fmu_archive import write_fmu
from titop.solvers.programs.fmu.fmu_description import Variable
from titop.solvers.programs.system_program import resting_within_ranges, system_programs, system_states
from titop.solvers.signals.exported import refuse_twice, signals_of
from titop.solvers.signals.grammar import MEASURED, OUTPUT, read_name, read_names
from titop.solvers.signals.quantities import Kind
from titop.solvers.signals.system_inputs import SystemInputs

_KINDS = "me", "cs"
_DIALECT, _FREE = Dialect("double"), (-np.inf, np.inf)
#: Functions in C: arguments beside states, inputs and parameters, and results.
_FUNCTIONS = {
    "rates": ((), ("xdot", "health")),
    "outputs": ((), ("y",)),
    "tangent": (("seed",), ("change",)),
    "adjoint": (("weight",), ("gradient",)),
    "closed": ((), ("closed",)),
}


def export_fmu(
    model: Model,
    path: str | os.PathLike[str],
    inputs: Any = (),
    outputs: Any = None,
    parameters: Sequence[str] = (),
    controller: Any = None,
    version: int = 3,
    kinds: Sequence[str] = ("me", "cs"),
    point: Any = None,
) -> None:
    """Write a model as an FMU, for Simulink, Dymola, OpenModelica, FMPy and many other tools.

    It contains the C of the model's equations as one program, a compiled library where a C compiler is (``cc``,
    ``gcc``, ``clang``, or what the variable CC names), and needs nothing of titop. Names are titop's, with units. Derivatives
    of rates and outputs along directions are exact, in FMI 3.0 backwards too. States can be saved, restored, written as bytes.

    Co-simulation integrates by Dormand and Prince's method of fifth order. Its steps hold the tolerance that the tool gives
    (1e-8 without; absolute tolerances are a hundredth of it, in SI units). It is explicit: very stiff models take very many
    steps, and go better by model exchange with an implicit method. Inputs are held from one communication to the next.

    Equations are smooth but where stops and contacts begin to act. There variables ``block.switch[k]`` change their sign; they
    are the event indicators of model exchange. Nothing jumps, so that tools may also ignore them.

    Configurations are states as they are. Quaternions among them are divided by their norms inside. With closures, states must
    satisfy the constraints where a simulation begins. Co-simulation moves them back to the constraints after every step; in
    model exchange accelerations alone satisfy these, and what remains is the integration's error.

    Filters of the paths of sensors and actuators are part of the model; noise, bias, quantisation and the like are not.

    Parameters
    ----------
    model : Model
    path : str or path
        Ends in ``.fmu``. It is written whole or not at all.
    inputs : sequence of str
        As in `linearize`: actuators' inputs, efforts of joints, wrenches on ports (``"hub.C.W"``), accelerations of joints
        whose motion is imposed. Others stay as at the point.
    outputs : sequence of str, optional
        As in `linearize`, but for functions: coordinates, motions of ports, sensors' outputs, reactions. All states by default.
    parameters : sequence of str
        Names of parameters that can be tuned in the FMU. Others are constants. What is set there is not checked.
    controller : control.StateSpace, LPVModel, ScheduledController or Loop, optional
        Of sampled time: see `export_c`. It runs inside, with its own clock; its references are inputs, and its commands replace
        what acts at the point. Actuators' ranges limit all inputs then, as in `simulate`.
    version : int
        2 or 3, of FMI.
    kinds : sequence of str
        ``"me"`` (model exchange) and ``"cs"`` (co-simulation).
    point : OperatingPoint, (q, v) or (nq,) array, optional
        Start values of states and inputs; the neutral configuration at rest by default, with loops closed.

    Raises
    ------
    ModelError
        For unknown names and ones that are taken twice; for parameters without a program, such as places in a table; for blocks
        without one, such as those whose functions make floats of the state; for delays of sensors and actuators; for
        controllers that are no program in C, are delayed by parts of a sample, or command an input; for a folder that does not
        exist; if the C does not compile.

    Examples
    --------
    >>> import tempfile, titop as tt
    >>> s = tt.System("swing", gravity=[0, 0, -9.81])
    >>> s.connect("world", tt.RigidBody("bob", mass=2.0, com=[0, 0, -1]), joint=tt.Revolute("hinge", axis=[0, 1, 0]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tt.export_fmu(s.resolve(), f"{folder}/swing.fmu", inputs=["hinge"], outputs=["hinge.q"], parameters=["bob.mass"])
    """
    read_model(model)
    _check(path, version, kinds)
    warn(refuse_unsteady(model.mechanism.assembly))
    at = read_point(model, model.assemble(model.neutral()) if point is None else point).of(model)
    name = c_names([model.name])[model.name]
    system = _System(at, inputs, outputs, _read_parameters(at.model, parameters), controller)
    write_fmu(
        path, name, model.name, system.variables(), system.code(name), version, [kind for kind in _KINDS if kind in kinds]
    )


def _check(path: Any, version: Any, kinds: Any) -> None:
    """Refuse wrong arguments that are no part of the model."""
    findings = []
    if not isinstance(path, str | os.PathLike) or PurePath(path).suffix != ".fmu":
        findings.append(Finding("bad-path", "path", path, "a path that ends in .fmu", "add .fmu"))
    if not isinstance(version, int) or version not in (2, 3):
        findings.append(Finding("bad-version", "version", version, "2 or 3", "3 is FMI 3.0, 2 is 2.0"))
    if not isinstance(kinds, list | tuple | set) or not kinds or not all(kind in _KINDS for kind in kinds):
        findings.append(Finding("bad-kinds", "kinds", kinds, "some of 'me' and 'cs'", 'write kinds=["me", "cs"]'))
    refuse(findings)


def _read_parameters(model: Model, names: Any) -> tuple[str, ...]:
    """Return the names of parameters. Raises `ModelError` for unknown ones."""
    known, found = model.parameters(), tuple(read_names("parameters", names))
    for name in found:
        if name not in known:
            raise ModelError(Finding("unknown-parameter", "parameters", name, "a parameter", did_you_mean(str(name), known)))
    return found


class _System:
    """A model between inputs and outputs, as variables and C; the commands of a controller are its last inputs."""

    def __init__(self, at: OperatingPoint, inputs: Any, outputs: Any, parameters: tuple[str, ...], controller: Any) -> None:
        self.parameters, model = parameters, at.model
        self.at = at if controller is None else resting_within_ranges(at)
        self.controller = None if controller is None else read_controller(controller, None, model)
        law = None if self.controller is None else self.controller.law
        if self.controller and self.controller.delay > (self.controller.held + SAME) * self.controller.law.sample_time:
            expected, advice = "whole samples", "make it one; or the sample time shorter"
            raise ModelError(Finding("bad-delay", "controller.delay", self.controller.delay, expected, advice))
        commands = law.outputs if law else ()
        self.inputs = SystemInputs(model, [*read_names("inputs", inputs), *commands])
        self.nu = len(self.inputs.named) - len(commands)
        for k in self.inputs.displaced:
            name = model.coordinate_names[k]
            raise ModelError(Finding("improper", "inputs", f"{name}.q", "inputs without derivatives", f"take {name}.a"))
        self.measured = [read_name(model, MEASURED, each) for each in law.inputs] if law else []
        self.states = system_states(model)
        found = [] if outputs is None else [read_name(model, OUTPUT, each) for each in read_names("outputs", outputs)]
        read = [(of.only(k), signal) for of in found for k, signal in enumerate(signals_of(model, of))]
        refuse_twice("output", [signal for _, signal in read])
        known = {signal.path for signal in (*self.states, *self.inputs.signals[self.nu :])}
        self.shown = {signal.path for signal in self.states} if outputs is None else {signal.path for _, signal in read}
        self.outputs = [(of, signal) for of, signal in read if signal.path not in known]
        measured = [path for of in self.measured for path in of.paths]
        refuse_paths(model, [*(signal.path for signal in self.inputs.signals), *self.shown, *measured])
        outputs_of = [of for of, _ in self.outputs]
        limited = 0 if controller is None else self.nu
        self.programs = system_programs(self.at, self.inputs, outputs_of, self.measured, parameters, limited)

    def _starts(self) -> list[float]:
        """Return the values of the inputs at the point, and of the commands at the controller's."""
        at, nv = self.at, self.at.model.nv
        u = np.zeros(self.at.model.nu) if at.u is None else at.u
        values = {Kind.EFFORT: at.tau, Kind.INPUT: u, Kind.ACCELERATION: np.zeros(nv)}
        wrenches = dict(at.wrenches or {})
        named = self.inputs.named[: self.nu]
        found = [wrenches.get(c.port, np.zeros(6)) if c.kind == Kind.WRENCH else values[c.kind] for c in named]
        trims = [] if self.controller is None else np.clip(self.controller.trims[1], *self._limits).tolist()
        return [*(float(values[c.entry]) for c, values in zip(named, found, strict=True)), *trims]

    @property
    def _limits(self) -> Array:
        """The ranges (2, n) of the commands."""
        limits, channels = self.at.model.mechanism.inputs, self.inputs.named[self.nu :]
        rows = [(limits.lower[c.entry], limits.upper[c.entry]) if c.kind == Kind.INPUT else _FREE for c in channels]
        return np.array(rows, dtype=float).T

    def variables(self) -> list[Variable]:
        """Return the variables, in the order of ``runtime.c``."""
        at, known = self.at, self.at.model.parameters()
        variables = [Variable("time", "independent", "s")]

        def add(signals: Iterable[Any], causality: str, starts: Iterable[Any] = (), **more: Any) -> None:
            for (path, unit), start in zip_longest(signals, starts):
                shown = "output" if causality == "local" and path in self.shown else causality
                variables.append(Variable(path, shown, unit or "1", start, **more))

        if (controller := self.controller) is not None:
            n = len(self.measured)
            add(zip(controller.inputs[n:], controller.units[0][n:], strict=True), "input", controller.trims[0][n:])
        for name in self.parameters:
            add([(name, known[name][1])], "parameter", [known[name][0]], variability="tunable")
        starts = self._starts()
        add(self.inputs.signals[: self.nu], "input", starts[: self.nu])
        add(self.inputs.signals[self.nu :], "local", starts[self.nu :], variability="discrete")
        first = len(variables)
        add(self.states, "local", np.concatenate([at.q, at.v, at.x]).tolist())
        for k, (path, unit) in enumerate(self.states):
            add([(f"der({path})", _per_second(unit))], "local", state=first + k)
        add((signal for _, signal in self.outputs), "output")
        add(((name, "1") for name in self.programs.gaps), "local", is_indicator=True)
        counts = Counter(variable.name for variable in variables)
        if twice := [name for name in counts if counts[name] > 1]:
            advice = "leave one of the two out, or rename the block"
            raise ModelError(Finding("duplicate-name", "export_fmu", twice[0], "each name once", advice))
        return variables

    def code(self, name: str) -> dict[str, str]:
        """Return the C of the model by name of file, as ``runtime.c`` wants it."""
        programs, mechanism, controller = self.programs, self.at.model.mechanism, self.controller
        numbers = {
            "NR": 0 if controller is None else len(controller.inputs) - len(self.measured),
            "NP": len(self.parameters),
            "NU": self.nu,
            "NC": len(self.inputs.named) - self.nu,
            "NX": len(self.states),
            "NY": len(self.outputs),
            "NZ": len(programs.gaps),
            "NM": len(self.measured),
            "NQUATERNIONS": len(mechanism.quaternions),
            "HEALTHS": len(programs.rates.outputs["health"].values),
            "LEAST_HEALTH": CANCELLED,
            "SAMPLE_TIME": 1.0 if controller is None else controller.law.sample_time,
        }
        starts = [each.start for each in self.variables() if each.start is not None]
        text = "".join(f"#define {key} {value!r}\n" for key, value in numbers.items())
        text += f"static const int QUATERNIONS[] = {{{', '.join(map(str, mechanism.quaternions)) or 0}}};\n"
        text += f"static const double START[] = {table(starts or [0.0], 'double')};\n"
        more: dict[str, str] = {}
        if controller is not None:
            law, P = ControllerText(controller, f"{name}_law", "double"), f"{name}_law".upper()
            more = {"law.h": f"#ifndef {P}\n#define {P}\n{law.header}#endif\n"}
            more["law.c"] = f'#include <math.h>\n#include "law.h"\n{law.source}'
            text += f'#include "law.h"\n#define LAW(name) {name}_law_##name\n#define LAW_DEFAULTS {P}_DEFAULTS\n'
            text += (
                f"#define LAW_NOT_FINITE {P}_NOT_FINITE\nstatic const double LIMITS[][2] = {table(self._limits.T, 'double')};\n"
            )
        text += "#define CLOSED\n" * (programs.closed is not None)
        for field, (own, results) in _FUNCTIONS.items():
            if (program := getattr(programs, field)) is None:
                continue
            arguments = {each: f"const double *{each}" for each in ("states", "inputs", "parameters", *own)}
            arguments |= {each: f"double *{each}" for each in results}
            printer = FunctionPrinter(program, f"model_{field}", results, arguments, _DIALECT)
            text += printer.printed().text
        return {"model.h": text, **more}


def _per_second(unit: str) -> str:
    """Return the unit of a rate."""
    return rate_unit(in_brackets(unit)) if not unit.endswith("/s") else f"{unit}^2"
