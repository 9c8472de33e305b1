"""What blocks say of their surroundings is checked: shapes, energy, imaginary parts, what weighs."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest

import titop as tt
from examples.compiled_block import Telescope, telescope_law
from titop.blocks.basics.spatial import Array, rigid_inertia
from titop.blocks.checking.complex_safety import is_complex_safe
from titop.blocks.checking.surroundings_check import surroundings_findings, twin_disagreements
from titop.blocks.contract.applied import Place, efforts_at, slopes_at
from titop.blocks.contract.surroundings import mass_and_moment


class Kite(tt.Block):
    """A body on a spring to a point of the ground, with one coordinate along which a wind blows."""

    coordinates = ("reel",)
    ports = ("C",)
    parameter_units: ClassVar = {"stiffness": "N/m"}

    def __init__(self, name: str = "kite", stiffness: float = 3.0) -> None:
        super().__init__(name)
        self.stiffness = stiffness

    def pose(self, port: str, q: Array) -> tuple[Array, Array]:
        """Return where the reel has come to."""
        return np.eye(3) + 0 * q[0], np.array([q[0], 0 * q[0], 0.5 + 0 * q[0]])

    def mass_matrix(self, q: Array) -> Array:
        """Return a body's inertia, and the reel's."""
        M = np.zeros((7, 7), q.dtype)
        M[:6, :6] = rigid_inertia(2.0, [0.0, 0.1, 0.2], 0.1 * np.eye(3))
        M[6, 6] = 0.3
        return M

    def applied_efforts(self, q: Array, v: Array, twist: Array, rotation: Array, position: Array) -> Array:
        """Return spring and wind."""
        force = -self.stiffness * (rotation.T @ position) - 0.3 * twist[:3] * np.sqrt(twist[:3] @ twist[:3] + 1.0)
        return np.concatenate([force, np.zeros(3), [2.0 * q[0] - 0.1 * v[0]]])

    def applied_energy(self, q: Array, rotation: Array, position: Array) -> Any:
        """Return what the spring stores."""
        return 0.5 * self.stiffness * position @ position - q[0] ** 2


def complaint(**fields: Any) -> str:
    """Return what is wrong with a kite, some of whose functions are others."""
    with pytest.raises(tt.ModelError) as caught:
        tt.check_block(type("Other", (Kite,), fields)())
    return str(caught.value)


def test_a_sound_block_passes() -> None:
    tt.check_block(Kite())


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"applied_efforts": lambda self, *state: np.zeros(6)}, ("wrong-shape", "kite.applied_efforts", "shape (7,)")),
        ({"applied_efforts": lambda self, *state: np.full(7, np.nan)}, ("not-finite", "kite.applied_efforts")),
        ({"applied_efforts": lambda self, q: np.zeros(7)}, ("block-fails", "kite.applied_efforts", "TypeError")),
        ({"weight": lambda self, q: 1.0}, ("block-fails", "kite.weight", "first moment")),
        ({"applied_energy": lambda self, q, R, p: 2.0 * p @ p}, ("inconsistent-block", "applied_efforts", "applied_energy")),
        ({"mass_matrix": lambda self, q: np.diag([1.0, 2, 3, 1, 1, 1, 1])}, ("added-mass-weighs", "weight(q)")),
        ({"with_parameters": lambda self, values: Kite("kite", float(np.real(*values.values())))}, ("stiffness", "complex")),
    ],
)
def test_what_is_wrong_is_named(fields: dict[str, Any], words: tuple[str, ...]) -> None:
    said = complaint(**fields)
    for word in words:
        assert word in said


def test_slopes_without_imaginary_parts_are_differences() -> None:
    class Rough(Kite):
        def applied_efforts(self, q: Array, v: Array, twist: Array, rotation: Array, position: Array) -> Array:
            """Lose the imaginary parts."""
            return super().applied_efforts(*(np.real(x) for x in (q, v, twist, rotation, position)))

    s = tt.System("rough")
    s.connect("world", Rough(), tt.Free("base"))
    with pytest.warns(tt.ModelWarning, match=r"kite.*not-complex-safe"):
        rough = s.resolve()
    t = tt.System("fine")
    t.connect("world", Kite(), tt.Free("base"))
    fine, rng = t.resolve(), np.random.default_rng(0)
    state = fine.random_configuration(rng), rng.normal(size=7), rng.normal(size=7)
    found, exact = (np.array(m.inverse_dynamics_derivatives(*state)) for m in (rough, fine))
    np.testing.assert_allclose(found, exact, rtol=0, atol=1e-8 * np.abs(exact).max())  # differences of the sixth order


def test_slopes_are_those_of_the_efforts() -> None:
    rng, block, gravity = np.random.default_rng(0), Kite(), np.array([0.0, 0.0, -9.81])
    rotation = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    at = Place(rng.normal(size=1), rng.normal(size=1), rng.normal(size=6), rotation, rng.normal(size=3))
    by_q, by_v, by_twist, by_displacement = slopes_at(block, at, gravity)
    np.testing.assert_allclose(by_q[6], 2.0, rtol=1e-14)
    np.testing.assert_allclose(by_v[6], -0.1, rtol=1e-14)
    # along the port's own axes the spring pulls back alike, and its force turns back when the port turns
    np.testing.assert_allclose(by_displacement[:3, :3], -3.0 * np.eye(3), atol=1e-13)
    x, y, z = rotation.T @ at.position
    np.testing.assert_allclose(by_displacement[:3, 3:], -3.0 * np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]]), atol=1e-13)
    h = 1e-5 * np.eye(6)
    for k in range(6):
        ahead, behind = (efforts_at(block, at._replace(twist=at.twist + s * h[k]), gravity) for s in (1, -1))
        np.testing.assert_allclose(by_twist[:, k], (ahead - behind) / 2e-5, atol=1e-8)  # central differences


def test_the_weight_of_a_rigid_body_is_its_own() -> None:
    mass, moment = mass_and_moment(rigid_inertia(2.0, [0.1, -0.2, 0.3], np.eye(3)))
    np.testing.assert_allclose([mass, *moment], [2.0, 0.2, -0.4, 0.6], rtol=1e-15)


def test_a_law_says_what_acts_in_python_too() -> None:
    def pushed(numbers: Any, q: Any, v: Any, twist: Any, rotation: Any, position: Any, efforts: Any) -> None:
        efforts[0] = numbers[0] * position[2] + rotation[0, 1]
        efforts[7] = q[0] * v[1] * twist[4]

    class Pushed(Telescope):
        compiled_law = tt.Law(telescope_law, pushed)

    rng = np.random.default_rng(0)
    state = rng.normal(size=2), rng.normal(size=2), rng.normal(size=6), rng.normal(size=(3, 3)), rng.normal(size=3)
    q, v, twist, rotation, position = state
    found = Pushed("boom", length=2.0).applied_efforts(*state)
    expected = [2.0 * position[2] + rotation[0, 1], 0, 0, 0, 0, 0, 0, q[0] * v[1] * twist[4]]
    np.testing.assert_allclose(found, expected, rtol=1e-15)
    assert not Telescope("boom").applied_efforts(*state).any()

    class Other(Pushed):
        def applied_efforts(self, q: Array, v: Array, twist: Array, rotation: Array, position: Array) -> Array:
            """Return more than the law says."""
            return super().applied_efforts(q, v, twist, rotation, position) * 1.001

    assert not list(twin_disagreements(Pushed("boom")))
    assert [finding.where for finding in twin_disagreements(Other("boom"))] == ["boom.compiled_law.applied"]
    assert is_complex_safe(Pushed("boom"))
    assert not list(surroundings_findings(Pushed("boom")))
