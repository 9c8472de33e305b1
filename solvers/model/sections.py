"""What is read of the sections of rods: how they stand, how they are strained, and what they transmit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, did_you_mean
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.user_input import axes_of
from titop.blocks.joints.joint import CHILD_PORT
from titop.graph.network.assembly import Assembly
from titop.solvers.arguments.stacked_loads import each_row, read_states
from titop.solvers.constraints import closed_dynamics
from titop.solvers.mechanism.movable_ports import Place, with_movable
from titop.solvers.mechanism.shared import structural
from titop.solvers.model.contacts import ContactReadings
from titop.solvers.signals.section_opening import cut, is_rod, section_of

if TYPE_CHECKING:
    from titop.blocks.bodies.rods.rod import Rod
    from titop.blocks.bodies.rods.rod_sections import Fibres

#: So many cut models, some 40 kB each and 30 kB more for each rod in it, are kept by a model, for the sections asked for last.
_KEPT = 512


class Sections(ContactReadings):
    """What is read of the sections of rods.

    Arguments of the methods: `rod` a rod's name; `abscissas` (k, m) count along the rod at rest, from its base; the others as
    in `Readings`.
    """

    def section_poses(self, rod: str, abscissas: Any, q: Any) -> tuple[Array, Array]:
        """Return rotations (k, 3, 3; section to inertial) and positions (k, 3; m) of sections in the inertial frame."""
        section, (base, origin) = self._rod(rod), self.pose(rod, q)
        rotations, positions = section.section_poses(self._own(rod, q), abscissas)
        return base[..., None, :, :] @ rotations, origin[..., None, :] + positions @ np.swapaxes(base, -1, -2)

    def section_strains(self, rod: str, abscissas: Any, q: Any) -> Array:
        """Return the strains (k, 6; rad/m and no unit) of sections beyond the reference strain: zero where nothing is stressed.

        Twist and the two bendings, then elongation and the two shears, as in `Rod.strain`.
        """
        return self._rod(rod).stressing_strain(self._own(rod, q), abscissas)

    def section_stresses(self, rod: str, abscissas: Any, q: Any) -> Array:
        """Return the largest axial and shear stresses (k, 2; N/m^2) on the outlines of sections: see `Rod.stress`."""
        return self._rod(rod).stress(self._own(rod, q), abscissas)

    def section_wrenches(
        self,
        rod: str,
        abscissas: Any,
        q: Any,
        v: Any,
        a: Any,
        wrenches: Mapping[str, Any] | None = None,
        u: Any = None,
        tau: Any = None,
        x: Any = None,
    ) -> Array:
        """Return the wrenches (k, 6; N, N m) that sections transmit to all beyond them, at their centres, in their frames.

        From the tip inwards: what all that lies at or beyond the section needs, its inertia and weight, loads, and what hangs
        there. So it knows also forces against which the rod is stiff, as the axial force in an inextensible rod; at the base it
        is the wrench of the joint there, less what acts on the base itself. What the section and the tendons and chambers
        through it transmit is counted together. Without these, `Rod.elastic_wrench`, from the strain, approaches it as the
        orders of the bases rise.

        Parameters
        ----------
        rod : str
        abscissas : array_like (k,), m
        q, v, a : array_like (nq,), (nv,), (nv,)
        wrenches, u, tau, x
            As in `reaction`.

        Raises
        ------
        ModelError
            If there is no such rod, or abscissas are not on it.
        """
        if x is not None:
            u = self.inputs.whole(u, x)
        fractions, states = (
            self._rod(rod).fractions(abscissas),
            {"q": q, "v": v, "a": a} | ({} if tau is None else {"tau": tau}),
        )
        is_stacked = axes_of(q) == 2
        rows = each_row(self, states, wrenches, u) if is_stacked else [((*read_states(self, states),), wrenches, u)]
        closing = [self._closing_pushes(*row) for row in rows]
        found = [
            [self._wrench_at(opened, rod, *row, pushes) for row, pushes in zip(rows, closing, strict=True)]
            for opened in (self._cut_at(rod, fraction) for fraction in fractions.tolist())
        ]
        stacked: Array = np.array(found).reshape(len(fractions), len(rows), 6).swapaxes(0, 1)
        return stacked if is_stacked else stacked[0]

    def _closing_pushes(self, state: tuple[Array, ...], wrenches: Any, u: Any) -> list[Any]:
        """Return what keeps loops closed at a state q, v, a, and tau where it is given."""
        if not self.is_constrained:
            return []
        q, v, a, *tau = state
        carried = self.carried(q, v, a, self.external_pushes(wrenches, u), u, tau[0] if tau else None)
        return closed_dynamics.closure_pushes(self, q, carried)

    def _wrench_at(
        self, opened: Self, rod: str, state: tuple[Array, ...], wrenches: Any, u: Any, pushes: Sequence[Any]
    ) -> Array:
        """Return the wrench (6) of the section at which the model is `opened`."""
        stop = self.assembly.v_slices[rod].stop
        stops, held = (self.assembly.q_slices[rod].stop, stop, stop), np.zeros(opened.nv - self.nv)
        q, v, a = (np.insert(x, k, held, axis=0) for x, k in zip(state[:3], stops, strict=True))
        outer = opened.external_pushes(wrenches, u)
        result: Array = opened.engine.dynamics.tree_inverse(q, v, a, [*outer, *pushes])[stop : stop + len(held)]
        return result

    def _cut_at(self, rod: str, fraction: float) -> Self:
        """Return the model cut at a section; kept, for sections asked for again."""
        kept, key = self._cuts, (rod, fraction)
        if key not in kept:
            if len(kept) >= _KEPT:
                kept.pop(next(iter(kept)), None)
            kept[key] = self.of(cut(self.assembly, self._rod(rod), fraction))
        return kept[key]

    def opened(self, name: str) -> Self:
        """Return the model with six coordinates more where a joint, or a rod at a port, is opened.

        Of models of one structure, the last one's is kept for each joint.
        """
        if name not in self.joint_names:
            rod, fraction = section_of(self.assembly, name)
            return self._cut_at(rod.name, fraction)
        kept = self._openings.get(name)
        if kept is None or kept[0] is not self.assembly:
            kept = self._openings[name] = self.assembly, self.of(with_movable(self.assembly, [Place(name, CHILD_PORT)]))
        return kept[1]

    @structural
    def _openings(self) -> dict[str, tuple[Assembly, Self]]:
        """The models with a joint opened by its name, and the assemblies of which they are."""
        return {}

    @cached_property
    def _cuts(self) -> dict[tuple[str, float], Self]:
        """The cut models by rod and place."""
        return {}

    @cached_property
    def fibres(self) -> dict[str, tuple[Array, Fibres]]:
        """The fibres of all rods by name, at the abscissas (m) of the rods' points."""
        rods = [block for block in self.assembly.blocks.values() if is_rod(block)]
        places = [rod.numbers.fractions * rod.length for rod in rods]
        return {rod.name: (abscissas, rod.fibres(abscissas)) for rod, abscissas in zip(rods, places, strict=True)}

    def _own(self, rod: str, q: Any) -> Array:
        """Return the coordinates (n) of a rod, or stacked ones."""
        return self._read_q(q, stacked=True)[..., self.assembly.q_slices[rod]]

    def _rod(self, name: str) -> Rod:
        blocks = self.assembly.blocks
        rod = blocks.get(name) if isinstance(name, str) else None
        if not is_rod(rod):
            known = [block.name for block in blocks.values() if is_rod(block)]
            raise ModelError(Finding("unknown-rod", "rod", name, "a rod of the model", did_you_mean(str(name), known)))
        return rod
