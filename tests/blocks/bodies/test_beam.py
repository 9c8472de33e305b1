"""Beams: closed-form frequencies and deflections by holding and freeing the ends in the graph, parameters, findings."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.linalg import eigh, expm, null_space
from scipy.optimize import brentq

import titop as tt
from tests.flexible import UNIT, linear_frequencies, unit_beam
from titop.blocks.bodies.beam_matrices import bending_shapes, kind_matrices

Array = NDArray[np.float64]

#: Modes with both ends held approach those of free ends as 1/k^3: with twenty, the third frequency errs by 3e-5 at worst.
MODES, TRUNCATION = 20, 5e-5
CLAMPED_FREE = np.array([1.8751041, 4.6940911, 7.8547574]) ** 2
CLAMPED_CLAMPED = np.array([22.3732855, 61.6728229, 120.9033916])
CLAMPED_PINNED = np.array([15.4182057, 49.9648620, 104.2476970])
PINNED_PINNED = np.pi**2 * np.array([1, 4, 9])


def in_plane(beam: tt.FlexibleBody, base: tt.Joint) -> tt.Model:
    """Return the beam on a joint, without gravity."""
    s = tt.System("beam", gravity=[0, 0, 0])
    s.connect("world", beam, base)
    return s.resolve()


HINGE: dict[str, Any] = {"axis": [0, 0, 1]}
#: Directions at the tip in the x-y plane.
DEFLECTION, SLOPE = 1, 5


class TestEndConditions:
    """One beam, its ends held or freed by what it is connected to."""

    @pytest.mark.parametrize(
        ("base", "held", "expected"),
        [
            (tt.Weld("end"), [], CLAMPED_FREE),
            (tt.Weld("end"), [DEFLECTION], CLAMPED_PINNED),
            (tt.Weld("end"), [DEFLECTION, SLOPE], CLAMPED_CLAMPED),
            (tt.Revolute("end", **HINGE), [DEFLECTION], PINNED_PINNED),
            (tt.Planar("end"), [], CLAMPED_CLAMPED),  # free and free: the same frequencies
            (tt.Planar("end"), [DEFLECTION, SLOPE], CLAMPED_FREE),  # turned around: the tip clamped
            (tt.Revolute("end", **HINGE), [], CLAMPED_PINNED),  # hinged and free: as clamped and pinned
        ],
        ids=["clamped-free", "clamped-pinned", "clamped-clamped", "pinned-pinned", "free-free", "free-clamped", "pinned-free"],
    )
    def test_frequencies(self, base: tt.Joint, held: list[int], expected: Array) -> None:
        model = in_plane(unit_beam(modes=MODES), base)
        np.testing.assert_allclose(bending_frequencies(model, held)[:3], expected, rtol=TRUNCATION)

    def test_more_modes_are_more_accurate(self) -> None:
        found = {k: bending_frequencies(in_plane(unit_beam(modes=k), tt.Planar("end")), []) for k in (2, 4, 8, 16)}
        errors = [abs(frequencies[1] / CLAMPED_CLAMPED[1] - 1) for frequencies in found.values()]
        assert errors[0] > 1e-3
        assert (np.diff(errors) < 0).all()
        # as 60 finite elements with four modes give it, to the printed digits
        np.testing.assert_allclose(found[4][:2], [22.3825, 61.7295], atol=2e-4)
        held = bending_frequencies(in_plane(unit_beam(modes=4), tt.Weld("end")), [DEFLECTION, SLOPE])
        np.testing.assert_allclose(held[:3], CLAMPED_CLAMPED, rtol=1e-8)  # with both ends held it has the exact modes

    def test_free_modes_alone_are_wrong_once_the_tip_is_held(self) -> None:
        """Why the beam carries static deformations: four clamped-free modes give 24.4 to 32 instead of 22.37."""
        modes = unit_beam(modes=MODES).in_natural_modes()
        assert modes.frequencies is not None
        plane = [k for k in range(modes.nv) if np.abs(modes.shapes["C"][1, k]) > 1 or np.abs(modes.shapes["C"][2, k]) > 1][:6]
        few = tt.FlexibleBody(
            "few",
            modes.mass,
            modes.com,
            modes.inertia,
            frequencies=modes.frequencies[plane],
            participation=modes.participation[plane],
            ports=modes.port_poses,
            shapes={"C": modes.shapes["C"][:, plane]},
        )
        found = linear_frequencies(in_plane(few, tt.Weld("end")), {"few.C": [1, 2, 4, 5]}, 1)
        assert found[0] == pytest.approx(32.04, abs=0.01)  # as printed in the facts, three modes a plane


def bending_frequencies(model: tt.Model, held: list[int]) -> Array:
    """Return non-zero frequencies (rad/s) of bending in the x-y plane, the tip held in some directions.

    Everything comes from the model, at rest without deformation; other deformations are left out.
    """
    beam = model.mechanism.assembly.blocks["beam"]
    assert isinstance(beam, tt.FlexibleBody)
    other = {f"beam.{name}" for k, name in enumerate(beam.coordinates) if not beam.participation[k, [1, 5]].any()}
    keep = [k for k, name in enumerate(model.coordinate_names) if name not in other]
    q, rest = model.neutral(), np.zeros(model.nv)
    mass = model.mass_matrix(q)[np.ix_(keep, keep)]
    stiffness = -np.array([model.passive_efforts(q + e, rest) for e in np.eye(model.nv)])[np.ix_(keep, keep)]
    basis = null_space(model.jacobian("beam.C", q)[held][:, keep]) if held else np.eye(len(keep))
    squares = eigh(basis.T @ stiffness @ basis, basis.T @ mass @ basis, eigvals_only=True)
    return np.sqrt(squares[squares > 1e-2])


class TestOtherDeformations:
    def test_torsion_and_stretch(self) -> None:
        beam = tt.Beam("rod", 2.0, 3.0, 0.1, 50.0, 1e-3, 1e-3, shear_modulus=20.0, torsion_modes=20, axial_modes=20)
        frequencies = beam.natural_frequencies
        for speed in (np.sqrt(50.0 / 3.0), np.sqrt(20.0 / 3.0)):  # of waves of stretch and torsion
            expected = np.array([1, 3]) * np.pi / 2 / 2.0 * speed
            nearest = [np.abs(frequencies / w - 1).min() for w in expected]
            assert max(nearest) < TRUNCATION

    def test_both_planes(self) -> None:
        beam = unit_beam(iz=4e-4)
        found = beam.natural_frequencies[:2]
        np.testing.assert_allclose(found, CLAMPED_FREE[0] * np.array([1, 2]), rtol=6e-5)  # two modes a plane
        softest = np.abs(beam.in_natural_modes().shapes["C"][:, 0]).argmax()
        assert softest == 4  # rotation about y: iy is for bending in the x-z plane

    def test_slender_timoshenko_beam_is_an_euler_bernoulli_beam(self) -> None:
        slender = {"area": 1.0, "iy": 1e-8, "iz": 1e-8, "young": 1e8}
        found = unit_beam(modes=4, shear_factors=5 / 6, **slender).natural_frequencies[:4]
        # shear and rotary inertia lower the second frequency by about 40 I / A l^2
        np.testing.assert_allclose(found, unit_beam(modes=4, **slender).natural_frequencies[:4], rtol=1e-6)

    def test_thick_timoshenko_beam(self) -> None:
        """Frequency equation of a clamped-free Timoshenko beam by shooting with the exact solution."""
        rho, area, second, young, shear, factor, length = 1.0, 1.0, 0.01, 1.0, 0.4, 5 / 6, 1.0

        def determinant(w: float) -> float:
            # states: deflection, rotation, moment, shear force
            system = np.array(
                [
                    [0, 1, 0, 1 / (factor * shear * area)],
                    [0, 0, 1 / (young * second), 0],
                    [0, -rho * second * w * w, 0, -1],
                    [-rho * area * w * w, 0, 0, 0],
                ]
            )
            return float(np.linalg.det(expm(system * length)[2:, 2:]))

        beam = tt.Beam("b", length, rho, area, young, second, second, shear_modulus=shear, shear_factors=factor, modes=MODES)
        grid = np.linspace(0.1, 3.0, 60)
        signs = np.sign([determinant(w) for w in grid])
        exact = [brentq(determinant, *grid[k : k + 2], xtol=1e-13) for k in np.flatnonzero(np.diff(signs))]
        assert len(exact) == 2
        assert exact[1] < 0.8 * CLAMPED_FREE[1] * 0.1  # shear and rotary inertia matter here
        for w in exact:
            assert np.abs(beam.natural_frequencies / w - 1).min() < TRUNCATION


class TestSuperelement:
    """Alazard's beam: deflections of the fifth degree, by end accelerations and tip motion relative to the base."""

    def matrices(self) -> tuple[Array, Array]:
        """Return the published mass (of base deflection and slope, then four coordinates) and stiffness, all lengths 1."""
        upper = np.zeros((6, 6))
        upper[np.triu_indices(6)] = [
            *(55440, 27720, 462, 27720, -5544, 462),
            *(18480, 198, 19800, -3432, 264),
            *(6, 181, -52, 5),
            *(21720, -3732, 281),
            *(832, -69),
            6,
        ]  # fmt: skip
        stiffness = np.zeros((4, 4))
        stiffness[np.triu_indices(4)] = [6, -30, 8, 1, 1200, -600, 30, 384, -22, 6]
        return tuple((m + np.triu(m, 1).T) / scale for m, scale in ((upper, 55440), (stiffness, 70)))  # type: ignore[return-value]

    def test_as_a_flexible_body(self) -> None:
        M, K = self.matrices()
        participation, shape = np.zeros((4, 6)), np.zeros((6, 4))
        participation[:, [1, 5]] = M[2:, :2]
        shape[1, 1] = shape[5, 2] = 1.0
        body = tt.FlexibleBody(
            "beam",
            1.0,
            [0.5, 0, 0],
            [2e-4, 1 / 12, 1 / 12],
            participation=participation,
            ports={"C": [1, 0, 0]},
            shapes={"C": shape},
            modal_mass=M[2:, 2:],
            modal_stiffness=K,
        )
        assert body.check() == ([], [])
        np.testing.assert_allclose(M[:2, :2], body.rigid_inertia[np.ix_([1, 5], [1, 5])], atol=1e-12)
        # the same space as two polynomials beyond the cubic ones; the first frequency is exact to 2e-6
        ours, stiffness = kind_matrices(bending_shapes(1.0, 2, 2), 2, 1.0, 1.0, 1.0)
        expected = np.sqrt(eigh(stiffness[2:, 2:], ours[2:, 2:], eigvals_only=True))
        np.testing.assert_allclose(body.natural_frequencies, expected, rtol=1e-9)  # entries that span a factor 1e4
        assert body.natural_frequencies[0] == pytest.approx(CLAMPED_FREE[0], rel=2e-6)
        s = tt.System("hinged", gravity=[0, 0, 0])
        s.connect("world", body, tt.Revolute("hinge", **HINGE))
        free = bending_frequencies(s.resolve(), [])
        assert free[0] == pytest.approx(CLAMPED_PINNED[0], rel=2e-3)  # polynomials of the fifth degree


class TestStatics:
    @pytest.mark.parametrize("shear_factors", [None, 5 / 6])
    def test_tip_deflection_of_a_beam_and_of_two_halves(self, shear_factors: float | None) -> None:
        length, young, second = 2.0, 7e10, 3e-8
        fields = {"density": 2700.0, "area": 6e-4, "young": young, "iy": second, "iz": second, "shear_factors": shear_factors}
        force = 1e-3  # N: small, since the deflection is exact to first order only
        beam = tt.Beam("whole", length, **fields)
        exact = force * length**3 / (3 * young * second)
        if shear_factors is not None:
            exact += force * length / (shear_factors * beam.shear_modulus * 6e-4)
        halves = [tt.Beam(name, length / 2, **fields) for name in ("root", "outer")]
        for parts, tip in (([beam], "whole.C"), (halves, "outer.C")):
            s = tt.System("cantilever", gravity=[0, 0, 0])
            s.connect("world", parts[0], tt.Weld("clamp"))
            for k, part in enumerate(parts[1:]):
                s.connect(parts[k].port("C"), part, tt.Weld(f"splice{k}"))
            model = s.resolve()
            q = equilibrium(model, {tip: np.array([0, force, 0, 0, 0, 0])})
            assert model.pose(tip, q)[1][1] == pytest.approx(exact, rel=1e-10)

    def test_frequencies_of_two_halves_converge(self) -> None:
        errors = []
        for modes in (0, 1, 2, 4, 8):
            s = tt.System("cantilever", gravity=[0, 0, 0])
            near, far = (unit_beam(name, length=0.5, modes=modes) for name in ("near", "far"))
            s.connect("world", near, tt.Weld("clamp"))
            s.connect(near.port("C"), far, tt.Weld("splice"))
            found = linear_frequencies(s.resolve(), count=6)[::2]
            errors.append(np.abs(found / CLAMPED_FREE - 1).max())
        assert errors[0] > 1e-3
        assert (np.diff(errors) < 0).all()
        assert errors[-1] < 1e-5

    def test_sagging_under_gravity(self) -> None:
        s = tt.System("shelf", gravity=[0, -1e-6, 0])
        s.connect("world", unit_beam(), tt.Weld("clamp"))
        model = s.resolve()
        q = equilibrium(model, {})
        # rho A g L^4 / (8 E I); the deflections of a millionth couple into the second order
        assert model.pose("beam.C", q)[1][1] == pytest.approx(-1e-6 / 8, rel=1e-5)


def equilibrium(model: tt.Model, wrenches: dict[str, Array]) -> Array:
    """Return the configuration of static equilibrium (Newton's method with the stiffness of small deformations)."""
    q, rest = model.neutral(), np.zeros(model.nv)
    stiffness = -np.array([model.passive_efforts(q + e, rest) for e in np.eye(model.nv)]).T
    for _ in range(5):
        q = q - np.linalg.solve(stiffness, model.inverse_dynamics(q, rest, rest, wrenches))
    return q


class TestParametersAndFindings:
    def test_parameters_rebuild_the_beam(self) -> None:
        beam = unit_beam(damping_ratio=0.01, modes=1)
        changed = beam.with_parameters({"young": 4e4, "length": 2.0})
        expected = unit_beam(damping_ratio=0.01, modes=1, young=4e4, length=2.0, shear_modulus=beam.shear_modulus)
        assert isinstance(changed, tt.Beam)
        for found, wanted in zip(changed.matrices, expected.matrices, strict=True):
            assert (found == wanted).all()
        assert changed.parameters()["length"] == (2.0, "m")
        assert changed.port_poses["C"].position.tolist() == [2, 0, 0]

    @pytest.mark.parametrize("field", ["length", "density", "area", "young", "iy", "iz", "torsion_constant", "shear_modulus"])
    def test_not_positive(self, field: str) -> None:
        (finding,) = unit_beam(**{field: -1.0}).check()[0]
        assert finding.where == f"beam.{field}"
        assert finding.code == f"bad-{field.replace('_', '-')}"

    @pytest.mark.parametrize(
        ("code", "fields"),
        [
            ("wrong-type", {"length": "long"}),
            ("not-finite", {"young": np.nan}),
            ("not-a-count", {"modes": 1.5}),
            ("not-a-count", {"modes": [1, 2, 3]}),
            ("not-a-count", {"torsion_modes": -1}),
            ("bad-shear-factors", {"shear_factors": [0.8, 0.0]}),
            ("wrong-shape", {"shear_factors": [0.8, 0.8, 0.8]}),
            ("not-a-count", {"modes": 51}),
            ("not-a-count", {"axial_modes": 10_000}),
            ("bad-poisson", {"poisson": -1.0}),
            ("out-of-range", {"length": 1e200}),
            ("out-of-range", {"length": 1e100}),
            ("out-of-range", {"length": 1e-160}),
        ],
    )
    def test_errors(self, code: str, fields: dict[str, Any]) -> None:
        errors, _ = unit_beam(**fields).check()
        assert code in [finding.code for finding in errors]
        assert all(finding.where == f"beam.{next(iter(fields))}" for finding in errors)

    @pytest.mark.parametrize("value", [1e-320, 1e-308, 1e-160, 1e160, 1e308])
    @pytest.mark.parametrize("field", [*UNIT, "torsion_constant", "shear_modulus", "shear_factors"])
    def test_extreme_numbers_are_refused_by_name_or_right(self, field: str, value: float) -> None:
        errors, _ = unit_beam(**{field: value}).check()
        assert {finding.code for finding in errors} <= {"out-of-range", "too-much-participation", "bad-modal-mass"}

    def test_many_modes_are_as_right_as_few(self) -> None:
        """A beam held at both ends: ``cos(k) cosh(k) = 1``, by bisection; 50 modes leave ten polynomials as two do."""
        mass, stiffness, _ = unit_beam(modes=50).matrices
        found = np.sqrt(np.diag(stiffness) / np.diag(mass))[6:56]
        turns = (np.arange(1, 51) + 0.5) * np.pi
        roots = np.array([brentq(lambda k: np.cos(k) - 1 / np.cosh(k), k - 0.3, k + 0.3, xtol=1e-14) for k in turns])
        np.testing.assert_allclose(found, roots**2, rtol=1e-12)  # some thousand roundings, of matrices of 110

    def test_negative_damping_is_suspicious(self) -> None:
        assert [finding.code for finding in unit_beam(damping_ratio=-0.01).check()[1]] == ["negative-damping"]

    def test_several_findings_come_together(self) -> None:
        errors, _ = tt.Beam("beam", **(UNIT | {"length": 0.0, "area": -1.0})).check()
        assert [finding.where for finding in errors] == ["beam.length", "beam.area"]


@pytest.mark.parametrize("shear_factors", [None, 0.85])
@pytest.mark.parametrize("name", ["length", "density", "area", "young", "iz", "shear_modulus"])
def test_modes_keep_their_signs_as_parameters_change(name: str, shear_factors: float | None) -> None:
    """What motion of P does to each mode changes by less than a tenth from one of 41 beams to the next."""
    fields = {"length": 2.0, "density": 2700.0, "area": 6e-4, "young": 7e10, "iy": 3e-8, "iz": 5e-8, "shear_modulus": 2.7e10}

    def participation(part: float) -> Any:
        changed = {**fields, name: part * fields[name]}
        return tt.Beam("b", **changed, shear_factors=shear_factors, modes=8).participation

    found = np.array([participation(part) for part in np.linspace(0.8, 1.2, 41)])
    steps, sizes = np.linalg.norm(np.diff(found, axis=0), axis=-1), np.linalg.norm(found[1:], axis=-1)
    assert (steps <= 0.1 * sizes).all()


def test_sensitivities_of_a_timoshenko_beam_are_slopes_of_its_dynamics() -> None:
    """Differences of models made anew; their steps leave 1e-7."""
    fields: dict[str, Any] = {"density": 2700.0, "area": 6e-4, "young": 7e10, "iy": 3e-8, "iz": 5e-8, "shear_factors": 0.85}

    def acceleration(length: float) -> Any:
        model = in_plane(tt.Beam("b", length, modes=4, **fields), tt.Weld("end"))
        return model.forward_dynamics(1e-3 * np.ones(model.nv), np.zeros(model.nv))

    model = in_plane(tt.Beam("b", 2.0, modes=4, **fields), tt.Weld("end"))
    q, v = 1e-3 * np.ones(model.nv), np.zeros(model.nv)
    found = model.forward_dynamics_sensitivities(q, v, v, ["b.length"])["b.length"]
    h = 1e-4
    slopes = (8 * (acceleration(2 + h) - acceleration(2 - h)) - (acceleration(2 + 2 * h) - acceleration(2 - 2 * h))) / (12 * h)
    np.testing.assert_allclose(found, slopes, rtol=1e-6, atol=1e-6 * np.abs(slopes).max())


class TestModes:
    """Their names tell plane and number; each plane has its own number of them."""

    #: A panel of 7 m, soft in the x-z plane (iy), stiff in the x-y plane (iz).
    PANEL: ClassVar[dict[str, float]] = {
        "length": 7.0,
        "density": 107.0,
        "area": 0.06,
        "young": 3.75e8,
        "iy": 4.5e-6,
        "iz": 0.02,
    }

    def hung(self, **fields: Any) -> tt.Model:
        return in_plane(tt.Beam("b", **(self.PANEL | fields)), tt.Weld("root"))

    def alone(self, model: tt.Model, name: str) -> float:
        """Return the frequency (rad/s) of one coordinate, all others held."""
        held = [each for each in model.coordinate_names if each != f"b.{name}"]
        return float(np.abs(tt.linearize(model, model.neutral(), hold=held).poles().imag).max())

    def test_each_is_the_one_that_its_name_tells(self) -> None:
        """Between held ends: of bending by the roots of ``cos(k) cosh(k) = 1``, of twist and stretch by half waves."""
        model = self.hung(modes=2, torsion_modes=2, axial_modes=2, shear_modulus=1.5e8, torsion_constant=2e-5)
        p = self.PANEL
        line = p["density"] * p["area"]
        twist = np.sqrt(1.5e8 * 2e-5 / (p["density"] * (p["iy"] + p["iz"])))
        for k in (1, 2):
            waves = CLAMPED_CLAMPED[k - 1] / p["length"] ** 2
            expected = {
                f"mode_y{k}": waves * np.sqrt(p["young"] * p["iz"] / line),
                f"mode_z{k}": waves * np.sqrt(p["young"] * p["iy"] / line),
                f"mode_rx{k}": k * np.pi / p["length"] * twist,
                f"mode_x{k}": k * np.pi / p["length"] * np.sqrt(p["young"] / p["density"]),
            }
            for name, frequency in expected.items():
                assert self.alone(model, name) == pytest.approx(frequency, rel=1e-7)  # the closed forms have eight digits

    @pytest.mark.parametrize("modes", [(2, 0), (0, 3), (1, 2), (2, 2), 2, np.array([3, 1])])
    def test_each_plane_has_its_number(self, modes: Any, tmp_path: Path) -> None:
        """As the first modes of a beam with as many in both planes; in a file and with other parameters likewise."""
        beam = tt.Beam("b", **self.PANEL, modes=modes)
        y, z = np.broadcast_to(modes, 2)
        whole = tt.Beam("b", **self.PANEL, modes=3)
        names = [
            *whole.coordinates[:6],
            *(f"mode_y{k + 1}" for k in range(y)),
            *(f"mode_z{k + 1}" for k in range(z)),
            "mode_rx1",
        ]
        assert list(beam.coordinates) == names
        chosen = np.ix_(*2 * [[whole.coordinates.index(name) for name in names]])
        for found, expected in zip(beam.matrices, whole.matrices, strict=True):
            # from fewer polynomials, which leave modes to 1e-8
            assert np.abs(found - expected[chosen]).max() <= 1e-6 * np.abs(expected).max()
        changed = beam.with_parameters({"young": 4e8})
        assert changed.coordinates == beam.coordinates
        s = tt.System("b", gravity=[0, 0, 0])
        s.connect("world", beam, tt.Weld("root"))
        s.save(tmp_path / "b.toml")
        loaded = tt.load(tmp_path / "b.toml").resolve()
        assert loaded.coordinate_names == s.resolve().coordinate_names
        assert loaded.parameters() == s.resolve().parameters()


class TestLine:
    """The deformed line, as pictures show it."""

    def test_under_a_force_at_the_tip(self) -> None:
        """A cubic: ``w = d (3 x^2 - x^3) / 2`` of a clamped beam of unit length, in both planes."""
        beam, d = unit_beam(modes=2), 1e-3
        for across, slope, sign in (("C_y", "C_rz", 1.0), ("C_z", "C_ry", -1.0)):
            q = np.zeros(beam.nv)
            q[beam.coordinates.index(across)], q[beam.coordinates.index(slope)] = d, 1.5 * sign * d
            line = beam.line_at(q)
            x, w = line[:, 0], line[:, "xyz".index(across[-1])]
            assert w == pytest.approx(d * (3 * x**2 - x**3) / 2, abs=3 * d**3)  # points move along by the square of the slope
            assert (line[0] == 0).all()
            assert line[-1] == pytest.approx(beam.pose("C", q)[1], abs=1e-15)

    def test_in_a_mode_with_both_ends_held(self) -> None:
        """``cosh kx - cos kx - s (sinh kx - sin kx)``, of which the largest deflection is compared with all others."""
        beam = unit_beam(modes=1)
        k = np.sqrt(CLAMPED_CLAMPED[0])
        s = (np.cosh(k) - np.cos(k)) / (np.sinh(k) - np.sin(k))
        for name, axis in (("mode_y1", 1), ("mode_z1", 2)):
            q = np.zeros(beam.nv)
            q[beam.coordinates.index(name)] = 1e-5
            line = beam.line_at(q)
            x, w = line[:, 0], line[:, axis]
            expected = np.cosh(k * x) - np.cos(k * x) - s * (np.sinh(k * x) - np.sin(k * x))
            # the frequency has eight digits, and the beam's shape ten polynomials more
            assert np.abs(w / np.abs(w).max() - np.sign(w[5]) * expected / np.abs(expected).max()).max() < 1e-6


class TestStrains:
    """Of sections: linear in the coordinates, from the polynomials of the shapes."""

    PLACES: ClassVar[Array] = np.array([0.0, 0.3, 0.77, 2.0])
    FIELDS: ClassVar[dict[str, Any]] = {"length": 2.0, "density": 3.0, "area": 0.01, "young": 1e6, "iy": 2e-6, "iz": 5e-6}

    @pytest.mark.parametrize("factors", [None, [0.8, 0.9]])
    @pytest.mark.parametrize("modes", [0, 3, 50])
    def test_loads_at_the_tip_bend_by_the_closed_form(self, modes: int, factors: Any) -> None:
        """A cantilever under a force and a moment at its tip; the same with a stack of coordinates."""
        beam = tt.Beam("beam", **self.FIELDS, modes=modes, shear_factors=factors, torsion_modes=2, axial_modes=1)
        force, moment = np.array([7.0, 0.2, 0.3]), np.array([0.1, 0.04, 0.05])
        q = np.linalg.solve(beam.matrices.stiffness, beam.shapes["C"].T @ np.concatenate([force, moment]))
        beyond = 2.0 - self.PLACES
        G = beam.shear_modulus
        expected = np.zeros((4, 6))
        expected[:, 0] = moment[0] / (G * beam.torsion_constant)
        expected[:, 1] = (moment[1] - force[2] * beyond) / (beam.young * beam.iy)
        expected[:, 2] = (moment[2] + force[1] * beyond) / (beam.young * beam.iz)
        expected[:, 3] = force[0] / (beam.young * beam.area)
        if factors is not None:
            expected[:, 4:] = force[1:] / (np.array(factors) * G * beam.area)
        found = beam.stressing_strain(q, self.PLACES)
        np.testing.assert_allclose(found, expected, atol=1e-8 * np.abs(expected).max())  # of matrices that span a factor 1e4
        stress = beam.axial_stress(np.array([q, -q]), self.PLACES, 0.02, -0.01)
        by_moments = force[0] / beam.area + expected[:, 1] * beam.young * -0.01 - expected[:, 2] * beam.young * 0.02
        np.testing.assert_allclose(stress, [by_moments, -by_moments], atol=1e-7 * np.abs(by_moments).max())

    def test_a_natural_mode_is_strained_most_at_the_clamp(self) -> None:
        """Curvature at the clamp over displacement of the tip: ``1.8751^2 / L^2`` of a uniform cantilever."""
        beam = unit_beam(modes=8, iz=2e-4)  # the plane x-z is the softer one
        shape = beam.natural_modes.shapes[:, 0]
        curvature = beam.stressing_strain(shape, [0.0])[0]
        deflection = beam.shapes["C"][2] @ shape
        assert abs(curvature[1] / deflection) == pytest.approx(CLAMPED_FREE[0], rel=1e-2)  # strains converge slowly
        finer = unit_beam(modes=24, iz=2e-4)
        shape = finer.natural_modes.shapes[:, 0]
        ratio = finer.stressing_strain(shape, [0.0])[0, 1] / (finer.shapes["C"][2] @ shape)
        assert abs(abs(ratio) / CLAMPED_FREE[0] - 1) < abs(abs(curvature[1] / deflection) / CLAMPED_FREE[0] - 1)

    def test_places_off_the_beam_are_refused(self) -> None:
        with pytest.raises(tt.ModelError) as refused:
            unit_beam().stressing_strain(np.zeros(unit_beam().nv), [1.2])
        assert (refused.value.code, refused.value.where) == ("off-the-rod", "beam.abscissas")


def test_a_model_tells_the_strains_of_its_beams_and_what_bodies_recover() -> None:
    """A beam under its weight, and a body with a recovery matrix; the strain at the clamp is that of the moment there."""
    beam = tt.Beam("boom", **TestStrains.FIELDS | {"young": 1e9}, modes=8)
    body = tt.FlexibleBody(
        "panel", 1.0, inertia=1.0, frequencies=[3.0, 5.0], participation=np.zeros((2, 6)), recovery={"root": [[2.0, 1.0]]}
    )
    s = tt.System("hanging", gravity=[0, 0, -10.0])
    s.connect("world", beam, tt.Weld("clamp"))
    s.connect(beam.port("C"), body, tt.Weld("bolt"))
    model = s.resolve()
    q = tt.trim(model).q
    moment = 3.0 * 0.01 * 10.0 * 2.0**2 / 2 + 1.0 * 10.0 * 2.0  # of its own weight, and of 1 kg at the tip
    curvature = model.section_strains("boom", [0.0], q)[0, 1]
    assert curvature == pytest.approx(moment / (1e9 * 2e-6), rel=5e-3)  # the beam is shortened, and strains converge slowly
    q[[name.startswith("panel") for name in model.coordinate_names]] = [0.1, 0.3]
    np.testing.assert_allclose(model.recover("panel", "root", q), [0.5], rtol=1e-15)
    np.testing.assert_allclose(model.recover("panel", "root", [q, 2 * q]), [[0.5], [1.0]], rtol=1e-15)
    for call, code in (
        (lambda: model.section_strains("panel", [0.0], q), "unknown-rod"),
        (lambda: model.recover("bolt", "root", q), "unknown-body"),
        (lambda: model.recover("panel", "tip", q), "unknown-recovery"),
        (lambda: model.section_stresses("boom", [0.0], q), "unknown-rod"),
    ):
        with pytest.raises(tt.ModelError) as refused:
            call()
        assert refused.value.code == code
