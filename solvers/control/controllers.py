"""Controllers for users: functions with states of their own, gain scheduling, and linear systems."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import SAME
from titop.blocks.basics.user_functions import check_function
from titop.blocks.basics.user_input import real_array
from titop.solvers.arguments.reading import read_duration, read_mapping
from titop.solvers.linear.state_space import read_linear
from titop.solvers.signals.signal_tables import check_names

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
        state = real_array(initial_state)
        if state is None or state.ndim != 1 or not np.isfinite(state).all():
            raise ModelError(Finding("wrong-type", "initial_state", initial_state, "a list of finite numbers", "[] for none"))
        self.update = update
        self.initial_state = state
        self.inputs = _read_names("inputs", inputs)
        self.outputs = _read_names("outputs", outputs)
        self.sample_time = read_duration("sample_time", sample_time)


class ScheduledController:
    """A sampled linear controller, selected at every sample by measured parameters.

    Its states continue from one sample to the next while the parameters change. So all members of the family must have the same
    states, in the same order and scaling, and the same signals.

    Parameters
    ----------
    family : object with ``at(rho) -> control.StateSpace``, or callable ``f(rho) -> control.StateSpace``
        Such as an LPV model; `rho` is a mapping of parameter name to number. Members may be transfer functions. Continuous
        members are sampled by Tustin's rule.
    schedule : mapping of parameter name to str
        The output of the model that measures each parameter, such as ``{"rho": "hinge.q"}``; it must not depend on
        accelerations.
    sample_time : float, s

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

    def __init__(self, family: Any, schedule: Mapping[str, str], sample_time: float) -> None:
        if not hasattr(family, "at") and not callable(family):
            advice = "give an LPV model or a function of rho"
            raise ModelError(Finding("wrong-type", "family", family, "an object with at(rho), or a function", advice))
        self.family = family
        self.schedule = dict(read_mapping("schedule", schedule))
        self.sample_time = read_duration("sample_time", sample_time)

    def at(self, rho: Mapping[str, float], like: Any = None) -> Any:
        """Return the controller at some parameters, in discrete time.

        Parameters
        ----------
        rho : mapping of parameter name to float
        like : control.StateSpace, optional
            A member of the family, which must have the same states and signals.

        Returns
        -------
        control.StateSpace

        Raises
        ------
        ModelError
            If it is no linear system, or its states or signals differ.
        """
        K = self.family.at(dict(rho)) if hasattr(self.family, "at") else self.family(dict(rho))
        where = "family at " + ", ".join(f"{name} = {value:.6g}" for name, value in rho.items())
        K = discretise(read_linear(where, K), self.sample_time)
        for what in ("nstates", "state_labels", "input_labels", "output_labels") if like is not None else ():
            found, expected = getattr(K, what), getattr(like, what)
            if found != expected:
                advice = "all members need the same states and signals"
                raise ModelError(Finding("other-controller", f"{where}: {what}", found, f"{expected}", advice))
        return K


def discretise(K: Any, sample_time: float) -> Any:
    """Return a state space in discrete time: unchanged if it already is, otherwise sampled by Tustin's rule.

    Raises
    ------
    ModelError
        If it has another sample time.
    """
    if (K.dt is None and not K.nstates) or K.dt is True:
        return K
    if not K.dt:
        from control import sample_system

        return sample_system(K, sample_time, SAMPLING)
    if not np.isclose(K.dt, sample_time, rtol=SAME, atol=0):
        advice = "leave sample_time out, or sample the controller again"
        raise ModelError(Finding("other-sample-time", "sample_time", sample_time, f"the controller's {K.dt:g} s", advice))
    return K


def _read_names(where: str, names: Sequence[str]) -> tuple[str, ...]:
    """Return names of signals, none of them twice.

    Raises
    ------
    ModelError
        If they are no list of names, or one is there twice.
    """
    if isinstance(names, str) or not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise ModelError(Finding("wrong-type", where, names, "a list of names", 'write ["hinge.q"]'))
    check_names(where, names)
    return tuple(names)
