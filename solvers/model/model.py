"""The frozen model that users compute with: coordinates and constraints, an engine, and what users ask of these."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from titop.blocks.basics.errors import Finding, ModelError
from titop.solvers.model.outputs import Outputs
from titop.solvers.model.parameter_derivatives import ParameterDerivatives

if TYPE_CHECKING:
    from control import NonlinearIOSystem

    from titop.solvers.equilibrium.operating_point import OperatingPoint


class Model(Outputs, ParameterDerivatives):
    """A resolved system: frozen, usable from several threads.

    States are ``q`` (nq), ``v``, ``a`` and ``tau`` (nv), in the order of the ``connect`` calls, and ``x`` (nx). Functions of a
    state raise `ModelError` for wrong lengths, non-finite entries and quaternions that are not unit.

    Made by `System.resolve`. Arguments of the methods: `q` a configuration (nq); `v`, `a`, `tau` and `dq` vectors (nv);
    `port` ``"body.port"``, or ``"body"`` for the reference frame; `joint` a joint's name; `wrenches` external wrenches (6)
    on bodies by port name, in the port's frame; `values` numbers by name; `rng` a NumPy random generator; `out` where to
    put the result; `u` the inputs of actuators and blocks (nu, or by name); `x` the states of the first order that blocks
    and interactions have (nx, or by name), zero where none are given.

    Units: coordinates rad or m, or what their blocks say (`signal_table` tells), rates and accelerations those by s and s^2,
    efforts N m or N, inputs their own; derivatives and matrices those of what they give, a unit of what they are taken by.
    """

    def to_nlsys(
        self,
        inputs: Any,
        outputs: Any = None,
        point: OperatingPoint | None = None,
        independent: Sequence[str] | None = None,
    ) -> NonlinearIOSystem:
        """Return the nonlinear system for python-control: simulation, interconnection, operating points, exact linearisation.

        States are the coordinates, then their rates, then states of the first order. Plain coordinates are states as they are;
        free and spherical joints by their displacement from the point's configuration (its logarithm), for motions of less than
        a whole turn from there.

        Parameters
        ----------
        inputs : sequence of str
            As in `linearize`. Values are whole, not deviations; what is no input acts as at the point.
        outputs : sequence of str, callable or (name, callable), optional
            As in `linearize`; all states by default.
        point : OperatingPoint, optional
            Reference configuration of free and spherical joints, and the efforts, inputs and wrenches that act; by default
            neutral, with closures next to that, and nothing. It has to close the loops.
        independent : sequence of str, optional
            As in `linearize`: in systems with closures or gears, the coordinates to take as states.

        Returns
        -------
        control.NonlinearIOSystem
            Its `linearize` is exact, also through ``control.linearize``; ``params`` takes parameters by name, such as
            ``{"slider.mass": 2.0}``; `signal_table` gives paths and units.

        Raises
        ------
        ModelError
            For unknown names, coordinates that are not independent, some alone of a free or spherical joint's, and open loops.
        """
        from titop.solvers.linear.nlsys import nonlinear_system

        return nonlinear_system(self, inputs, outputs, point, independent)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {len(self.body_names)} bodies, nq={self.nq}, nv={self.nv})"


def read_model(model: Any) -> Model:
    """Return a model.

    Raises
    ------
    ModelError
        If it is something else, such as a system that was not resolved.
    """
    if not isinstance(model, Model):
        raise ModelError(Finding("wrong-type", "model", model, "a resolved model", "pass system.resolve()"))
    return model
