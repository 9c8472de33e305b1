"""The parameters of a model, models with others, and what is suspicious about their inertia."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, warn
from titop.blocks.basics.spatial import Array
from titop.blocks.bodies.inertial_parameters import NAMES, own_numbers
from titop.solvers.arguments.reading import read_state
from titop.solvers.mechanism.conditioning import conditioning, conditioning_findings
from titop.solvers.mechanism.shared import structural
from titop.solvers.model.identification import Identification


class Changes(Identification):
    """The parameters of a model, and models of the same structure with others."""

    def parameters(self) -> dict[str, tuple[float, str]]:
        """Return every number of every block by dotted name, with its unit."""
        return self.engine.parameters()

    @structural
    def parameter_names(self) -> frozenset[str]:
        """Names of the parameters, which no change of them changes."""
        return frozenset(self.parameters())

    def with_parameters(self, values: Mapping[str, float]) -> Self:
        """Return a model of the same structure with some parameters changed.

        Takes microseconds for parameters of rigid bodies and joints, tens of them for springs and dampers, and milliseconds for
        those of flexible bodies, rods and blocks of one's own: the system is then put together anew, though not compiled.

        What the changed values make suspicious gives a `ModelWarning`, as when a system is resolved.

        Raises
        ------
        ModelError
            For unknown names and values that a block refuses.
        """
        model, findings = self.changed(values)
        warn(findings)
        return model

    def with_inertial_parameters(self, numbers: Any) -> Self:
        """Return a model of the same structure with other `inertial_parameters`.

        Parameters
        ----------
        numbers : array_like, as many as `inertial_parameter_names`

        Raises
        ------
        ModelError
            For numbers that no rigid body has: negative masses or inertias, first moments without mass.
        """
        numbers = read_state("numbers", numbers, self.inertial_parameter_names)
        own = own_numbers(self.inertial_bodies, numbers.reshape(-1, len(NAMES)))
        return self.with_parameters(dict(zip(self._own_inertial_names, own.ravel().tolist(), strict=True)))

    def changed(self, values: Mapping[str, float]) -> tuple[Self, list[Finding]]:
        """Return the model `with_parameters`, and what is suspicious about it, for callers that warn once of many."""
        return self.engine.changed(values)

    def check_inertia(self) -> list[Finding]:
        """Refuse a model in which a joint moves no inertia at the neutral and at another configuration.

        Returns
        -------
        list of Finding
            What is suspicious: no inertia at the neutral configuration only, or much lost to rounding.

        Raises
        ------
        ModelError
            Naming the joint.
        """
        findings, doubtful = [], self.engine.doubtful_pivots(self.probes)
        if not doubtful or self._assembly.moves_no_inertia:  # which checking the system has told
            return []
        try:
            self._accelerations_at_rest(self.probes[0])
        except ModelError as error:
            self._accelerations_at_rest(self.probes[1])
            advice = "start elsewhere; forward dynamics fails there"
            value = "no inertia at the neutral configuration"
            findings.append(Finding("singular-neutral", error.where, value, "inertia to move", advice))
        found = [conditioning(pivots, self.coordinate_names) for pivots in doubtful]
        return findings + conditioning_findings(found, self.own_coordinates)

    def moves_at_rest(self) -> bool:
        """Tell whether the tree, gears in mesh, has accelerations at rest at the neutral and at another configuration."""
        try:
            for q in self.probes:
                self._accelerations_at_rest(q)
        except ModelError:
            return False
        return True

    def _accelerations_at_rest(self, q: Array) -> Array:
        """Return the accelerations (nv) of the tree at rest."""
        return self.engine.dynamics.tree_forward(q, *self._stills[2])

    @structural
    def probes(self) -> tuple[Array, Array]:
        """The neutral configuration (nq, rad and m), and one in no special position, displaced by the system's size."""
        neutral = self.neutral()
        step = self.apart(neutral, self.random_configuration(np.random.default_rng(0)))
        of_joints = np.zeros(self.nv, dtype=bool)
        for connection in self._assembly.connections:
            of_joints[self._assembly.v_slices.get(connection.joint.name, slice(0, 0))] = True
        step[of_joints] *= self.scale.coordinates[of_joints]
        return neutral, self.moved(neutral, step)
