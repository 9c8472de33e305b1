"""Bodies of constant curvature and constant strain against the same body as `tt.Rod`, which runs along x instead of z."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.linalg import block_diag

import titop as tt

Array = NDArray[np.float64]
R, L, YOUNG, POISSON, DENSITY, VISCOSITY = 0.02, 0.3, 2e5, 0.3, 1100.0, 40.0
#: From the axes of the body (along z) to those of the rod (along x): z to x, x to -z, y to y.
TURN = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])
#: What of a rod's strain each of the body's is, and with which sign.
OF_ROD = {
    "bending_x": ("bending_z", -1.0),
    "bending_y": ("bending_y", 1.0),
    "torsion": ("torsion", 1.0),
    "shear_x": ("shear_z", -1.0),
    "shear_y": ("shear_y", 1.0),
    "elongation": ("elongation", 1.0),
}
POINTS = 8
#: The same Gauss points, sections summed from points instead of known moments.
SAME = {"rtol": 1e-10, "atol": 1e-12}


def rod(strains: Sequence[str]) -> tuple[tt.Rod, Array]:
    """Return the rod, and the matrix from the body's coordinates to its own."""
    wanted = [OF_ROD[name][0] for name in strains]
    made = tt.Rod(
        "arm",
        L,
        tt.Section.circle(R),
        YOUNG,
        DENSITY,
        poisson=POISSON,
        damping=VISCOSITY,
        strains=dict.fromkeys(wanted, 0),
        points=POINTS,
    )
    order = [("torsion", "bending_y", "bending_z", "elongation", "shear_y", "shear_z")[k] for k in made.numbers.components]
    matrix = np.zeros((len(strains), len(strains)))
    for k, name in enumerate(strains):
        component, sign = OF_ROD[name]
        matrix[order.index(component), k] = sign
    return made, matrix


def soft(kinematics: tt.Kinematics, own: tuple[tt.Rod, Array] | None = None, material: Any = None) -> tt.SoftBody:
    """Return the body, with the energy and dissipation of a rod's sections."""
    fields: dict[str, Any] = {"material": material}
    if own is not None:
        stiffness, damping = (own[1].T @ part @ own[1] for part in (own[0].numbers.stiffness, own[0].numbers.damping))
        fields |= {"energy": lambda q: 0.5 * q @ stiffness @ q, "dissipation": lambda q, v: 0.5 * v @ damping @ v}
    made = tt.SoftBody("arm", kinematics, tt.Domain.cylinder(R, L, along=POINTS), DENSITY, **fields)
    assert not made.reader.findings
    return made


PAIRS: dict[str, tuple[tt.Kinematics, tuple[str, ...]]] = {
    "pcs": (tt.Kinematics.constant_strain(L), tuple(OF_ROD)),
    "pcs of some": (tt.Kinematics.constant_strain(L, ["elongation", "bending_x"]), ("elongation", "bending_x")),
    "pcc": (tt.Kinematics.constant_curvature(L), ("bending_y",)),
    "pcc with elongation": (tt.Kinematics.constant_curvature(L, elongation=True), ("bending_y", "elongation")),
    "pcc in space": (tt.Kinematics.constant_curvature(L, spatial=True), ("bending_x", "bending_y")),
}


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("size", [0.0, 1.0])
def test_inertia_and_gyroscopic_terms(name: str, size: float) -> None:
    """At rest and bent by half a radian."""
    kinematics, strains = PAIRS[name]
    other, matrix = rod(strains)
    body = soft(kinematics)
    rng = np.random.default_rng(2)
    scale = np.array([0.5 if unit == "rad" else 0.03 for unit in kinematics.units])
    q, v, twist = size * scale * rng.uniform(-1, 1, len(scale)), rng.normal(size=len(scale)), rng.normal(size=6)
    turn = block_diag(TURN, TURN, matrix)
    expected = turn.T @ other.mass_matrix(matrix @ q) @ turn
    np.testing.assert_allclose(body.mass_matrix(q), expected, **SAME)
    turned = block_diag(TURN, TURN) @ twist
    terms = turn.T @ other.gyroscopic(matrix @ q, matrix @ v, turned)
    np.testing.assert_allclose(body.gyroscopic(q, v, twist), terms, **SAME)
    rotation, place = other.pose("tip", matrix @ q)
    found = body.pose("tip", q)
    np.testing.assert_allclose(TURN @ found[0] @ TURN.T, rotation, atol=1e-13)
    np.testing.assert_allclose(TURN @ found[1], place, atol=1e-14)


def test_one_sign_matters() -> None:
    """Negative control: bending the other way is another inertia."""
    other, matrix = rod(("bending_x", "bending_y"))
    body, q = soft(PAIRS["pcc in space"][0]), np.array([0.3, 0.5])
    turn = block_diag(TURN, TURN, -matrix)
    assert np.abs(turn.T @ other.mass_matrix(-matrix @ q) @ turn - body.mass_matrix(q)).max() > 1e-3 * body.mass


def test_systems_of_them_move_alike() -> None:
    """Two in series on a joint, with a body at the end and the energy of rods' sections."""
    strains = PAIRS["pcs"][1]
    other, matrix = rod(strains)
    models = []
    for make, frame in ((lambda: rod(strains)[0], np.eye(3)), (lambda: soft(PAIRS["pcs"][0], (other, matrix)), TURN)):
        s = tt.System("rig", gravity=[0.5, -1.0, -9.81])
        first, second = make(), make()
        second.name = "hand"
        s.connect("world", first, joint=tt.Revolute("hinge", axis=frame.T @ [0, 1, 0]), placement=tt.Pose(rotation=frame))
        s.connect(first.port("tip"), second, joint=tt.Weld("joint"))
        end = tt.RigidBody("end", 0.1, [0.02, 0.0, 0.0], 1e-4)
        s.connect(second.port("tip"), end, joint=tt.Weld("grip"), placement=tt.Pose(rotation=frame.T))
        models.append(s.resolve(engine="reference"))
    turn = block_diag(1.0, matrix, matrix)
    rng = np.random.default_rng(4)
    scale = np.array([1.0, *[0.5, 0.5, 0.5, 0.02, 0.02, 0.02] * 2])
    q, v, tau = (scale * rng.uniform(-1, 1, 13) for _ in range(3))
    expected = models[0].forward_dynamics(turn @ q, turn @ v, np.linalg.solve(turn.T, tau))
    np.testing.assert_allclose(turn @ models[1].forward_dynamics(q, v, tau), expected, rtol=1e-8)


class TestElasticity:
    """Rigid sections of a material cannot shrink: along the body it is stiffer than E, unless Poisson's ratio is zero."""

    @staticmethod
    def stiffness(material: tt.Material) -> Array:
        body, h = soft(tt.Kinematics.constant_strain(L), material=material), 1e-6
        steps = h * np.eye(6)
        return -np.array([body.passive_efforts(d, 0 * d) - body.passive_efforts(-d, 0 * d) for d in steps]) / (2 * h)

    @pytest.mark.parametrize("law", [tt.Material.linear, tt.Material.neo_hookean])
    def test_without_poissons_ratio_it_is_the_rods(self, law: Any) -> None:
        """With full shear areas, which rigid sections have; differences leave 1e-8."""
        area, second = np.pi * R**2, np.pi * R**4 / 4
        rods = np.diag([YOUNG * second, YOUNG * second, YOUNG * second, YOUNG * area / 2, YOUNG * area / 2, YOUNG * area]) / L
        np.testing.assert_allclose(self.stiffness(law(YOUNG, 0.0)), rods, atol=1e-7 * rods.max())
        assert np.diag(self.stiffness(law(YOUNG, 0.0)))[:3] == pytest.approx(np.diag(rods)[:3], rel=1e-6)

    def test_with_it_bending_is_stiffer(self) -> None:
        """By ``(1 - nu) / ((1 + nu) (1 - 2 nu))``: what holding the width does."""
        ratio = (1 - POISSON) / ((1 + POISSON) * (1 - 2 * POISSON))
        found = np.diag(self.stiffness(tt.Material.linear(YOUNG, POISSON))) / np.diag(
            self.stiffness(tt.Material.linear(YOUNG, 0.0))
        )
        np.testing.assert_allclose(found[[0, 1, 5]], ratio, rtol=1e-6)
        np.testing.assert_allclose(found[[2, 3, 4]], 1 / (1 + POISSON), rtol=1e-6)
