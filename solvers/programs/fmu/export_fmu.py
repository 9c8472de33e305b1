"""Models as FMUs, for other tools to simulate: `export_fmu`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, did_you_mean, refuse, warn
from titop.blocks.basics.tolerances import CANCELLED
from titop.graph.network.assembly import refuse_unsteady
from titop.solvers.equilibrium.operating_point import OperatingPoint, read_point
from titop.solvers.linear.path_series import refuse_paths
from titop.solvers.mechanism.system_parameters import assembly_parameters
from titop.solvers.model.model import Model, read_model
from titop.solvers.programs.c_code import Dialect, FunctionPrinter
from titop.solvers.programs.c_controllers import read_controller
from titop.solvers.programs.c_text import c_names, table
from titop.solvers.programs.controller_text import ControllerText
from titop.solvers.programs.fmu.description import Variable
from titop.solvers.programs.fmu.packing import write_fmu
from titop.solvers.programs.system_program import system_programs
from titop.solvers.signals.exported import Signal, refuse_twice, signals_of
from titop.solvers.signals.grammar import MEASURED, OUTPUT, read_name, read_names
from titop.solvers.signals.quantities import Kind, Quantity
from titop.solvers.signals.system_inputs import SystemInputs

_KINDS = {"me": "model exchange", "cs": "co-simulation"}
#: Arguments of the functions in C.
_GIVEN = {name: f"const double *{name}" for name in ("states", "inputs", "parameters")}


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

    It contains the C of the model's equations as a straight-line program, a compiled library where a C compiler is (``cc``,
    ``gcc``, ``clang``, or what the variable CC names), and needs nothing of titop. Names are titop's, with units. Derivatives
    of rates and outputs along directions are exact, in FMI 3.0 backwards too. States can be saved, restored and written as bytes.

    Co-simulation integrates by Dormand and Prince's method of fifth order. Its steps hold the tolerance that the tool gives
    (1e-8 without; absolute tolerances are a hundredth of it, in SI units). It is explicit: very stiff models take very many
    steps, and go better by model exchange with an implicit method. Inputs are held from one communication to the next.

    Equations are smooth but where stops and contacts begin to act. There variables ``block.switch[k]`` change their sign; they
    are the event indicators of model exchange. Nothing jumps, so that tools may also ignore them.

    Configurations are states as they are. Quaternions among them are divided by their norms inside. With closures, states must
    satisfy the constraints where a simulation begins; then accelerations do, and what remains is the integration's error.

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
        what acts at the point. Actuators' ranges limit them.
    version : int
        2 or 3, of FMI.
    kinds : sequence of str
        ``"me"`` (model exchange) and ``"cs"`` (co-simulation).
    point : OperatingPoint, (q, v) or (nq,) array, optional
        Start values of states and inputs; the neutral configuration at rest by default, with loops closed.

    Raises
    ------
    ModelError
        For unknown names and ones that are taken twice; for parameters without a program, such as those of composite devices;
        for blocks without one, such as those whose functions branch on the state; for delays of sensors and actuators; for
        controllers that are no program in C, or that command an input; for a folder that does not exist; if the C does not
        compile.

    Examples
    --------
    >>> import tempfile, titop as tt
    >>> s = tt.System("swing", gravity=[0, 0, -9.81])
    >>> s.connect("world", tt.RigidBody("bob", mass=2.0, com=[0, 0, -1]), joint=tt.Revolute("hinge", axis=[0, 1, 0]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tt.export_fmu(s.resolve(), f"{folder}/swing.fmu", inputs=["hinge"], outputs=["hinge.q"], parameters=["bob.mass"])
    """
    read_model(model)
    name = _read_arguments(path, version, kinds, model)
    warn(refuse_unsteady(model.mechanism.assembly))
    at = read_point(model, model.assemble(model.neutral()) if point is None else point).of(model)
    system = _System(at, inputs, outputs, parameters, controller, name)
    order = [kind for kind in _KINDS if kind in kinds]
    write_fmu(path, name, model.name, system.variables, system.code, version, order)


def _read_arguments(path: Any, version: Any, kinds: Any, model: Model) -> str:
    """Return the name of the FMU's library, after looking at what is no part of the model."""
    findings = []
    if not isinstance(path, str | os.PathLike) or not os.fspath(path).endswith(".fmu"):
        findings.append(Finding("bad-path", "path", path, "a path that ends in .fmu", "add .fmu"))
    if version not in (2, 3):
        findings.append(Finding("bad-version", "version", version, "2 or 3", "3 is FMI 3.0, 2 is 2.0"))
    if isinstance(kinds, str) or not set(kinds) <= _KINDS.keys() or not kinds:
        findings.append(Finding("bad-kinds", "kinds", kinds, "some of 'me' and 'cs'", 'write kinds=["me", "cs"]'))
    refuse(findings)
    return c_names([model.name])[model.name]


class _System:
    """A model between inputs and outputs, as the variables and the C of an FMU."""

    def __init__(self, at: OperatingPoint, inputs: Any, outputs: Any, parameters: Any, controller: Any, name: str) -> None:
        self.at, self.model, self.name = at, at.model, name
        self.parameters = _read_parameters(at.model, parameters)
        self.controller = None if controller is None else read_controller(controller, None, at.model)
        law = None if self.controller is None else self.controller.law
        given = read_names("inputs", inputs)
        self.inputs = SystemInputs(self.model, [*given, *(law.outputs if law else ())])
        self.nu = len(self.inputs.named) - (len(law.outputs) if law else 0)
        self.measured = [read_name(self.model, MEASURED, each) for each in law.inputs] if law else []
        self.states = self._states()
        known = {signal.path for signal, _ in self.states} | {signal.path for signal in self.inputs.signals[self.nu :]}
        found = [] if outputs is None else [read_name(self.model, OUTPUT, each) for each in read_names("outputs", outputs)]
        signals = [signal for of in found for signal in signals_of(self.model, of)]
        refuse_twice("output", signals)
        self.shown = {signal.path for signal, _ in self.states} if outputs is None else {signal.path for signal in signals}
        pairs = [(of.only(k), signal) for of in found for k, signal in enumerate(signals_of(self.model, of))]
        self.outputs = [(of, signal) for of, signal in pairs if signal.path not in known]
        self._refuse()
        self.programs = system_programs(at, self.inputs, [of for of, _ in self.outputs], self.measured, self.parameters)
        self.variables = self._variables()
        self.code = self._code()

    def _refuse(self) -> None:
        """Refuse what no FMU has."""
        for k in self.inputs.displaced:
            name = self.model.coordinate_names[k]
            expected, advice = "inputs that need not be differentiated", f"take {name}.a"
            raise ModelError(Finding("improper", "inputs", f"{name}.q", expected, advice))
        measured = [path for of in self.measured for path in of.paths]
        refuse_paths(self.model, [*(signal.path for signal in self.inputs.signals), *self.shown, *measured])

    def _states(self) -> list[tuple[Signal, float]]:
        """Return the states and their start values: coordinates and rates have the names of outputs."""
        model, assembly = self.model, self.model.mechanism.assembly
        plain = dict(zip(model.mechanism.plain_coordinates.in_q.tolist(), model.mechanism.plain_coordinates.in_v, strict=True))
        names = [
            f"{model.coordinate_names[plain[k]]}.q" if k in plain else name for k, name in enumerate(model.configuration_names)
        ]
        rates = signals_of(
            model, Quantity(Kind.RATE, "", tuple(range(model.nv)), tuple(f"{n}.v" for n in model.coordinate_names))
        )
        own = map(Signal, model.mechanism.inputs.state_names, model.mechanism.inputs.state_units)
        signals = [*map(Signal, names, assembly.configuration_units), *rates, *own]
        return [*zip(signals, np.concatenate([self.at.q, self.at.v, self.at.x]).tolist(), strict=True)]

    def _starts(self) -> list[float]:
        """Return the values of the inputs at the point, and of the commands at the controller's."""
        at, zero = self.at, np.zeros(6)
        u = np.zeros(self.model.nu) if at.u is None else at.u
        values = {Kind.EFFORT: at.tau, Kind.INPUT: u, Kind.ACCELERATION: np.zeros(self.model.nv)}
        found = [
            float(((at.wrenches or {}).get(each.port, zero) if each.kind == Kind.WRENCH else values[each.kind])[each.entry])
            for each in self.inputs.named[: self.nu]
        ]
        return found if self.controller is None else [*found, *self.controller.trims[1].tolist()]

    def _variables(self) -> list[Variable]:
        values, starts = self.model.parameters(), self._starts()
        causality = {True: "output", False: "local"}
        variables = [Variable("time", "independent", "s")]
        if self.controller is not None:
            count, trims, units = len(self.measured), self.controller.trims[0], self.controller.units[0]
            references = zip(self.controller.inputs[count:], units[count:], trims[count:], strict=True)
            variables += [Variable(name, "input", unit or "1", value) for name, unit, value in references]
        variables += [
            Variable(each, "parameter", values[each][1], values[each][0], None, "tunable") for each in self.parameters
        ]
        for k, (signal, start) in enumerate(zip(self.inputs.signals, starts, strict=True)):
            if k < self.nu:
                variables.append(Variable(signal.path, "input", signal.unit, start))
            else:
                variables.append(
                    Variable(signal.path, causality[signal.path in self.shown], signal.unit, start, None, "discrete")
                )
        first = len(variables)
        variables += [Variable(s.path, causality[s.path in self.shown], s.unit, start) for s, start in self.states]
        variables += [
            Variable(f"der({s.path})", "local", _per_second(s.unit), None, first + k) for k, (s, _) in enumerate(self.states)
        ]
        variables += [Variable(signal.path, "output", signal.unit) for _, signal in self.outputs]
        variables += [Variable(gap, "local", "1", is_indicator=True) for gap in self.programs.gaps]
        taken = set[str]()
        for variable in variables:
            if variable.name in taken:
                advice = "leave one of the two out, or rename the block"
                raise ModelError(Finding("duplicate-name", "export_fmu", variable.name, "each name once", advice))
            taken.add(variable.name)
        return variables

    def _code(self) -> dict[str, str]:
        """Return the C of the model by name of file, as ``runtime.c`` wants it."""
        controller = self.controller
        starts = [each.start for each in self.variables[1:] if each.start is not None]
        counts = {
            "NR": 0 if controller is None else len(controller.inputs) - len(self.measured),
            "NP": len(self.parameters),
            "NU": self.nu,
            "NC": len(self.inputs.named) - self.nu,
            "NX": len(self.states),
            "NY": len(self.outputs),
            "NZ": len(self.programs.gaps),
            "NM": len(self.measured),
            "NQUATERNIONS": len(self.model.mechanism.quaternions),
        }
        numbers = "".join(f"#define {name} {count}\n" for name, count in counts.items())
        names = "rates", "outputs", "tangent", "adjoint", "controller_start", "controller_step"
        renamed = "".join(f"#define model_{name} {self.name}_{name}\n" for name in names)
        period = 1.0 if controller is None else controller.law.sample_time
        quaternions = ", ".join(map(str, self.model.mechanism.quaternions)) or "0"
        memory = "int" if controller is None else f"{self.name}_law_memory"
        header = _HEADER.format(
            numbers=numbers + renamed,
            period=repr(period),
            quaternions=quaternions,
            memory=memory,
            starts=table(starts or [0.0], "double"),
        )
        code = {"model.h": header, "model.c": self._functions() + self._controller_code()}
        if controller is not None:
            text = ControllerText(controller, f"{self.name}_law", "double")
            code["model.h"] = f'#include "law.h"\n{header}'
            code["law.h"] = f"#ifndef LAW_H\n#define LAW_H\n{text.header}\n#endif\n"
            code["law.c"] = f'#include <math.h>\n#include "law.h"\n{text.source}'
        return code

    def _functions(self) -> str:
        dialect, text = Dialect("double"), '#include <math.h>\n#include "model.h"\n'
        for field, more, results in (
            ("rates", (), ("xdot", "health")),
            ("outputs", (), ("y",)),
            ("tangent", ("seed",), ("change",)),
            ("adjoint", ("weight",), ("gradient",)),
        ):
            program = getattr(self.programs, field)
            arguments = (
                _GIVEN | {name: f"const double *{name}" for name in more} | {name: f"double *{name}" for name in results}
            )
            text += FunctionPrinter(program, field, results, arguments, dialect).printed().text
        healths = len(self.programs.rates.outputs["health"].values)
        return text + _FUNCTIONS.format(healths=max(healths, 1), count=healths, least=repr(CANCELLED))

    def _controller_code(self) -> str:
        if self.controller is None:
            return _WITHOUT
        inputs, limits = self.model.mechanism.inputs, ""
        for k, channel in enumerate(self.inputs.named[self.nu :]):
            if channel.kind == Kind.INPUT:
                for of, bound in (("fmax", inputs.lower[channel.entry]), ("fmin", inputs.upper[channel.entry])):
                    limits += f"    commands[{k}] = {of}(commands[{k}], {float(bound)!r});\n" if np.isfinite(bound) else ""
        law = f"{self.name}_law"
        return _CONTROLLER.format(law=law, LAW=law.upper(), limits=limits)


def _read_parameters(model: Model, names: Any) -> tuple[str, ...]:
    """Return the names of parameters. Raises `ModelError` for those that cannot be tuned."""
    known, own = model.parameters(), assembly_parameters(model.mechanism.assembly)
    for name in (found := tuple(read_names("parameters", names))):
        if name not in known:
            raise ModelError(Finding("unknown-parameter", "parameters", name, "a parameter", did_you_mean(str(name), known)))
        if name not in own:
            advice = "take those of its parts"
            raise ModelError(
                Finding("fixed-parameter", "parameters", name, "one of a block: a device computes its parts'", advice)
            )
        if found.count(name) > 1:
            raise ModelError(Finding("duplicate-name", "parameters", name, "each name once", "leave one of the two out"))
    return found


def _per_second(unit: str) -> str:
    """Return the unit of a rate."""
    return (
        "1/s" if unit == "1" else f"{unit[:-2]}/s^2" if unit.endswith("/s") else f"({unit})/s" if "/" in unit else f"{unit}/s"
    )


_HEADER = """\
{numbers}#define SAMPLE_TIME {period}
static const int QUATERNIONS[] = {{{quaternions}}};
static const double START[] = {starts};
typedef {memory} model_memory;
int model_rates(const double *x, const double *u, const double *p, double *xdot);
int model_outputs(const double *x, const double *u, const double *p, double *y);
int model_tangent(const double *x, const double *u, const double *p, const double *seed, double *change);
int model_adjoint(const double *x, const double *u, const double *p, const double *weight, double *gradient);
void model_controller_start(model_memory *memory);
int model_controller_step(model_memory *memory, const double *y, const double *r, double *commands);
"""

_FUNCTIONS = """\
/* Returns 0, or which coordinate, from 1 on, moves no inertia. */
int model_rates(const double *x, const double *u, const double *p, double *xdot)
{{
    double health[{healths}];
    int k;
    rates(x, u, p, xdot, health);
    for (k = 0; k < {count}; k++)
        if (!(health[k] > {least})) return k + 1;
    return 0;
}}
int model_outputs(const double *x, const double *u, const double *p, double *y) {{ outputs(x, u, p, y); return 0; }}
int model_tangent(const double *x, const double *u, const double *p, const double *seed, double *change)
{{
    tangent(x, u, p, seed, change);
    return 0;
}}
int model_adjoint(const double *x, const double *u, const double *p, const double *weight, double *gradient)
{{
    adjoint(x, u, p, weight, gradient);
    return 0;
}}
"""

_WITHOUT = """\
void model_controller_start(model_memory *memory) { *memory = 0; }
int model_controller_step(model_memory *memory, const double *y, const double *r, double *commands)
{
    (void)memory, (void)y, (void)r, (void)commands;
    return 0;
}
"""

_CONTROLLER = """\
void model_controller_start(model_memory *memory) {{ {law}_reset(memory, &{LAW}_DEFAULTS); }}
int model_controller_step(model_memory *memory, const double *y, const double *r, double *commands)
{{
    double given[NM + NR + 1];
    int k, status;
    for (k = 0; k < NM; k++) given[k] = y[k];
    for (k = 0; k < NR; k++) given[NM + k] = r[k];
    status = {law}_step(memory, &{LAW}_DEFAULTS, given, commands);
{limits}    return status == {LAW}_NOT_FINITE;
}}
"""
