"""Random trees with random motions, and their series by the kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

import titop as tt
from tests.systems import KINDS, Array, random_tree
from titop.solvers.engines.compiled.compiled_dynamics import CONSTANT
from titop.solvers.kernels.entries import series_entries
from titop.solvers.kernels.interface import layout

#: How many derivatives there are of efforts.
ORDER = 5


class Moving:
    """A random tree in a random motion.

    Parameters
    ----------
    seed : int
    kinds : sequence of str
        Kinds of joint to draw from.
    bodies : int
    springs : bool
        Whether all joints have springs, dampers and armatures; spherical and free ones without springs.
    options
        Of `random_tree`.
    """

    def __init__(self, seed: int, kinds: Any = KINDS, bodies: int = 5, springs: bool = False, **options: Any) -> None:
        rng = np.random.default_rng(seed)
        self.tree = random_tree(rng, bodies, kinds, passive=springs, **options)
        for connection in self.tree.connections:
            joint: Any = connection.joint
            if springs and isinstance(joint, tt.Spherical | tt.Free):
                joint.stiffness[:] = 0.0
        self.model = self.tree.resolve()
        system: Any = self.model.mechanism.engine.system  # type: ignore[attr-defined]
        self.system, self.tables = system, (system.ints, system.floats)
        self.q, self.v_series = self.model.random_configuration(rng), rng.normal(size=(ORDER + 2, self.model.nv))

    def inverse(self, v_series: Array | None = None) -> Array:
        """Return the efforts and their derivatives."""
        motion = self.v_series if v_series is None else v_series
        efforts = np.full((len(motion) - 1, self.model.nv), np.nan)
        status = series_entries.inverse_dynamics_series.rigid(CONSTANT, *self.tables, self.q, motion, efforts)
        assert status == layout.OK
        return efforts

    def forward(self, tau_series: Array) -> Array:
        """Return the accelerations and their derivatives."""
        motion = np.full(tau_series.shape, np.nan)
        kernel = series_entries.forward_dynamics_series.rigid
        assert kernel(CONSTANT, *self.tables, self.q, self.v_series[0], tau_series, motion) == layout.OK
        return motion

    def hybrid(self, tau_series: Array, a_series: Array, imposed: Array) -> tuple[Array, Array]:
        """Return the accelerations and efforts with their derivatives."""
        results = np.full(tau_series.shape, np.nan), np.full(tau_series.shape, np.nan)
        given = self.q, self.v_series[0], tau_series, a_series
        assert series_entries.hybrid_dynamics_series.rigid(CONSTANT, imposed, *self.tables, *given, *results) == layout.OK
        return results


def assert_close_by_row(found: Array, expected: Array, part: float) -> None:
    """Rows agree to a part of their largest entry: derivatives of different orders have very different sizes."""
    for k, (row, right) in enumerate(zip(found, expected, strict=True)):
        scale = max(1.0, float(np.abs(right).max(initial=0.0)))
        np.testing.assert_allclose(row, right, rtol=0.0, atol=part * scale, err_msg=f"order {k}")
