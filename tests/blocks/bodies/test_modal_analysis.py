"""What modal matrices say: residual and effective masses of beams against published figures."""

from __future__ import annotations

import numpy as np
import pytest

import titop as tt
from tests.flexible import unit_beam


def test_residual_mass_of_more_and_more_clamped_modes() -> None:
    """The translational entries of the facts: clamped-free modes alone, of the unit beam."""
    rich = unit_beam(modes=40)
    for count, expected in ((3, 0.13389), (4, 0.10080), (6, 0.06739), (10, 0.04049), (20, 0.02026)):
        residual = truncated(rich, count).residual_mass
        assert residual[1, 1] == pytest.approx(expected, abs=6e-6)  # five printed digits, of a 60-element beam
        assert np.linalg.eigvalsh(residual)[0] > -1e-12


def test_effective_mass_of_the_cantilever() -> None:
    effective = truncated(unit_beam(modes=20), 10).effective_mass
    np.testing.assert_allclose(effective.fraction[:3, 1], [0.6131, 0.1883, 0.0647], atol=5e-5)  # four printed digits
    beam = unit_beam(modes=4)
    assert beam.effective_mass.fraction[:, 1].sum() < 1
    followed = np.diag(beam.rigid_inertia - beam.residual_mass)
    np.testing.assert_allclose(beam.effective_mass.mass.sum(axis=0), followed, rtol=1e-12)


def truncated(beam: tt.Beam, count: int) -> tt.FlexibleBody:
    """Return the first natural modes of a beam's bending in the x-y plane."""
    own = beam.participation
    plane = [k for k in range(beam.nv) if own[k, [1, 5]].any() and not own[k, [2, 4]].any()]
    M, K = (matrix[np.ix_(plane, plane)] for matrix in beam.matrices[:2])
    rigid = beam.mass, beam.com, beam.inertia
    flat = tt.FlexibleBody("flat", *rigid, participation=own[plane], modal_mass=M, modal_stiffness=K).in_natural_modes()
    assert flat.frequencies is not None
    few = slice(0, count)
    return tt.FlexibleBody("flat", *rigid, frequencies=flat.frequencies[few], participation=flat.participation[few])
