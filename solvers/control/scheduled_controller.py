"""Controllers that follow measured parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from titop.blocks.basics.errors import Finding, ModelError
from titop.solvers.arguments.linear_systems import refuse_not_finite
from titop.solvers.arguments.reading import read_mapping
from titop.solvers.control.controller import read_duration
from titop.solvers.control.linear_controller import is_state_space, sampled


class ScheduledController:
    """A sampled linear controller that is looked up at every sample from measured parameters.

    Its states go on from one sample to the next whatever the parameters do, so all members of the family must have the same
    states, in the same order and scaling, and the same signals.

    Parameters
    ----------
    family : object with ``at(rho) -> control.StateSpace``, or callable ``f(rho) -> control.StateSpace``
        Such as an LPV model; `rho` is a mapping of parameter name to number. Continuous members are sampled by Tustin's rule.
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
        """Return the controller at parameters, in discrete time.

        Parameters
        ----------
        rho : mapping of parameter name to float
        like : control.StateSpace, optional
            A member of the family, with which it must share states and signals.

        Returns
        -------
        control.StateSpace

        Raises
        ------
        ModelError
            If it is no state space, or another's.
        """
        K = self.family.at(dict(rho)) if hasattr(self.family, "at") else self.family(dict(rho))
        where = "family at " + ", ".join(f"{name} = {value:.6g}" for name, value in rho.items())
        if not is_state_space(K):
            raise ModelError(Finding("wrong-type", where, K, "a control.StateSpace", "return control.ss(...)"))
        refuse_not_finite(where, K)
        K = sampled(K, self.sample_time)
        for what in ("nstates", "state_labels", "input_labels", "output_labels") if like is not None else ():
            found, expected = getattr(K, what), getattr(like, what)
            if found != expected:
                advice = "all members need the same states and signals"
                raise ModelError(Finding("other-controller", f"{where}: {what}", found, f"{expected}", advice))
        return K
