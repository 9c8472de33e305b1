"""Controllers for users: functions with states of their own, gain scheduling, linear systems, and lists of loops."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, did_you_mean
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import EXACT, SAME, TINY
from titop.blocks.basics.user_functions import check_function
from titop.blocks.basics.user_input import is_finite, read_array
from titop.solvers.arguments.reading import read_duration, read_mapping
from titop.solvers.linear.state_space import read_linear
from titop.solvers.signals.grammar import check_names

#: Members are compared at these angles (rad) of z on the unit circle. They go on from each other's states if the difference
#: that this makes is no more than so many times that of their responses.
_ANGLES, _ALIKE = tuple(3.0 / 9.0**k for k in range(4)), 3.0
#: How a continuous controller is sampled when a sample time is given: Tustin's rule keeps its frequency response.
SAMPLING = "bilinear"


class Controller:
    """A sampled controller: a function that is called at every sample, and the states that it updates.

    Parameters
    ----------
    update : callable ``f(t, x, y, r) -> (x_next, u)``
        Maps the time (s), the states, the measured outputs and the references at a sample to the states at the next sample
        and the commands from this sample on. With an operating point, `y`, `r` and `u` are deviations from it.
    initial_state : array_like (nx,)
        May be empty.
    inputs : sequence of str
        Measured outputs, in the order of `y`: sensors' outputs, ``joint.q``, ``joint.v``, or parts of a port's motion
        such as ``hub.P.w[0]``. `r` has one reference for each, in the same order.
    outputs : sequence of str
        Actuators' inputs or efforts of joints (``joint`` or ``joint.tau``), in the order of `u`.
    sample_time : float, s

    Raises
    ------
    ModelError
        For unusable arguments.

    Examples
    --------
    A counter of the samples that pushes harder each time:

    >>> import titop as tt
    >>> def update(t, x, y, r):
    ...     return x + 1, x
    >>> controller = tt.Controller(update, [0.0], inputs=["rail.q"], outputs=["rail.tau"], sample_time=0.1)
    """

    def __init__(
        self,
        update: Callable[[float, Array, Array, Array], tuple[Any, Any]],
        initial_state: Any,
        inputs: Sequence[str],
        outputs: Sequence[str],
        sample_time: float,
    ) -> None:
        check_function("update", update, "t, x, y, r")
        wrong = Finding("wrong-type", "initial_state", initial_state, "a list of finite numbers", "[] for none")
        self.update = update
        self.initial_state = read_array(wrong, lambda state: state.ndim == 1 and is_finite(state))
        self.inputs = _read_names("inputs", inputs)
        self.outputs = _read_names("outputs", outputs)
        self.sample_time = read_duration("sample_time", sample_time)


class ScheduledController:
    """A sampled linear controller, selected at every sample by parameters: measured, given over time, or those of the model.

    Its states continue from one sample to the next while the parameters change. So all members of the family must have as many
    states, of the same names, and the same signals. If a member turns out to be in other state coordinates than the first one
    (it responds alike, but not if it goes on from states of the first), it is transformed into those of the first: then members
    that are one controller act as this controller. Where no transformation makes it go on, it is refused. Members that respond
    very differently cannot be compared so, and are taken to be in the same coordinates.

    Parameters
    ----------
    family : object with ``at(rho) -> control.StateSpace``, or callable ``f(rho) -> control.StateSpace``
        Such as an LPV model; `rho` is a mapping of parameter name to number. Members may be transfer functions. Continuous
        members are sampled by Tustin's rule.
    schedule : mapping of parameter name to str, callable or float
        What each parameter follows: an output of the model, such as ``{"rho": "hinge.q"}``, which must not depend on
        accelerations; a parameter of the model, ``"load.mass"``; a function of time ``f(t)``, since of the state a controller
        knows what it measures; or a number.
    sample_time : float, s
    rates : mapping of parameter name to float, optional
        For members that need the rates of parameters: the time constants (s) of the low passes through which these are
        differentiated. The family is then called with two mappings, ``f(rho, rates)``, rates per second. They are zero at the
        start, and exact for parameters that change steadily for long.

    Raises
    ------
    ModelError
        For unusable arguments.

    Examples
    --------
    >>> import control, titop as tt
    >>> def family(rho):
    ...     return control.ss([], [], [], [[2.0 + rho["angle"] ** 2]], inputs=["hinge_q"], outputs=["hinge_tau"])
    >>> controller = tt.ScheduledController(family, {"angle": "hinge.q"}, sample_time=0.01)
    """

    def __init__(
        self, family: Any, schedule: Mapping[str, Any], sample_time: float, rates: Mapping[str, float] | None = None
    ) -> None:
        if not hasattr(family, "at") and not callable(family):
            advice = "give an LPV model or a function of rho"
            raise ModelError(Finding("wrong-type", "family", family, "an object with at(rho), or a function", advice))
        self.family = family
        self.schedule = dict(read_mapping("schedule", schedule))
        self.sample_time = read_duration("sample_time", sample_time)
        filters = read_mapping("rates", rates or {})
        self.rates = {name: read_duration(f"rates[{name!r}]", value) for name, value in filters.items()}
        for name in self.rates:
            if name not in self.schedule:
                advice = did_you_mean(name, self.schedule)
                raise ModelError(Finding("unknown-parameter", "rates", name, "a parameter of schedule", advice))

    def at(self, rho: Mapping[str, float], like: Any = None, rates: Mapping[str, float] | None = None) -> Any:
        """Return the controller at some parameters, in discrete time.

        Parameters
        ----------
        rho : mapping of parameter name to float
        like : control.StateSpace, optional
            A member of the family, which must have the same states and signals. The result is in its state coordinates.
        rates : mapping of parameter name to float, optional
            Rates of parameters (per s), if members need them.

        Returns
        -------
        control.StateSpace

        Raises
        ------
        ModelError
            If it is no linear system, its states or signals differ, or their coordinates do for good.
        """
        return self.member(rho, None if like is None else FirstMember(like), rates)

    def member(self, rho: Mapping[str, float], first: FirstMember | None, rates: Mapping[str, float] | None) -> Any:
        """Return what `at` does, for a loop that has prepared its first member.

        Parameters
        ----------
        rho : mapping of parameter name to float
        first : FirstMember or None
        rates : mapping of parameter name to float, or None
            Rates of parameters (per s).

        Returns
        -------
        control.StateSpace

        Raises
        ------
        ModelError
            As `at`.
        """
        call = self.family.at if hasattr(self.family, "at") else self.family
        K = call(dict(rho), dict(rates or {})) if self.rates else call(dict(rho))
        where = "family at " + ", ".join(f"{name} = {value:.6g}" for name, value in rho.items())
        K = discretise(read_linear(where, K), self.sample_time)
        if first is None:
            return K
        for what in ("nstates", "state_labels", "input_labels", "output_labels"):
            found, expected = getattr(K, what), getattr(first.K, what)
            if found != expected:
                advice = "all members need the same states and signals"
                raise ModelError(Finding("other-controller", f"{where}: {what}", found, f"{expected}", advice))
        return first.align(K, where)


def discretise(K: Any, sample_time: float) -> Any:
    """Return a state space in discrete time: unchanged if it already is, otherwise sampled by Tustin's rule."""
    if (K.dt is None and not K.nstates) or K.dt is True:
        return K
    if not K.dt:
        from control import sample_system

        try:
            return sample_system(K, sample_time, SAMPLING)
        except np.linalg.LinAlgError as error:
            expected, advice = "one that no pole of the controller is 2 over", "take a shorter one"
            raise ModelError(Finding("bad-sample-time", "sample_time", sample_time, expected, advice)) from error
    if not np.isclose(K.dt, sample_time, rtol=SAME, atol=0):
        advice = "leave sample_time out, or sample the controller again"
        raise ModelError(Finding("other-sample-time", "sample_time", sample_time, f"the controller's {K.dt:g} s", advice))
    return K


class FirstMember:
    """The member of a scheduled controller that says in which coordinates its states are. `K`: in discrete time."""

    def __init__(self, K: Any) -> None:
        self.K, self._points = K, np.exp(1j * np.array(_ANGLES))[:, None, None] * np.eye(K.nstates)
        responses = np.linalg.solve(self._points - K.A, K.B)
        reached = np.concatenate([*responses], axis=1)
        sizes = np.linalg.norm(reached, axis=0)
        #: States that inputs reach.
        self._reached = reached[:, sizes > 0] / sizes[sizes > 0]
        self._free = K.C @ np.linalg.solve(self._points - K.A, self._reached)
        self._forced = K.C @ responses

    def align(self, K: Any, where: str) -> Any:
        """Return another member in these coordinates, as far as both are known to differ."""
        A, B, C, n, eye = self.K.A, self.K.B, self.K.C, K.nstates, np.eye(K.nstates)
        if self._goes_on(K.A, K.B, K.C):
            return K
        # states T x of K for states x of the first: K.A T = T A, T B = K.B, K.C T = C
        rows = np.vstack([np.kron(K.A, eye) - np.kron(eye, A.T), np.kron(eye, B.T), np.kron(K.C, eye)])
        for near in (eye, np.linalg.qr(np.random.default_rng(0).standard_normal((n, n)))[0]):  # what is free stays invertible
            left = np.concatenate([part.ravel() for part in (near @ A - K.A @ near, K.B - near @ B, C - K.C @ near)])
            T = near + np.linalg.lstsq(rows, left, rcond=EXACT)[0].reshape(n, n)
            if np.linalg.cond(T) > 1 / SAME:
                continue
            matrices = np.linalg.solve(T, K.A @ T), np.linalg.solve(T, K.B), K.C @ T
            if self._goes_on(*matrices):
                from control import StateSpace

                names = {"inputs": K.input_labels, "outputs": K.output_labels, "states": K.state_labels}
                return StateSpace(*matrices, K.D, K.dt, remove_useless_states=False, **names)
        advice = "give all members their states in the same coordinates, of like size"
        raise ModelError(Finding("other-coordinates", where, "states of another meaning", "those of the first member", advice))

    def _goes_on(self, A: Array, B: Array, C: Array) -> bool:
        """Tell whether a member goes on from states of the first as this one does, as far as both respond alike."""
        if np.array_equal(A, self.K.A) and np.array_equal(C, self.K.C):
            return True
        count = self._reached.shape[1]
        found = C @ np.linalg.solve(self._points - A, np.hstack([self._reached, B]))
        alike = _difference(found[..., count:], self._forced)
        return _difference(found[..., :count], self._free) <= SAME + _ALIKE * alike


def _difference(found: Array, right: Array) -> float:
    """Return the largest difference of responses (n, outputs, inputs), in parts of them."""
    one, other, both = (np.linalg.norm(each, axis=(1, 2)) for each in (found, right, found - right))
    return float((both / np.maximum(one + other, TINY)).max(initial=0.0))


def _read_names(where: str, names: Sequence[str]) -> tuple[str, ...]:
    if isinstance(names, str) or not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise ModelError(Finding("wrong-type", where, names, "a list of names", 'write ["hinge.q"]'))
    check_names(where, names)
    return tuple(names)


@dataclass(frozen=True, eq=False)
class Loop:
    """A controller with its own rate and signals: one of several of `simulate` and `LFTModel.close`.

    Parameters
    ----------
    controller : control.StateSpace, control.TransferFunction, Controller or ScheduledController
    sample_time : float, s, optional
        Samples a continuous controller by Tustin's rule; discrete ones have their own sample time.
    delay : float, s
        From a sample to its commands.
    reference : mapping, array_like or callable, optional
    noise : float, array_like (ny,) or mapping, optional
        Standard deviations of white noise on the outputs at the samples.
    operating_point : mapping or object, optional

    Notes
    -----
    The arguments are those of `simulate`, which checks them. A mapping of their names to values stands for a loop.

    Examples
    --------
    A fast loop damps the rate, a slow one holds the angle:

    >>> import control, numpy as np, titop as tt
    >>> s = tt.System("arm", gravity=[0, 0, 0])
    >>> s.connect("world", tt.RigidBody("arm", mass=1.0, inertia=0.1), joint=tt.Revolute("hinge"))
    >>> damping = control.ss([], [], [], [[0.5]], 0.01, inputs=["hinge_v"], outputs=["hinge"])
    >>> holding = control.ss([], [], [], [[0.6]], inputs=["hinge_q"], outputs=["hinge"])
    >>> loops = [damping, tt.Loop(holding, sample_time=0.1, reference={"hinge.q": 0.5})]
    >>> trajectory = tt.simulate(s.resolve(), [0, 10], [0.0], [0.0], controller=loops)
    >>> bool(abs(trajectory.q[-1, 0] - 0.5) < 1e-3), [len(control.t) for control in trajectory.controls]
    (True, [1001, 101])
    """

    controller: Any
    sample_time: Any = None
    delay: Any = 0.0
    reference: Any = None
    noise: Any = None
    operating_point: Any = None

    def beside(self) -> Iterator[tuple[str, Any]]:
        """Yield the arguments that are given, except for the controller: name and value."""
        for name, default in _DEFAULTS.items():
            value = getattr(self, name)
            if value is not default and not (name == "delay" and value == 0):
                yield name, value


#: The names of a loop's arguments.
_NAMES = tuple(field.name for field in fields(Loop))
_DEFAULTS = {field.name: field.default for field in fields(Loop) if field.name != "controller"}


def read_loops(beside: Loop) -> list[Loop]:
    """Return the loops that a `controller` argument stands for, with the arguments `beside` it."""
    controller = beside.controller
    if not isinstance(controller, Loop | Mapping | list | tuple):
        return [beside]
    for name, value in beside.beside():
        if name != "operating_point":
            expected, advice = "loops that have their own", f"write tt.Loop(controller, {name}=...)"
            raise ModelError(Finding("belongs-to-a-loop", name, value, expected, advice))
    listed = controller if isinstance(controller, list | tuple) else [controller]
    if not listed:
        raise ModelError(Finding("wrong-type", "controller", "an empty list", "a controller or several", "leave it out"))
    loops = [_read_one(f"controller[{k}]", each) for k, each in enumerate(listed)]
    point = beside.operating_point
    return [replace(loop, operating_point=point) if loop.operating_point is None else loop for loop in loops]


def _read_one(where: str, value: Any) -> Loop:
    if isinstance(value, Loop):
        return value
    if not isinstance(value, Mapping):
        return Loop(value)
    for name in value:
        if name not in _NAMES:
            expected, advice = f"an argument of tt.Loop: {', '.join(_NAMES)}", did_you_mean(str(name), _NAMES)
            raise ModelError(Finding("unknown-argument", where, name, expected, advice))
    if "controller" not in value:
        raise ModelError(Finding("no-controller", where, value, "an entry 'controller'", 'write {"controller": K, ...}'))
    return Loop(**value)


@contextmanager
def naming(place: int | None) -> Iterator[None]:
    """Name the loop at a place among several in what is refused; None for the only one."""
    try:
        yield
    except ModelError as error:
        if place is None:
            raise
        raise ModelError([replace(found, where=f"controller[{place}]: {found.where}") for found in error.findings]) from None
