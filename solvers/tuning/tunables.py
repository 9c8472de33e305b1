"""Blocks of a controller whose numbers are tuned: gains, PID, filters, state spaces, observers, schedules: `Tunable`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import COMPLEX_STEP
from titop.blocks.basics.user_input import is_finite, read_array, read_count
from titop.solvers.linear.matrices import Matrices
from titop.solvers.linear.state_space import named_signals, positions, read_linear, signal_names
from titop.solvers.tuning.tunable_parameters import (
    Parameter,
    check_parameter,
    count_states,
    is_zero,
    matrix_entries,
    named_parameters,
    read_matrix,
    schedule_terms,
    tridiagonal_form,
)

if TYPE_CHECKING:
    from control import StateSpace

#: Matrices A, B, C, D of numbers (real or complex), and of the values of scheduling parameters.
Law = Callable[[Array, Mapping[str, float]], tuple[Any, Any, Any, Any]]


@dataclass(frozen=True, eq=False)
class Tunable:
    """A block of a controller with numbers to be tuned; made by the class methods, given to `tune`.

    What cannot be is refused by a `ModelError`: names, shapes, bounds that exclude the start.

    Blocks are connected by names: an input that is an output of another block takes that; an output that is an input of the
    plant drives it, and several add. In continuous time; where a loop is sampled, `tune` returns the controller sampled by
    Tustin's rule, and has tuned that one.

    Attributes
    ----------
    name : str
    inputs, outputs : tuple of str
    parameters : tuple of Parameter
        Their full names are ``block.parameter``.
    states : int
    law : callable ``f(theta, rho) -> (A, B, C, D)``
        In arithmetic that takes complex numbers: derivatives are complex steps. `rho` has the values of scheduling parameters.
    is_affine : bool
        Whether the matrices are affine in the parameters and do not depend on `rho`.
    smaller : Tunable or None
        Of a state space, that of the order below, from whose optimum a search may start.
    numbers_of : callable ``f(control.StateSpace) -> array (n)``, or None
        Of a state space, the numbers of a linear system of its order.

    Examples
    --------
    >>> import titop as tt
    >>> pid = tt.Tunable.pid("pid", "hinge.q", "hinge.tau")
    >>> [p.name for p in pid.parameters]
    ['kp', 'ki', 'kd', 'time']
    """

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    states: int
    law: Law
    is_affine: bool = False
    smaller: Tunable | None = None
    numbers_of: Callable[[StateSpace], Array] | None = None

    def __post_init__(self) -> None:
        """Read names, and refuse what is none."""
        name = self.name
        if not isinstance(name, str) or not name:
            raise ModelError(Finding("wrong-type", "name", name, "a name", "such as 'pid': its numbers are called 'pid.kp'"))
        for where in ("inputs", "outputs"):
            object.__setattr__(self, where, signal_names(f"{where} of {name}", getattr(self, where)))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Full names of the parameters."""
        return tuple(f"{self.name}.{p.name}" for p in self.parameters)

    def matrix_at(self, theta: Array, rho: Mapping[str, float]) -> Array:
        """Return ``[A, B; C, D]`` (states + outputs, states + inputs; own units) at numbers (n)."""
        A, B, C, D = self.law(theta, rho)
        n = self.states
        shapes = (n, n), (n, len(self.inputs)), (len(self.outputs), n), (len(self.outputs), len(self.inputs))
        parts = [np.reshape(part, shape) for part, shape in zip((A, B, C, D), shapes, strict=True)]
        return np.block([[parts[0], parts[1]], [parts[2], parts[3]]])

    def slopes_at(self, theta: Array, rho: Mapping[str, float]) -> Array:
        """Return the derivatives (n, states + outputs, states + inputs; own units) of the matrix, by complex steps."""
        if self.is_affine:
            return self._slopes
        return self._steps(theta, rho)

    @cached_property
    def _slopes(self) -> Array:
        return self._steps(np.ones(len(self.parameters)), {})

    def _steps(self, theta: Array, rho: Mapping[str, float]) -> Array:
        size = self.states + len(self.outputs), self.states + len(self.inputs)
        result = np.zeros((len(theta), *size))
        for k in range(len(theta)):
            stepped = theta.astype(complex)
            stepped[k] += 1j * COMPLEX_STEP
            result[k] = self.matrix_at(stepped, rho).imag / COMPLEX_STEP
        return result

    # -- kinds -------------------------------------------------------------------------------------------------------------

    @classmethod
    def gain(
        cls, name: str, input: str, output: str, start: Any = None, lower: float = -np.inf, upper: float = np.inf
    ) -> Tunable:
        """Return a number ``k``, from an input to an output.

        Parameters
        ----------
        name, input, output : str
        start : float, optional
            Where its search starts; without one, anywhere.
        lower, upper : float

        Examples
        --------
        >>> import titop as tt
        >>> tt.Tunable.gain("k", "gyro.x", "torque", start=2.0, lower=0.0).names
        ('k.k',)
        """
        block = cls.matrix(name, input, output, start, lower, upper)
        return replace(block, parameters=(replace(block.parameters[0], name="k"),))

    @classmethod
    def matrix(
        cls,
        name: str,
        inputs: Sequence[str],
        outputs: Sequence[str],
        start: Any = None,
        lower: Any = -np.inf,
        upper: Any = np.inf,
    ) -> Tunable:
        """Return a matrix of gains ``k[i,j]`` (outputs, inputs).

        Parameters
        ----------
        name : str
        inputs, outputs : sequence of str
        start, lower, upper : float or array (outputs, inputs), optional
            In units of the outputs over those of the inputs.

        Examples
        --------
        >>> import titop as tt
        >>> tt.Tunable.matrix("pd", ["roll.q", "roll.v"], ["roll"]).names
        ('pd.k[0,0]', 'pd.k[0,1]')
        """
        inputs, outputs = signal_names(f"inputs of {name}", inputs), signal_names(f"outputs of {name}", outputs)
        parameters = matrix_entries("k", (len(outputs), len(inputs)), start, lower, upper, name)

        def law(theta: Array, rho: Mapping[str, float]) -> tuple[Any, Any, Any, Any]:
            return [], [], [], theta

        return cls(name, inputs, outputs, parameters, 0, law, is_affine=True)

    @classmethod
    def pid(
        cls,
        name: str,
        input: str,
        output: str,
        kp: Any = None,
        ki: Any = None,
        kd: Any = None,
        time: Any = None,
        bounds: Mapping[str, tuple[float, float]] | None = None,
    ) -> Tunable:
        """Return ``kp + ki / s + kd s / (time s + 1)``.

        Parameters
        ----------
        name, input, output : str
        kp, ki, kd, time : float, optional
            Where the search of each starts; ``ki=0`` or ``kd=0`` leaves the part out. The time (s) is positive.
        bounds : mapping of name to (float, float), optional
            ``{"kd": (0, 10)}``; ``{"time": (0.01, 0.01)}`` keeps a time constant.

        Examples
        --------
        >>> import titop as tt
        >>> tt.Tunable.pid("pd", "roll.q", "roll", ki=0, bounds={"time": (0.05, 1.0)}).names
        ('pd.kp', 'pd.kd', 'pd.time')
        """
        with_i, with_d = not is_zero(ki), not is_zero(kd)
        rows = [("kp", kp, 0, True)]
        rows += [("ki", ki, 1, True)] * with_i + [("kd", kd, -1, True), ("time", time, -1, False)] * with_d
        parameters = named_parameters(name, rows, bounds)

        def law(theta: Array, rho: Mapping[str, float]) -> tuple[Any, Any, Any, Any]:
            values = iter(theta)
            A, C, D = [], [], next(values)
            if with_i:
                A.append(0.0)
                C.append(next(values))
            if with_d:
                derivative, lag = next(values), next(values)
                A.append(-1 / lag)
                C.append(-derivative / lag / lag)
                D = D + derivative / lag
            return np.diag(A), np.ones((len(A), 1)), [C], [[D]]

        return cls(name, (input,), (output,), parameters, with_i + with_d, law)

    @classmethod
    def lead(
        cls,
        name: str,
        input: str,
        output: str,
        gain: Any = None,
        zero: Any = None,
        pole: Any = None,
        bounds: Mapping[str, tuple[float, float]] | None = None,
    ) -> Tunable:
        """Return a lead or lag, ``gain (s / zero + 1) / (s / pole + 1)``.

        Parameters
        ----------
        name, input, output : str
        gain, zero, pole : float, optional
            Where their search starts. Zero and pole (rad/s) are positive.
        bounds : mapping of name to (float, float), optional

        Examples
        --------
        >>> import titop as tt
        >>> tt.Tunable.lead("lead", "roll.q", "roll", zero=0.1, pole=1.0).names
        ('lead.gain', 'lead.zero', 'lead.pole')
        """
        rows = [("gain", gain, 0, True), ("zero", zero, 1, False), ("pole", pole, 1, False)]

        def law(theta: Array, rho: Mapping[str, float]) -> tuple[Any, Any, Any, Any]:
            k, zero, pole = theta
            return -pole, pole, k * (1 - pole / zero), k * pole / zero

        return cls(name, (input,), (output,), named_parameters(name, rows, bounds), 1, law)

    @classmethod
    def notch(
        cls,
        name: str,
        input: str,
        output: str,
        frequency: Any = None,
        depth: Any = None,
        damping: Any = None,
        bounds: Mapping[str, tuple[float, float]] | None = None,
    ) -> Tunable:
        """Return ``(s² + 2 depth damping w s + w²) / (s² + 2 damping w s + w²)`` of a `frequency` w (rad/s).

        Parameters
        ----------
        name, input, output : str
        frequency, depth, damping : float, optional
            Where their search starts. The depth is the gain at w: below one a notch, above one the reverse. All are positive.
        bounds : mapping of name to (float, float), optional

        Examples
        --------
        >>> import titop as tt
        >>> tt.Tunable.notch("notch", "torque", "roll", frequency=2.0).names
        ('notch.frequency', 'notch.depth', 'notch.damping')
        """
        rows = [("frequency", frequency, 1, False), ("depth", depth, 0, False), ("damping", damping, 0, False)]

        def law(theta: Array, rho: Mapping[str, float]) -> tuple[Any, Any, Any, Any]:
            w, depth, damping = theta
            wide = 2 * damping * w
            return [[0, w], [-w, -wide]], [[0], [1]], [[0, wide * (depth - 1)]], [[1]]

        return cls(name, (input,), (output,), named_parameters(name, rows, bounds), 2, law)

    @classmethod
    def low_pass(
        cls,
        name: str,
        input: str,
        output: str,
        frequency: Any = None,
        damping: Any = None,
        gain: Any = 1.0,
        order: int = 2,
        bounds: Mapping[str, tuple[float, float]] | None = None,
    ) -> Tunable:
        """Return ``gain w² / (s² + 2 damping w s + w²)``, or ``gain w / (s + w)`` of order 1.

        Parameters
        ----------
        name, input, output : str
        frequency, damping : float, optional
            Where their search starts: w (rad/s), and the damping ratio. Both are positive.
        gain : float or None
            Kept, unless it is None or has bounds.
        order : {1, 2}
        bounds : mapping of name to (float, float), optional

        Examples
        --------
        >>> import titop as tt
        >>> tt.Tunable.low_pass("filter", "torque", "roll", frequency=5.0).names
        ('filter.frequency', 'filter.damping', 'filter.gain')
        """
        rows = [("frequency", frequency, 1, False)]
        rows += [("damping", damping, 0, False)] * (order == 2) + [("gain", gain, 0, True)]
        limits = {**({} if gain is None else {"gain": (gain, gain)}), **(bounds or {})}
        if order not in (1, 2):
            raise ModelError(Finding("bad-value", f"order of {name}", order, "1 or 2", "connect several for more"))

        def law(theta: Array, rho: Mapping[str, float]) -> tuple[Any, Any, Any, Any]:
            if order == 1:
                w, k = theta
                return -w, w, k, 0.0
            w, damping, k = theta
            return [[0, w], [-w, -2 * damping * w]], [[0], [w]], [[k, 0]], [[0]]

        return cls(name, (input,), (output,), named_parameters(name, rows, limits), order, law)

    @classmethod
    def state_space(
        cls, name: str, inputs: Sequence[str], outputs: Sequence[str], order: int, start: Any = None, proper: bool = True
    ) -> Tunable:
        """Return a state space of an `order`, its A tridiagonal: every response of this order has such a form.

        Parameters
        ----------
        name : str
        inputs, outputs : sequence of str
        order : int
        start : control.StateSpace, optional
            Of this order.
        proper : bool
            Whether it has a D.

        Examples
        --------
        >>> import titop as tt
        >>> tt.Tunable.state_space("K", ["roll.q"], ["roll"], 1).names
        ('K.A[0,0]', 'K.B[0,0]', 'K.C[0,0]', 'K.D[0,0]')
        """
        inputs, outputs = signal_names(f"inputs of {name}", inputs), signal_names(f"outputs of {name}", outputs)
        read_count(Finding("bad-value", f"order of {name}", order, "a number of states, zero or more", "such as 2"), 0)
        m, p = len(inputs), len(outputs)
        band = [(i, j) for i in range(order) for j in range(order) if abs(i - j) <= 1]
        rows, columns = np.array(band, dtype=int).reshape(-1, 2).T
        names = [f"A[{i},{j}]" for i, j in band]
        shapes = {"B": (order, m), "C": (p, order), **({"D": (p, m)} if proper else {})}
        names += [f"{symbol}[{i},{j}]" for symbol, shape in shapes.items() for i, j in np.ndindex(shape)]
        ends = np.cumsum([len(band), order * m, p * order])

        def numbers_of(system: StateSpace) -> Array:
            A, *others = tridiagonal_form(system, order, (p, m), name)
            parts = [A[rows, columns], *(part.ravel() for part in others)]
            return np.concatenate(parts if proper else parts[:-1])

        starts = np.full(len(names), np.nan) if start is None else numbers_of(start)
        entries = [
            Parameter(label, float(value), rate=int(label[0] == "A"), is_gain=label[0] != "A")
            for label, value in zip(names, starts, strict=True)
        ]

        def law(theta: Array, rho: Mapping[str, float]) -> tuple[Any, Any, Any, Any]:
            of_A, B, C, D = np.split(theta, ends)
            A = np.zeros((order, order), dtype=theta.dtype)
            A[rows, columns] = of_A
            return A, B, C, D if proper else np.zeros((p, m))

        smaller = cls.state_space(name, inputs, outputs, order - 1, proper=proper) if order > (not proper) else None
        return cls(name, inputs, outputs, tuple(entries), order, law, True, smaller, numbers_of)

    @classmethod
    def observer(cls, name: str, plant: StateSpace, inputs: Sequence[str], outputs: Sequence[str]) -> Tunable:
        """Return an observer with state feedback: gains ``L[i,j]`` and ``K[i,j]`` of ``dx/dt = A x + B u + L (y - C x - D u)``.

        With ``u = -K x``. Its states are estimates of those of a plant.

        Parameters
        ----------
        name : str
        plant : control.StateSpace
            With named signals.
        inputs, outputs : sequence of str
            Outputs of the plant that it takes, inputs that it drives.

        Examples
        --------
        >>> import control, titop as tt
        >>> plant = control.ss([[0.0]], [[1.0]], [[1.0]], [[0.0]], inputs=["u"], outputs=["y"])
        >>> tt.Tunable.observer("K", plant, ["y"], ["u"]).names
        ('K.K[0,0]', 'K.L[0,0]')
        """
        inputs, outputs = signal_names(f"inputs of {name}", inputs), signal_names(f"outputs of {name}", outputs)
        _, plant_inputs, plant_outputs = named_signals(read_linear(f"plant of {name}", plant))
        u, y = positions("outputs", outputs, plant_inputs), positions("inputs", inputs, plant_outputs)
        A, B, C, D = Matrices.of(plant).part(y, u)
        n, m, p = len(A), len(u), len(y)
        parameters = (*matrix_entries("K", (m, n), None), *matrix_entries("L", (n, p), None))

        def law(theta: Array, rho: Mapping[str, float]) -> tuple[Any, Any, Any, Any]:
            K, L = theta[: m * n].reshape(m, n), theta[m * n :].reshape(n, p)
            return A - B @ K - L @ (C - D @ K), L, -K, np.zeros((m, p))

        return cls(name, inputs, outputs, parameters, n, law)

    @classmethod
    def schedule(cls, block: Tunable, over: Mapping[str, Any]) -> Tunable:
        """Return a block whose numbers follow scheduling parameters: the family it is tuned on must have these.

        Parameters
        ----------
        block : Tunable
        over : mapping of parameter name to int or array_like
            Powers of the parameter up to a degree, or places between which numbers are interpolated linearly. Several
            parameters add, each with its own terms beside the constant one.

        Examples
        --------
        >>> import titop as tt
        >>> tt.Tunable.schedule(tt.Tunable.gain("k", "y", "u"), {"angle": 2}).names
        ('k.k[0]', 'k.k[1]', 'k.k[2]')
        """
        if not isinstance(block, Tunable):
            raise ModelError(Finding("wrong-type", "block", block, "a Tunable", "such as tt.Tunable.gain('k', 'y', 'u')"))
        if not isinstance(over, Mapping) or not over:
            advice = 'such as {"angle": 2}'
            raise ModelError(Finding("wrong-type", "over", over, "degrees or places by names of parameters", advice))
        terms = [schedule_terms(name, kind) for name, kind in over.items()]
        count = 1 + sum(size for size, _ in terms)
        parameters = tuple(
            replace(p, name=f"{p.name}[{k}]", start=p.start if not k else 0.0, lower=-np.inf, upper=np.inf)
            for p in block.parameters
            for k in range(count)
        )

        def law(theta: Array, rho: Mapping[str, float]) -> tuple[Any, Any, Any, Any]:
            factors = np.concatenate([[1.0], *(values(rho) for _, values in terms)])
            return block.law(theta.reshape(-1, count) @ factors, rho)

        return replace(block, parameters=parameters, law=law, is_affine=False, smaller=None, numbers_of=None)

    @classmethod
    def function(
        cls,
        name: str,
        law: Callable[[Array], Any],
        start: Any,
        inputs: Sequence[str],
        outputs: Sequence[str],
        lower: Any = -np.inf,
        upper: Any = np.inf,
        names: Sequence[str] = (),
    ) -> Tunable:
        """Return a block of one's own: ``law(theta) -> (A, B, C, D)``, in arithmetic that takes complex numbers.

        Parameters
        ----------
        name : str
        law : callable
        start : array_like (n)
            Where the search starts.
        inputs, outputs : sequence of str
        lower, upper : float or array_like (n)
        names : sequence of str (n)
            Of the numbers; without them ``theta[k]``.

        Examples
        --------
        >>> import titop as tt
        >>> tt.Tunable.function("k", lambda t: ([], [], [], [[t[0] ** 2]]), [1.0], ["y"], ["u"]).names
        ('k.theta[0]',)
        """
        wrong = Finding("wrong-type", f"start of {name}", start, "a list of finite numbers", "one for each parameter")
        values = read_array(wrong, lambda values: values.ndim == 1 and is_finite(values))
        inputs, outputs = signal_names(f"inputs of {name}", inputs), signal_names(f"outputs of {name}", outputs)
        bounds = (read_matrix(f"bounds of {name}", bound, values.shape).tolist() for bound in (lower, upper))
        listed = signal_names(f"names of {name}", names or [f"theta[{k}]" for k in range(len(values))])
        if len(set(listed)) != len(values):
            expected = f"{len(values)} different names, one for each number"
            raise ModelError(Finding("wrong-shape", f"names of {name}", names, expected, "name all of them, or none"))
        parameters = tuple(
            check_parameter(name, Parameter(one, number, low, high, is_gain=False))
            for one, number, low, high in zip(listed, values.tolist(), *bounds, strict=True)
        )
        result = cls(name, inputs, outputs, parameters, count_states(name, law, values), lambda x, rho: law(x))
        try:
            result.matrix_at(values, {})
        except ValueError:
            expected = f"A, B, C, D of {result.states} states, {len(result.inputs)} inputs and {len(result.outputs)} outputs"
            raise ModelError(Finding("wrong-shape", f"law of {name}", "other shapes", expected, "see its start")) from None
        return result
