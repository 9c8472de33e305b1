"""The states of the first order that blocks and interactions have: how they change, and what they do."""

from __future__ import annotations

from typing import Any

from titop.blocks.basics.spatial import Array
from titop.solvers.arguments.rowwise import rowwise
from titop.solvers.constraints.mechanism import StateDerivatives
from titop.solvers.model.resolved import Resolved


class OwnStates(Resolved):
    """How the states of the first order of a model change, and what they do.

    Arguments of the methods: `q` a configuration (nq), `v` a velocity (nv), `x` the states (nx, or by name) and `u` the inputs
    (nu, or by name); zero where they are not given. Or stacked ones along a leading axis, for stacked results.
    """

    def state_rates(self, q: Any, v: Any, x: Any = None, u: Any = None) -> Array:
        """Return the rates dx/dt (nx, a unit of each state by s) of the states of the first order.

        Raises
        ------
        ModelError
            For unusable arguments, and for functions of blocks that return something else than a number for each state.

        Examples
        --------
        >>> import numpy as np, titop as tt
        >>> class Lag(tt.Interaction):
        ...     port_counts, coordinate_counts, inputs, state_names = (0, 0), (1, 1), ("command",), ("effort",)
        ...     def act(self, motion):
        ...         return np.zeros((0, 6)), motion.x
        ...     def state_rates(self, motion):
        ...         return (motion.u - motion.x) / 0.5
        >>> s = tt.System("drive", gravity=[0, 0, 0])
        >>> s.connect("world", tt.RigidBody("rotor", mass=1.0, inertia=2.0), tt.Revolute("shaft"))
        >>> s.add_interaction(Lag("motor"), "shaft")
        >>> m = s.resolve(engine="reference")
        >>> m.state_names, m.state_rates([0.0], [0.0], x=[1.0], u=[3.0]).tolist()
        (('motor.effort',), [4.0])
        >>> m.forward_dynamics([0.0], [0.0], x=[1.0]).tolist()
        [0.5]
        """
        return self._state_rates(q, v, self.inputs.whole(u, x))

    @rowwise
    def _state_rates(self, q: Any, v: Any, u: Any) -> Array:
        return self.engine.states.rates(self._read_q(q), self._read_v("v", v), u)

    def state_rates_derivatives(self, q: Any, v: Any, x: Any = None, u: Any = None) -> StateDerivatives:
        """Return the derivatives of `state_rates`, exact to rounding where the functions of blocks accept complex numbers.

        Returns
        -------
        StateDerivatives
            In the states' units by s, a unit of each.
        """
        return self._state_rates_derivatives(q, v, self.inputs.whole(u, x))

    @rowwise
    def _state_rates_derivatives(self, q: Any, v: Any, u: Any) -> StateDerivatives:
        return self.engine.states.slopes(self._read_q(q), self._read_v("v", v), u)[0]

    def state_efforts(self, q: Any, v: Any, x: Any = None, u: Any = None) -> Array:
        """Return the derivatives (nv, nx; N m or N a unit of each) of the efforts along the coordinates by the states.

        Compare `actuation_matrix`.

        Exact to rounding where the functions of blocks accept complex numbers.
        """
        return self._state_efforts(q, v, self.inputs.whole(u, x))

    @rowwise
    def _state_efforts(self, q: Any, v: Any, u: Any) -> Array:
        return self.engine.states.slopes(self._read_q(q), self._read_v("v", v), u)[1]
