"""Derivatives of a model's dynamics by parameters, inputs and wrenches on ports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.solvers.arguments.named_rows import NamedRows
from titop.solvers.arguments.reading import read_wrenches
from titop.solvers.arguments.rowwise import rowwise
from titop.solvers.model.changes import Changes
from titop.solvers.model.derivatives import Derivatives
from titop.solvers.model.equation_terms import EquationTerms
from titop.solvers.model.own_states import OwnStates
from titop.solvers.model.sections import Sections
from titop.solvers.sensitivities.sensitivities import Sensitivities

#: Sets of names whose sensitivities are kept.
_MOST_KEPT = 16


class ParameterDerivatives(Sections, Derivatives, OwnStates, EquationTerms, Changes):
    """The derivatives of a model's dynamics by everything that is not its state."""

    def inverse_dynamics_sensitivities(
        self,
        q: Any,
        v: Any,
        a: Any,
        names: Iterable[str],
        wrenches: Mapping[str, Any] | None = None,
        u: Any = None,
        x: Any = None,
    ) -> Mapping[str, Array]:
        """Return the derivatives of inverse dynamics by parameters, inputs and wrenches on ports, exact to rounding.

        Parameters
        ----------
        q, v, a : array_like (nq,), (nv,), (nv,)
            Or stacked along a leading axis, all three; the results are then stacked too.
        names : iterable of str
            Of parameters such as ``"slider.mass"``, of inputs, and of ports such as ``"hub.C"``.
        wrenches, u, x
            As `forward_dynamics`.

        Returns
        -------
        mapping of str to array
            By name: (nv,) arrays for parameters and inputs, (nv, 6) arrays for wrenches on ports, in the port's frame; units
            of the efforts a unit of each. Where a tree is asked for masses, centres of mass and inertias alone, its attribute
            `matrix` holds all of them, row by row, and stacked states cost one call of the kernel.

        Raises
        ------
        ModelError
            For unknown names and unusable states.
        """
        if x is not None:
            u = self.inputs.whole(u, x)
        names = self._read_names(names)
        if wrenches is None and u is None and not self.is_constrained:
            inertial = self._inertial_rows(names)
            if inertial is not None:
                return NamedRows(inertial.places, self._derivatives_by_inertia(inertial, q, v, a))
        return self._effort_sensitivities(q, v, a, wrenches, u, self._sensitivities(names, wrenches))

    @rowwise
    def _effort_sensitivities(
        self, q: Any, v: Any, a: Any, wrenches: Mapping[str, Any] | None, u: Any, sensitivities: Sensitivities
    ) -> dict[str, Array]:
        """Return chosen sensitivities of the efforts of inverse dynamics."""
        state = self._read_q(q), self._read_v("v", v), self._read_v("a", a)
        return sensitivities.of_efforts(*state, *self._acting(wrenches, u))

    def forward_dynamics_sensitivities(
        self,
        q: Any,
        v: Any,
        tau: Any,
        names: Iterable[str],
        wrenches: Mapping[str, Any] | None = None,
        u: Any = None,
        x: Any = None,
    ) -> Mapping[str, Array]:
        """Return the derivatives of forward dynamics by parameters, inputs and wrenches on ports, exact to rounding.

        Parameters
        ----------
        q, v, tau : array_like (nq,), (nv,), (nv,)
            Or stacked along a leading axis, all three; the results are then stacked too.
        names, wrenches, u, x
            As in `inverse_dynamics_sensitivities`.

        Returns
        -------
        mapping of str to array
            (nv,) and (nv, 6) arrays, as in `inverse_dynamics_sensitivities`; units of the accelerations a unit of each.
        """
        if x is not None:
            u = self.inputs.whole(u, x)
        names = self._read_names(names)
        if not self.is_constrained:
            inertial = self._inertial_rows(names)
            if inertial is not None:
                a = self.forward_dynamics(q, v, tau, wrenches, u=u)
                needed = self._derivatives_by_inertia(inertial, q, v, a)
                return NamedRows(inertial.places, self._responses(self._read_q(q, stacked=True), -needed))
        return self._acceleration_sensitivities(q, v, tau, wrenches, u, self._sensitivities(names, wrenches))

    @rowwise
    def _acceleration_sensitivities(
        self, q: Any, v: Any, tau: Any, wrenches: Mapping[str, Any] | None, u: Any, sensitivities: Sensitivities
    ) -> dict[str, Array]:
        """Return chosen sensitivities of the accelerations of forward dynamics."""
        state = self._read_q(q), self._read_v("v", v), self._read_v("tau", tau)
        return sensitivities.of_accelerations(*state, *self._acting(wrenches, u))

    def _responses(self, q: Array, efforts: Array) -> Array:
        """Return the accelerations (m, nv) that each of m efforts alone causes from rest in the tree; stacked as `q` is."""
        responses = self.engine.dynamics.responses
        return responses(q[None], efforts[None])[0] if q.ndim == 1 else responses(q, efforts)

    def _read_names(self, names: Any) -> tuple[str, ...]:
        """Return names given as any number of them, or one alone; those that were asked for before are not looked at again."""
        read = (names,) if isinstance(names, str) or not isinstance(names, Iterable) else tuple(names)
        try:
            met = read in self._rows_met
        except TypeError:  # not even to be looked up
            met = False
        if not met and not all(isinstance(name, str) for name in read):
            expected = "names of parameters, inputs or ports"
            raise ModelError(Finding("wrong-type", "names", names, expected, 'write ["hub.mass"]'))
        return read

    def _acting(self, wrenches: Mapping[str, Any] | None, u: Any) -> tuple[dict[str, Array], Array]:
        """Return wrenches by port, and inputs with states (nu + nx), as they were read; zeros where none are given."""
        given = {} if wrenches is None else read_wrenches(wrenches, self.ports)
        return given, self.inputs.whole(u)

    def _sensitivities(self, names: tuple[str, ...], wrenches: Mapping[str, Any] | None) -> Sensitivities:
        """Return the sensitivities of some names; kept, for states that follow."""
        kept, key = self._kept_sensitivities, (names, frozenset(wrenches if isinstance(wrenches, Mapping) else ()))
        found = kept.get(key)
        if found is None:
            if len(kept) >= _MOST_KEPT:
                kept.clear()
            kept[key] = found = Sensitivities(self, *key)
        return found

    @cached_property
    def _kept_sensitivities(self) -> dict[Any, Sensitivities]:
        """The `Sensitivities` by names and ports on which wrenches act."""
        return {}
