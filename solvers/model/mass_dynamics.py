"""Inverse dynamics with the mass matrix, from one pass out and one back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.user_input import axes_of
from titop.solvers.arguments.reading import made_ready, store
from titop.solvers.arguments.stacked_loads import read_stack, read_states
from titop.solvers.mechanism.fast_path import DONE, UNREADY, names_key
from titop.solvers.model.resolved import Resolved

#: What to do about arrays to write into that will not do.
_MAKE = "make both with np.empty"


class MassDynamics(Resolved):
    """Inverse dynamics together with the mass matrix.

    Arguments of the methods: as `Dynamics`; `out` a pair of arrays, for efforts (nv) and matrix (nv, nv).
    """

    def mass_inverse_dynamics(
        self,
        q: Any,
        v: Any,
        a: Any,
        wrenches: Mapping[str, Any] | None = None,
        out: tuple[Array, Array] | None = None,
        u: Any = None,
        actuated: Sequence[str] | None = None,
        x: Any = None,
    ) -> tuple[Array, Array]:
        """Return the applied efforts that cause the accelerations `a`, as `inverse_dynamics`, and the mass matrix.

        From one pass, in which every block is asked for its law once: for less than `inverse_dynamics` and `mass_matrix`.

        Parameters
        ----------
        q, v, a : array_like (nq,), (nv,), (nv,)
            Or stacked along a leading axis, all three.
        wrenches, u, x
            As `forward_dynamics`.
        out : (nv,) and (nv, nv) float arrays, optional
            Where to put the results, for callers in a loop.
        actuated : sequence of str, optional
            As `inverse_dynamics`.

        Returns
        -------
        tau : (nv,) array
            With rigid closures or gears, what `inverse_dynamics` gives: the least efforts on the `actuated` coordinates.
        M : (nv, nv) array
            The `mass_matrix`, of the tree: as if no loop were closed.

        Raises
        ------
        ModelError
            As `inverse_dynamics`.

        Notes
        -----
        Mass inverse dynamics, MID (key P, section 5.2: its algorithm 2 with the mass matrix of algorithm 3). Wrenches and
        composite inertias go inwards together; the matrix's columns are projections along paths, one for each coordinate.

        Examples
        --------
        >>> import titop as tt
        >>> s = tt.System("pendulum", gravity=[0, 0, -10])
        >>> s.connect("world", tt.RigidBody("bob", mass=2.0, com=[0, 0, -1]), joint=tt.Revolute("hinge", axis=[1, 0, 0]))
        >>> tau, M = s.resolve(engine="reference").mass_inverse_dynamics([0.0], [0.0], [3.0])
        >>> tau.tolist(), M.tolist()
        ([6.0], [[2.0]])
        """
        if x is not None:
            u = self.inputs.whole(u, x)
        tau, mass = (np.empty(self.nv), np.empty(self._shapes["nv", "nv"])) if out is None else _pair(out)
        try:
            calls = self._calls
            inverse, shared = calls.mass_inverse if actuated is None else calls.mass_inverse_on[names_key(actuated)]
            driven, often = None, True
            if wrenches is None and u is None:
                status = inverse(q, v, a, tau, mass)
            else:
                acting, given, driven = calls.acted_on(wrenches, u, q)
                if shared and driven is not None:  # what is shared is what is left to do beside the inputs
                    inverse, driven, often = calls.beside(inverse, driven), None, False
                status = acting.run(inverse, wrenches, given, q, v, a, tau, mass, often=often)
            if status == DONE:
                return tau if driven is None else np.subtract(tau, driven, out=tau), mass
        except UNREADY:
            pass
        self.engine.raise_pending()
        if ready := made_ready(q, v, a, u):
            q, v, a, u = ready
            return self.mass_inverse_dynamics(q, v, a, wrenches, out, u, actuated)
        states = {"q": q, "v": v, "a": a}
        if axes_of(q) == 2:
            one: Callable[..., tuple[Array, Array]] = partial(self.mass_inverse_dynamics, actuated=actuated)
            stack, together = read_stack(self, states, wrenches, u), self._calls.mass_inverse_stacked
            found = None if together is None or actuated is not None else together(stack)
            if found is None:
                found = _stacked([one(*row, wrenches=own, u=inputs) for row, own, inputs in stack.rows()], self.nv)
            return _stored(found, out)
        (q, v, a), mask = read_states(self, states), self._actuated(actuated)
        pushes, motors = self.external_pushes(wrenches, u), self.motor_efforts(u)
        return _stored(self.engine.dynamics.mass_inverse(q, v, a, pushes, motors, mask), out)

    def mass_inertial_inverse_dynamics(
        self, q: Any, v: Any, a: Any, out: tuple[Array, Array] | None = None
    ) -> tuple[Array, Array]:
        """Return the efforts (nv) of inertia alone, ``M a + C v``, as `inertial_inverse_dynamics`, and the mass matrix.

        Both of the tree, as if no loop were closed, from one pass: mass inertial inverse dynamics, MIID (key P, algorithm 3).

        Parameters
        ----------
        q, v, a : array_like (nq,), (nv,), (nv,)
            Or stacked along a leading axis, all three.
        out : (nv,) and (nv, nv) float arrays, optional
            Where to put the results, for callers in a loop.

        Returns
        -------
        tau : (nv,) array
        M : (nv, nv) array

        Raises
        ------
        ModelError
            For unusable arguments.
        """
        tau, mass = (np.empty(self.nv), np.empty(self._shapes["nv", "nv"])) if out is None else _pair(out)
        try:
            if self._calls.mass_inertial_inverse_dynamics(q, v, a, tau, mass) == DONE:
                return tau, mass
        except UNREADY:
            pass
        self.engine.raise_pending()
        if ready := made_ready(q, v, a):
            q, v, a = ready
            return self.mass_inertial_inverse_dynamics(q, v, a, out)
        states = {"q": q, "v": v, "a": a}
        if axes_of(q) == 2:
            one: Callable[..., tuple[Array, Array]] = self.mass_inertial_inverse_dynamics
            rows = zip(*read_states(self, states, stacked=True), strict=True)
            return _stored(_stacked([one(*row) for row in rows], self.nv), out)
        return _stored(self.engine.dynamics.mass_inertial_inverse(*read_states(self, states)), out)


def _pair(out: Any) -> tuple[Any, Any]:
    """Return two arrays to write into.

    Raises
    ------
    ModelError
        If there are not two, or one lies in the other.
    """
    if not isinstance(out, tuple | list) or len(out) != 2:
        raise ModelError(Finding("wrong-type", "out", out, "two arrays, (nv,) and (nv, nv)", _MAKE))
    tau, mass = out
    both = isinstance(tau, np.ndarray) and isinstance(mass, np.ndarray)
    if both and np.may_share_memory(tau, mass) and np.shares_memory(tau, mass):
        raise ModelError(Finding("overlapping-out", "out", "arrays that share memory", "two arrays apart", _MAKE))
    return tau, mass


def _stacked(rows: list[tuple[Array, Array]], nv: int) -> tuple[Array, Array]:
    """Return the results at several states, stacked."""
    count = len(rows)
    return np.array([tau for tau, _ in rows]).reshape(count, nv), np.array([mass for _, mass in rows]).reshape(count, nv, nv)


def _stored(results: tuple[Array, Array], out: tuple[Array, Array] | None) -> tuple[Array, Array]:
    """Return efforts and matrix, in `out` if it is given."""
    return results if out is None else (store(results[0], out[0]), store(results[1], out[1]))
