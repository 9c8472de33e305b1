"""Constraints of rigid closures, as they are written, against differences of their values along motions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import expm

from tests.solvers.kernels.spatial.matrices_by_hand import hat
from tests.systems import Array, random_rotation
from titop.solvers.kernels.closures import constraint_rows
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.spatial.rotations import rotation_log

#: Central differences over 1e-4 of functions of order one, up to some tens in their fourth derivatives.
STEP, CLOSE = 1e-4, 1e-6

#: Columns that a constraint may have: of the position, of the rotation vector, of two directions, of all at once; and its form.
PARTS = {
    "along": (1, 0, 0, layout.ALIGNED_FORM),
    "about": (0, 1, 0, layout.LOG_FORM),
    "aligned": (0, 0, 1, layout.ALIGNED_FORM),
    "all": (1, 1, 1, layout.LOG_FORM),
    "height of a disc": (1, 0, 1, layout.ROLLING_FORM),
    "distance": (1, 0, 0, layout.DISTANCE_FORM),
}


class Ports:
    """Two ports that move with twists which stay the same in their frames, and one constraint between them."""

    def __init__(self, parts: tuple[int, ...], seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.start = [self._pose(rng), self._pose(rng)]
        self.twists = rng.normal(size=(2, 6))
        self.floats = np.zeros((1, layout.FLOAT_COLUMNS))
        self.floats[0, layout.ALONG : layout.ALONG + 3] = parts[0] * rng.normal(size=3)
        self.floats[0, layout.ABOUT : layout.ABOUT + 3] = parts[1] * rng.normal(size=3)
        self.floats[0, layout.ALIGNED1 : layout.ALIGNED1 + 6] = parts[2] * rng.normal(size=6)
        self.floats[0, layout.OFFSET], self.form = 0.3, parts[3]
        if self.form == layout.ROLLING_FORM:  # the height is along the plane's normal, the disc's axis a direction
            self.floats[0, layout.ALONG : layout.ALONG + 3] /= np.linalg.norm(self.floats[0, layout.ALONG : layout.ALONG + 3])
            self.floats[0, layout.ALIGNED1 : layout.ALIGNED1 + 3] = self.floats[0, layout.ALONG : layout.ALONG + 3]
            self.floats[0, layout.ALIGNED2 : layout.ALIGNED2 + 3] /= np.linalg.norm(self.floats[0, layout.ALIGNED2 :][:3])

    @staticmethod
    def _pose(rng: np.random.Generator) -> Array:
        pose = np.eye(4)
        pose[:3, :3], pose[:3, 3] = random_rotation(rng).as_matrix(), rng.normal(size=3)
        return pose

    def relative(self, t: float) -> tuple[Array, Array, Array]:
        """Return R, r and the rotation vector at time t, zero where that does not count."""
        poses = []
        for start, twist in zip(self.start, self.twists, strict=True):
            algebra = np.zeros((4, 4))
            algebra[:3, :3], algebra[:3, 3] = hat(twist[3:]), twist[:3]
            poses.append(start @ expm(t * algebra))
        relative = np.linalg.inv(poses[0]) @ poses[1]
        phi = rotation_log(relative[:3, :3].ravel()) if self.form == layout.LOG_FORM else (0.0, 0.0, 0.0)
        return relative[:3, :3].ravel(), relative[:3, 3], np.array(phi)

    def value(self, t: float) -> float:
        """Return the constraint's value."""
        found: float = constraint_rows._value(self.floats, 0, self.relative(t), self.form)
        return found


@pytest.mark.parametrize("parts", PARTS.values(), ids=PARTS)
@pytest.mark.parametrize("seed", range(3))
def test_gradients_and_bias_are_the_derivatives_of_the_value(parts: tuple[int, ...], seed: int) -> None:
    """The second derivative at constant twists: spatial accelerations are zero then, and the bias is all of it."""
    ports = Ports(parts, seed)
    here, (V1, V2) = ports.relative(0.0), ports.twists
    E1, E2 = constraint_rows.gradients(ports.floats, 0, here, ports.form)
    ahead, now, behind = (ports.value(t) for t in (STEP, 0.0, -STEP))
    assert np.dot(E1, V1) + np.dot(E2, V2) == pytest.approx((ahead - behind) / (2 * STEP), abs=CLOSE)
    bias = constraint_rows.bias_of(ports.floats, 0, here, ports.form, V1, V2, E2)
    assert bias == pytest.approx((ahead - 2 * now + behind) / STEP**2, abs=1e2 * CLOSE)  # and rounding over the step's square


@pytest.mark.parametrize("seed", range(3))
def test_the_bias_of_what_slips_is_the_derivative_of_its_rate(seed: int) -> None:
    """Along a direction that is fixed on the plane and one on the body, together: it has no value, only a rate."""
    ports = Ports(PARTS["height of a disc"], seed)
    ports.floats[0, layout.ALONG : layout.ALONG + 6] = np.random.default_rng(seed).normal(size=6)
    assert layout.ABOUT == layout.ALONG + 3
    V1, V2 = ports.twists

    def rate(t: float) -> float:
        E1, E2 = constraint_rows.gradients(ports.floats, 0, ports.relative(t), ports.form)
        return float(np.dot(E1, V1) + np.dot(E2, V2))

    here = ports.relative(0.0)
    _, E2 = constraint_rows.gradients(ports.floats, 0, here, ports.form)
    bias = constraint_rows.bias_of(ports.floats, 0, here, ports.form, V1, V2, E2)
    assert bias == pytest.approx((rate(STEP) - rate(-STEP)) / (2 * STEP), abs=CLOSE)


def test_the_value_is_what_the_coefficients_say() -> None:
    ports = Ports(PARTS["all"])
    turn, r, phi = ports.relative(0.0)
    row = ports.floats[0]
    along, about, c, n = (row[at : at + 3] for at in (layout.ALONG, layout.ABOUT, layout.ALIGNED1, layout.ALIGNED2))
    assert ports.value(0.0) == pytest.approx(along @ r + about @ phi + c @ turn.reshape(3, 3) @ n - 0.3, abs=1e-13)
