"""Whether imaginary parts are kept is found in any unit."""

from __future__ import annotations

import numpy as np
import pytest

import titop as tt
from tests.blocks.checking.own_forms import Crank, Drag, Ellipse, Stop, alone
from tests.blocks.scaled_blocks import DECADES, Array, Lever, RealLever
from tests.refusals import ENGINES
from titop.blocks.checking.complex_safety import is_complex_safe


@pytest.mark.parametrize("size", DECADES)
def test_checks_over_twelve_decades(size: float) -> None:
    tt.check_block(Lever("lever", size, size**3, 1.0))
    assert is_complex_safe(Lever("lever", size, size**2, size))
    assert not is_complex_safe(RealLever("lever", size, size**2, size))

    class Wrong(Lever):
        def gyroscopic(self, q: Array, v: Array, twist: Array) -> Array:
            return 1.001 * super().gyroscopic(q, v, twist)

        def subspace_rate(self, port: str, q: Array, v: Array) -> Array:
            return 1.001 * super().subspace_rate(port, q, v)

    with pytest.raises(tt.ModelError) as caught:
        tt.check_block(Wrong("lever", size, size**3, 1.0))
    assert {finding.where for finding in caught.value.findings} >= {"lever.gyroscopic", "lever.subspace_rate('C')"}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
class TestFormsThatLoseImaginaryParts:
    """What is right in value is differentiated by differences, and a warning says so."""

    def test_of_passive_efforts(self, engine: str) -> None:
        with pytest.warns(tt.ModelWarning, match="not-complex-safe"):
            m = alone(Drag("slider"), engine)
        assert m.forward_dynamics_derivatives([0.0], [1.5], [0.0])[1] == pytest.approx(-0.45, rel=1e-9)

    def test_of_motion_subspaces(self, engine: str) -> None:
        with pytest.warns(tt.ModelWarning, match="not-complex-safe"):
            m = alone(Ellipse("slider"), engine, carried=True)
        c, s, rate = np.cos(0.4), np.sin(0.4), 2.0
        expected = 3 * c * s * rate**2 / (s**2 + 4 * c**2)  # a mass on an ellipse with half axes 1 and 2
        assert m.forward_dynamics([0.4], [rate], [0.0]) == pytest.approx(expected, rel=1e-8)

    def test_of_energies_far_out(self, engine: str) -> None:
        with pytest.warns(tt.ModelWarning, match="not-complex-safe"):
            m = alone(Stop("slider"), engine)
        assert m.forward_dynamics([1.7], [0.0], [0.0]) == pytest.approx(-100.0, rel=1e-9)

    def test_of_inertias_in_one_array(self, engine: str) -> None:
        with pytest.warns(tt.ModelWarning, match="not-complex-safe"):
            m = alone(Crank("crank"), engine)
        inertia, slope, rate = 2.0 + np.sin(0.4), np.cos(0.4), 2.0
        assert m.mass_matrix([0.4])[0, 0] == pytest.approx(inertia, rel=1e-15)
        assert m.forward_dynamics([0.4], [rate], [1.0]) == pytest.approx((1 - slope * rate**2 / 2) / inertia, rel=1e-9)
