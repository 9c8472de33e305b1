"""Forward, inverse and hybrid dynamics of a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.basics.user_input import axes_of, shape_of
from titop.solvers.arguments.reading import made_ready, store
from titop.solvers.arguments.stacked_loads import are_stacked, by_row, read_stack, read_states
from titop.solvers.mechanism.fast_path import DONE, UNREADY, driven_by, names_key
from titop.solvers.model.resolved import Resolved


class Dynamics(Resolved):
    """The dynamics of a model.

    Arguments of the methods: `q` a configuration (nq); `v`, `a`, `tau` and `dq` vectors (nv); `port` ``"body.port"``, or
    ``"body"`` for the reference frame; `wrenches` external wrenches (6) on bodies by port name, in the port's frame; `out`
    where to put the result; `u` the inputs of actuators and blocks (nu, or by name); `x` states of the first order likewise.
    """

    def forward_dynamics(
        self,
        q: Any,
        v: Any,
        tau: Any = None,
        wrenches: Mapping[str, Any] | None = None,
        out: Array | None = None,
        u: Any = None,
        x: Any = None,
    ) -> Array:
        """Return the accelerations ``a`` (nv) that the efforts cause. Linear cost in the number of blocks.

        With rigid closures or gears, together with the least multipliers that keep them closed; the cost then grows with the
        coordinates on the paths between them and with the square of the number of constraints.

        Parameters
        ----------
        q, v, tau : array_like (nq,), (nv,), (nv,)
            Or stacked along a leading axis, all three; the result is then stacked too. No `tau` stands for zero.
        wrenches : mapping of port name to (6,), optional
            External wrenches on bodies, in the port's frame; of stacked states also (batch, 6), each state its own.
        out : (nv,) float array, optional
            Where to put the result, for callers in a loop.
        u : array_like (nu,) or mapping of input name to number, optional
            Inputs of actuators and blocks, beside `tau`; zero by default. Of stacked states also (batch, nu).
        x : array_like (nx,) or mapping of state name to number, optional
            States of the first order, of blocks and interactions; zero by default. Of stacked states also (batch, nx).

        Raises
        ------
        ModelError
            For unusable arguments, for a joint that moves no inertia at `q`, and where the closures are singular.

        Notes
        -----
        Elimination from the leaves inwards, of rigid bodies the articulated-body algorithm (Featherstone, Rigid Body Dynamics
        Algorithms, chapter 7); rigid closures add multipliers (key M, section 5.2).

        With rigid closures or gears, states have to keep them closed (`assemble`, `assemble_velocity`); `simulate` checks that
        they do, this function does not.
        """
        if x is not None:
            u = self.inputs.whole(u, x)
        result = np.empty(self.nv) if out is None else out
        try:
            efforts = self._stills[1][0] if tau is None else tau
            if wrenches is None and u is None:
                status = self._calls.forward(q, v, efforts, result)
            else:
                acting, given, driven = self._calls.acted_on(wrenches, u, q)
                status = acting.run(self._calls.forward, wrenches, given, q, v, driven_by(efforts, driven), result)
            if status == DONE:
                return result
        except UNREADY:
            pass
        self.engine.raise_pending()
        if ready := made_ready(q, v, tau, u):
            q, v, tau, u = ready
            return self.forward_dynamics(q, v, tau, wrenches, out, u)
        if are_stacked(q, wrenches, u):
            loads, together = {"wrenches": wrenches, "u": u, "out": out}, self._calls.forward_stacked
            return by_row(self, self.forward_dynamics, together, "tau", (q, v, tau), loads)
        states = {"q": q, "v": v, "tau": np.zeros(shape_of(v)) if tau is None else tau}
        (q, v, tau), pushes = read_states(self, states, stacked=True), self.external_pushes(wrenches, u)
        return store(self.engine.dynamics.forward(q, v, tau + self.motor_efforts(u), pushes), out)

    def inverse_dynamics(
        self,
        q: Any,
        v: Any,
        a: Any,
        wrenches: Mapping[str, Any] | None = None,
        out: Array | None = None,
        u: Any = None,
        actuated: Sequence[str] | None = None,
        x: Any = None,
    ) -> Array:
        """Return the applied efforts ``tau`` (nv) that cause the accelerations `a`, beside the inputs `u`.

        Parameters
        ----------
        q, v, a : array_like (nq,), (nv,), (nv,)
            Or stacked along a leading axis, all three.
        wrenches, out, u, x
            As `forward_dynamics`.
        actuated : sequence of str, optional
            Names of coordinates, or of joints and blocks for all of theirs: efforts act on these alone. All of them by default.
            Where rigid closures or gears leave a choice, the efforts are those of least norm.

        Raises
        ------
        ModelError
            For unusable arguments; for accelerations that would open the loops, or that need efforts on coordinates that are
            not actuated.

        Notes
        -----
        Motions outwards, wrenches inwards: the recursion of Newton and Euler (Featherstone, Rigid Body Dynamics Algorithms,
        chapter 5; with soft bodies key P).
        """
        if x is not None:
            u = self.inputs.whole(u, x)
        result = np.empty(self.nv) if out is None else out
        try:
            inverse, shared = self._calls.inverse if actuated is None else self._calls.inverse_on[names_key(actuated)]
            driven, often = None, True
            if wrenches is None and u is None:
                status = inverse(q, v, a, result)
            else:
                acting, given, driven = self._calls.acted_on(wrenches, u, q)
                if shared and driven is not None:  # what is shared is what is left to do beside the inputs
                    inverse, driven, often = self._calls.beside(inverse, driven), None, False
                status = acting.run(inverse, wrenches, given, q, v, a, result, often=often)
            if status == DONE:
                return result if driven is None else np.subtract(result, driven, out=result)
        except UNREADY:
            pass
        self.engine.raise_pending()
        if ready := made_ready(q, v, a, u):
            q, v, a, u = ready
            return self.inverse_dynamics(q, v, a, wrenches, out, u, actuated)
        if are_stacked(q, wrenches, u):
            one = partial(self.inverse_dynamics, actuated=actuated)
            together = None if actuated is not None else self._calls.inverse_stacked
            return by_row(self, one, together, "a", (q, v, a), {"wrenches": wrenches, "u": u, "out": out})
        (q, v, a), mask = read_states(self, {"q": q, "v": v, "a": a}, stacked=True), self._actuated(actuated)
        pushes, motors = self.external_pushes(wrenches, u), self.motor_efforts(u)
        return store(self.engine.dynamics.inverse(q, v, a, pushes, motors, mask), out)

    def hybrid_dynamics(
        self,
        q: Any,
        v: Any,
        tau: Any,
        a: Any,
        prescribed: Sequence[str],
        wrenches: Mapping[str, Any] | None = None,
        u: Any = None,
        x: Any = None,
    ) -> tuple[Array, Array]:
        """Return all accelerations and all efforts, from the motion of some joints and the efforts of the others.

        Rigid closures and gears carry what keeps them closed; where they leave a choice, the efforts are those of least norm.

        Parameters
        ----------
        q, v : array_like (nq,), (nv,)
            Or stacked along a leading axis, all four; the results are then stacked too.
        tau : array_like (nv,)
            Read where the motion is free.
        a : array_like (nv,)
            Read where the motion is prescribed.
        prescribed : sequence of str
            Names of joints, of blocks with own coordinates, or of single coordinates.
        wrenches, u, x
            As `forward_dynamics`.

        Returns
        -------
        a, tau : (nv,) arrays

        Raises
        ------
        ModelError
            For unusable arguments, unknown names, a coordinate prescribed twice, and prescribed accelerations that would open
            the loops.

        Notes
        -----
        One elimination of mixed causality (Featherstone, Rigid Body Dynamics Algorithms, chapter 9).
        """
        if x is not None:
            u = self.inputs.whole(u, x)
        try:
            kernels, driven = self._calls.hybrid(prescribed), None
            accelerations, efforts = np.empty(self.nv), np.empty(self.nv)
            if wrenches is None and u is None:
                status = kernels.dynamics(q, v, tau, a, accelerations, efforts)
            else:
                acting, given, driven = self._calls.acted_on(wrenches, u, q)
                state = q, v, driven_by(tau, driven), a
                status = acting.run(kernels.dynamics, wrenches, given, *state, accelerations, efforts)
            if status == DONE:
                return accelerations, efforts if driven is None else np.where(kernels.imposed, efforts - driven, tau)
        except UNREADY:
            pass
        self.engine.raise_pending()
        if ready := made_ready(q, v, tau, a, u):
            q, v, tau, a, u = ready
            return self.hybrid_dynamics(q, v, tau, a, prescribed, wrenches, u)
        mask, states = self._prescribed(prescribed), {"q": q, "v": v, "tau": tau, "a": a}
        if axes_of(q) == 2:
            stack, together = read_stack(self, states, wrenches, u), self._calls.hybrid_stacked
            found: tuple[Array, Array] | None = None if together is None else together(mask, stack)
            if found is not None:
                return found
            one = partial(self.hybrid_dynamics, prescribed=prescribed)
            rows = [one(*row, wrenches=own, u=inputs) for row, own, inputs in stack.rows()]
            stacked: Array = np.array(rows).reshape(-1, 2, self.nv)
            return stacked[:, 0].copy(), stacked[:, 1].copy()
        motors, pushes = self.motor_efforts(u), self.external_pushes(wrenches, u)
        q, v, tau, a = read_states(self, states)
        return self.engine.dynamics.hybrid(q, v, tau, a, mask, motors, pushes)
