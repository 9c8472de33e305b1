"""What gravity pulls at."""

from __future__ import annotations

import numpy as np

from titop.blocks.basics.spatial import rigid_inertia
from titop.blocks.contract.description import mass_and_moment


def test_the_weight_of_a_rigid_body_is_its_own() -> None:
    mass, moment = mass_and_moment(rigid_inertia(2.0, [0.1, -0.2, 0.3], np.eye(3)))
    np.testing.assert_allclose([mass, *moment], [2.0, 0.2, -0.4, 0.6], rtol=1e-15)
