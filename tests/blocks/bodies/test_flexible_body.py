"""Flexible bodies: their law against derivatives, the identities of linear TITOP blocks, parameters and findings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from matplotlib.text import Text
from numpy.typing import NDArray

import titop as tt
from tests.flexible import random_body, unit_beam
from titop.blocks.basics.spatial import right_jacobian, rotation_exp, twist_transport

Array = NDArray[np.float64]

#: Rounding of sums of tens of terms of order one.
ROUNDING = 1e-13


def panel(**fields: Any) -> tt.FlexibleBody:
    """Return a cantilever's first two bending modes in one plane, with fields replaced."""
    given: dict[str, Any] = {
        "mass": 1.0,
        "com": [0.5, 0, 0],
        "inertia": [0.001, 1 / 12, 1 / 12],
        "frequencies": [3.516, 22.03],
        "participation": [[0, 0.783, 0, 0, 0, 0.5688], [0, 0.434, 0, 0, 0, 0.0908]],
        "ports": {"C": [1, 0, 0]},
        "shapes": {"C": [[0, 0], [2, -2], [0, 0], [0, 0], [0, 0], [2.75, -9.56]]},
        "damping_ratios": 0.005,
    }
    return tt.FlexibleBody("panel", **(given | fields))


def codes(body: tt.Block) -> list[tuple[str, str]]:
    """Return code and place of every error."""
    return [(finding.code, finding.where) for finding in body.check()[0]]


class TestLaw:
    """The closed forms equal what `Block` derives from pose, mass matrix and energy by complex steps."""

    @pytest.mark.parametrize("turn", [0.1, 1.0, 4.0])  # series and closed form of the rotation, about 0.1, 1 and 4 rad
    @pytest.mark.parametrize("seed", range(3))
    def test_closed_forms_are_the_derivatives(self, seed: int, turn: float) -> None:
        rng = np.random.default_rng(seed)
        body = random_body(rng)
        q, v, twist = turn * rng.normal(size=3), rng.normal(size=3), rng.normal(size=6)
        generic = tt.Block
        for port in body.ports:
            np.testing.assert_allclose(body.motion_subspace(port, q), generic.motion_subspace(body, port, q), atol=ROUNDING)
            rate = body.subspace_rate(port, q, v)
            np.testing.assert_allclose(rate, generic.subspace_rate(body, port, q, v), atol=10 * ROUNDING)
        h = body.gyroscopic(q, v, twist)
        np.testing.assert_allclose(h, generic.gyroscopic(body, q, v, twist), atol=ROUNDING * max(1, turn) * 10)
        passive = body.passive_efforts(q, v)
        np.testing.assert_allclose(passive, generic.passive_efforts(body, q, v), rtol=1e-12, atol=1e-11)

    def test_another_gyroscopic_term_is_noticed(self) -> None:
        rng = np.random.default_rng(0)
        body = random_body(rng)
        q, v, twist = rng.normal(size=3), rng.normal(size=3), rng.normal(size=6)
        constant = body.gyroscopic(0 * q, v, twist)  # as if the first moment did not follow the deformation
        assert np.abs(constant - tt.Block.gyroscopic(body, q, v, twist)).max() > 1e-2

    def test_linear_momentum_is_that_of_the_moving_centre_of_mass(self) -> None:
        rng = np.random.default_rng(1)
        body = random_body(rng)
        q, v, twist = rng.normal(size=3), rng.normal(size=3), rng.normal(size=6)
        moment = body.mass * body.com + body.participation[:, :3].T @ q
        expected = body.mass * twist[:3] + np.cross(twist[3:], moment) + body.participation[:, :3].T @ v
        found = (body.mass_matrix(q) @ np.concatenate([twist, v]))[:3]
        np.testing.assert_allclose(found, expected, atol=ROUNDING)

    def test_inertia_stays_positive_definite(self) -> None:
        """A tip deflection of a fifth of the length, and modes that leave little residual mass."""
        beam = unit_beam(modes=8)
        q = np.zeros(beam.nv)
        q[1] = 0.2
        lowest = np.linalg.eigvalsh(beam.mass_matrix(q))[0]
        assert lowest > 0.5 * np.linalg.eigvalsh(beam.mass_matrix(0 * q))[0] > 0
        # with the first moment alone following the deformation it is indefinite, already at a fiftieth of that
        matrix = beam.mass_matrix(0 * q)
        coupling = beam.mass_matrix(0.02 * q)[:3, 3:6] - matrix[:3, 3:6]
        matrix[:3, 3:6] += coupling
        matrix[3:6, :3] += coupling.T
        assert np.linalg.eigvalsh(matrix)[0] < 0

    def test_ports_move_and_turn_with_the_modes(self) -> None:
        body = random_body(np.random.default_rng(2))
        q = np.array([0.1, -0.2, 0.3])
        for port in body.ports:
            rotation, position = body.pose(port, q)
            moved = body.shapes[port] @ q
            np.testing.assert_allclose(position, body.port_poses[port].position + moved[:3], atol=ROUNDING)
            np.testing.assert_allclose(rotation, rotation_exp(moved[3:]) @ body.port_poses[port].rotation, atol=ROUNDING)

    def test_right_jacobian_by_complex_step(self) -> None:
        phi, d = np.array([0.5, -1.0, 0.7]), np.array([0.3, 0.2, -0.5])
        change = np.imag(rotation_exp(phi + 1e-30j * d)) / 1e-30
        spin = rotation_exp(phi).T @ change
        np.testing.assert_allclose(right_jacobian(phi) @ d, [spin[2, 1], spin[0, 2], spin[1, 0]], atol=1e-15)


def static_and_dynamic(body: tt.FlexibleBody, a_p: Array, w_c: Array) -> dict[str, tuple[Array, Array]]:
    """Return acceleration at C and reaction at P in the model, without deformation and in static equilibrium.

    The base moves as prescribed; loads and motion are so small that their products, which a linear model does not know, are
    below rounding.
    """
    tiny = 1e-14
    s = tt.System("one", gravity=[0, 0, 0])
    s.connect("world", body, tt.Free("base"))
    model = s.resolve()
    wrenches, prescribed = {f"{body.name}.C": tiny * w_c}, np.concatenate([tiny * a_p, np.zeros(body.nv)])
    static = np.linalg.solve(body.matrices.stiffness, body.shapes["C"].T @ w_c - body.participation @ a_p)
    result = {}
    for name, eta in (("high", np.zeros(body.nv)), ("static", static)):
        q = np.concatenate([model.neutral()[:7], tiny * eta])
        v, tau = np.zeros(model.nv), np.zeros(model.nv)
        a, _ = model.hybrid_dynamics(q, v, tau, prescribed, ["base"], wrenches)
        at_c = model.motion(f"{body.name}.C", q, v, a)[:6]
        result[name] = at_c / tiny, model.reaction("base", q, v, a, wrenches) / tiny
    return result


class TestIdentitiesOfTitopBlocks:
    """A body clamped at P and loaded at C; wrenches as in key A, `W_C` applied to the body, `W_P` by the body."""

    body = unit_beam(modes=3, axial_modes=2)
    tau = twist_transport(*body.pose("C", np.zeros(body.nv)))

    def state_space(self, body: tt.FlexibleBody) -> tuple[Array, Array, Array, Array]:
        """Return the linear model from [W_C; a_P] to [a_C; W_P]."""
        M, K, D = body.matrices
        phi, L, n = body.shapes["C"], body.participation, body.nv
        inverse = np.linalg.inv(M)
        inputs = np.hstack([phi.T, -L])
        outputs = inputs.T @ inverse  # a_C = tau a_P + phi eta'', W_P = -D_P a_P + tau^T W_C - L^T eta''
        A = np.block([[np.zeros((n, n)), np.eye(n)], [-inverse @ K, -inverse @ D]])
        B = np.vstack([np.zeros((n, 12)), inverse @ inputs])
        C = -np.hstack([outputs @ K, outputs @ D])
        through = np.block([[np.zeros((6, 6)), self.tau], [self.tau.T, -body.rigid_inertia]])
        return A, B, C, through + outputs @ inputs

    def test_static_response_is_that_of_the_rigid_body(self) -> None:
        rng = np.random.default_rng(0)
        a_p, w_c = rng.normal(size=(2, 6))
        a_c, w_p = static_and_dynamic(self.body, a_p, w_c)["static"]
        np.testing.assert_allclose(a_c, self.tau @ a_p, atol=1e-12)
        # statically nothing deforms further: the reaction is what a rigid body takes
        np.testing.assert_allclose(-w_p, -self.body.rigid_inertia @ a_p + self.tau.T @ w_c, atol=1e-12)
        A, B, C, D = self.state_space(self.body)
        gain = D - C @ np.linalg.solve(A, B)
        # the steady state of a system whose stiffnesses span a factor 1e6
        np.testing.assert_allclose(gain[:6], np.hstack([np.zeros((6, 6)), self.tau]), atol=1e-9)

    def test_response_at_high_frequency_is_that_of_the_residual_mass(self) -> None:
        rng = np.random.default_rng(1)
        a_p, w_c = rng.normal(size=(2, 6))
        a_c, w_p = static_and_dynamic(self.body, a_p, w_c)["high"]
        D = self.state_space(self.body)[3]
        # accelerations of the massless tip are a hundred times as large as the load
        np.testing.assert_allclose(np.concatenate([a_c, -w_p]), D @ np.concatenate([w_c, a_p]), rtol=1e-11, atol=1e-11)
        np.testing.assert_allclose(D[6:, 6:], -self.body.residual_mass, atol=1e-14)

    def test_reciprocity(self) -> None:
        D = self.state_space(self.body)[3]
        np.testing.assert_allclose(D, D.T, atol=1e-12 * np.abs(D).max())

    def test_inverting_a_channel_twice_changes_nothing(self) -> None:
        original = self.state_space(self.body)
        for channel in (slice(0, 6), slice(6, 12)):
            twice = inverted(inverted(original, channel), channel)
            for found, expected in zip(twice, original, strict=True):
                # two inversions of a 6x6 matrix of condition 1e4
                np.testing.assert_allclose(found, expected, atol=1e-11 * np.abs(expected).max())

    def test_residual_mass_of_more_and_more_clamped_modes(self) -> None:
        """The translational entries of the facts: clamped-free modes alone, of the unit beam."""
        rich = unit_beam(modes=40)
        for count, expected in ((3, 0.13389), (4, 0.10080), (6, 0.06739), (10, 0.04049), (20, 0.02026)):
            residual = truncated(rich, count).residual_mass
            assert residual[1, 1] == pytest.approx(expected, abs=6e-6)  # five printed digits, of a 60-element beam
            assert np.linalg.eigvalsh(residual)[0] > -1e-12

    def test_effective_mass_of_the_cantilever(self) -> None:
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


def inverted(system: tuple[Array, Array, Array, Array], channel: slice) -> tuple[Array, Array, Array, Array]:
    """Return a linear system with some inputs and the outputs of the same numbers exchanged."""
    A, B, C, D = (matrix.copy() for matrix in system)
    inverse = np.linalg.inv(D[channel, channel])
    B2, C2, D12, D21 = B[:, channel], C[channel], D[:, channel], D[channel]
    other = np.ones(12, dtype=bool)
    other[channel] = False
    new_A, new_B, new_C, new_D = A - B2 @ inverse @ C2, B - B2 @ inverse @ D21, C - D12 @ inverse @ C2, D - D12 @ inverse @ D21
    new_B[:, channel], new_C[channel] = B2 @ inverse, -inverse @ C2
    new_D[other, channel], new_D[channel, other] = D[other, channel] @ inverse, -inverse @ D[channel, other]
    new_D[channel, channel] = inverse
    return new_A, new_B, new_C, new_D


class TestForms:
    def test_natural_modes_are_the_same_body(self) -> None:
        body = random_body(np.random.default_rng(3))
        modes = body.in_natural_modes()
        np.testing.assert_allclose(modes.natural_frequencies, body.natural_frequencies, rtol=1e-12)
        np.testing.assert_allclose(modes.residual_mass, body.residual_mass, atol=1e-12)
        np.testing.assert_allclose(modes.effective_mass.mass, body.effective_mass.mass, atol=1e-12)
        a, b = (static_and_dynamic(x, np.arange(6.0), np.ones(6))["high"] for x in (with_port(body), with_port(modes)))
        np.testing.assert_allclose(np.concatenate(a), np.concatenate(b), atol=1e-11)

    def test_damping_ratios_are_those_of_the_natural_modes(self) -> None:
        beam = unit_beam(damping_ratio=0.02)
        M, K, D = beam.matrices
        n = beam.nv
        poles = np.linalg.eigvals(np.block([[np.zeros((n, n)), np.eye(n)], [-np.linalg.solve(M, K), -np.linalg.solve(M, D)]]))
        np.testing.assert_allclose(-poles.real / np.abs(poles), 0.02, rtol=1e-8)  # eigenvalues that span a factor 100

    def test_one_mode_may_be_given_by_six_numbers(self) -> None:
        body = panel(
            frequencies=3.5, participation=[0, 0.78, 0, 0, 0, 0.56], shapes={"C": [0, 2, 0, 0, 0, 2.75]}, damping_ratios=[0.1]
        )
        assert body.check() == ([], [])
        assert (body.nv, body.coordinates, body.shapes["C"].shape) == (1, ("mode1",), (6, 1))

    def test_random_configurations_are_small_deformations(self) -> None:
        body = unit_beam()
        rng = np.random.default_rng(0)
        assert max(np.abs(body.shapes["C"] @ body.random_configuration(rng)).max() for _ in range(100)) < 0.2


def with_port(body: tt.FlexibleBody) -> tt.FlexibleBody:
    """Return a body with its first port called C."""
    first = body.ports[0]
    copied: Any = body.snapshot()
    copied.port_poses, copied.shapes = {"C": body.port_poses[first]}, {"C": body.shapes[first]}
    return copied


class TestParameters:
    def test_names_and_units(self) -> None:
        parameters = panel().parameters()
        assert parameters["mass"] == (1.0, "kg")
        assert parameters["com.x"] == (0.5, "m")
        assert parameters["inertia.zz"] == (1 / 12, "kg m^2")
        assert parameters["mode2.frequency"] == (22.03, "rad/s")
        assert parameters["mode1.damping"] == (0.005, "1")
        assert parameters["C.position.x"] == (1.0, "m")

    @pytest.mark.parametrize("port", ["C", "mass", "com", "inertia", "mode1"])
    def test_round_trip_whatever_a_port_is_called(self, port: str) -> None:
        body = panel(ports={port: [1, 0, 0]}, shapes={port: np.zeros((6, 2))})
        before = body.parameters()
        for name, (value, unit) in before.items():
            assert body.with_parameters({name: value + 0.5}).parameters() == before | {name: (value + 0.5, unit)}
        assert body.parameters() == before

    def test_a_changed_frequency_changes_the_stiffness_only(self) -> None:
        body, changed = panel(), panel().with_parameters({"mode1.frequency": 5.0})
        assert isinstance(changed, tt.FlexibleBody)
        assert changed.matrices.stiffness[0, 0] == 25.0
        assert changed.matrices.damping[0, 0] == pytest.approx(0.05)
        assert (changed.matrices.mass == body.matrices.mass).all()
        assert body.matrices.stiffness[0, 0] == pytest.approx(3.516**2)


class TestFindings:
    def test_a_sound_body_has_none(self) -> None:
        assert panel().check() == ([], [])

    @pytest.mark.parametrize(
        ("code", "where", "fields"),
        [
            ("negative-mass", "mass", {"mass": -1.0}),
            ("wrong-shape", "com", {"com": [0, 0]}),
            ("wrong-type", "inertia", {"inertia": "heavy"}),
            ("negative-inertia", "inertia", {"inertia": [1, 1, -1]}),
            ("frequencies-or-stiffness", "frequencies", {"frequencies": None}),
            ("frequencies-or-stiffness", "frequencies", {"modal_stiffness": [1.0, 2.0]}),
            ("bad-frequency", "frequencies", {"frequencies": [0.0, 3.0]}),
            ("bad-frequency", "frequencies", {"frequencies": [-1.0, 3.0]}),
            ("not-finite", "frequencies", {"frequencies": [np.nan, 3.0]}),
            ("missing-participation", "participation", {"participation": None}),
            ("wrong-shape", "participation", {"participation": [[0] * 6] * 3}),
            ("wrong-shape", "shapes.C", {"shapes": {"C": [[0] * 3] * 6}}),
            ("missing-shape", "shapes.C", {"shapes": {}}),
            ("wrong-type", "shapes", {"shapes": [1, 2], "ports": {}}),
            ("unknown-port", "shapes.D", {"shapes": {"C": np.zeros((6, 2)), "D": np.zeros((6, 2))}}),
            ("wrong-type", "ports", {"ports": [1, 0, 0], "shapes": {}}),
            ("bad-name", "P", {"ports": {"P": [0, 0, 0]}, "shapes": {"P": np.zeros((6, 2))}}),
            ("bad-name", "a.b", {"ports": {"a.b": [0, 0, 0]}, "shapes": {"a.b": np.zeros((6, 2))}}),
            ("wrong-shape", "damping_ratios", {"damping_ratios": [0.1, 0.1, 0.1]}),
            ("bad-name", "coordinate_names", {"coordinate_names": ["a", "a"]}),
            ("bad-modal-mass", "modal_mass", {"frequencies": None, "modal_stiffness": [1, 2], "modal_mass": [1, -2]}),
            ("not-symmetric", "modal_mass", {"frequencies": None, "modal_stiffness": [1, 2], "modal_mass": [[2, 1], [0, 2]]}),
            ("indefinite-stiffness", "modal_stiffness", {"frequencies": None, "modal_stiffness": [[1, 2], [2, 1]]}),
            ("too-much-participation", "participation", {"mass": 0.6, "inertia": [0.001, 0.05, 0.05]}),
            ("out-of-range", "participation", {"participation": np.full((2, 6), 1.7e308)}),
            ("out-of-range", "participation", {"participation": np.full((2, 6), 1e160)}),
        ],
    )
    def test_errors(self, code: str, where: str, fields: dict[str, Any]) -> None:
        assert codes(panel(**fields)) == [(code, f"panel.{where}")]

    def test_too_much_participation_says_how_much_and_where(self) -> None:
        body = panel(participation=[[0, 1.1, 0, 0, 0, 0.55], [0, 0, 0, 0, 0, 0]])
        (finding,) = body.check()[0]
        assert "along y, rz" in finding.value

    def test_negative_damping_is_suspicious_only(self) -> None:
        for fields in ({"damping_ratios": [0.1, -0.1]}, {"modal_damping": [1.0, -1.0]}):
            errors, warnings = panel(**fields).check()
            assert errors == []
            assert [finding.code for finding in warnings] == ["negative-damping"]

    def test_all_findings_come_with_the_system_s(self) -> None:
        s = tt.System("broken")
        s.connect("world", panel(mass="heavy", frequencies=[-1, 2], shapes={}), tt.Weld("foot"))
        with pytest.raises(tt.ModelError) as raised:
            s.resolve()
        assert {finding.code for finding in raised.value.findings} == {"wrong-type", "bad-frequency", "missing-shape"}


def test_damping_ratios_belong_to_ascending_frequencies() -> None:
    """Whatever the order of the modes, and given as frequencies or as matrices: the poles of the clamped body."""
    frequencies, ratios = np.array([9.0, 3.0, 5.0]), np.array([0.01, 0.02, 0.03])
    fields: dict[str, Any] = {"mass": 1.0, "inertia": 1.0, "participation": np.zeros((3, 6)), "damping_ratios": ratios}
    squares = np.diag(frequencies**2)
    expected = [complex(-z * w, w * np.sqrt(1 - z**2)) for w, z in zip(np.sort(frequencies), ratios, strict=True)]
    for body in (
        tt.FlexibleBody("panel", frequencies=frequencies, **fields),
        tt.FlexibleBody("panel", frequencies=frequencies, **fields).in_natural_modes(),
        tt.FlexibleBody("panel", modal_stiffness=squares, **fields),
    ):
        mass, stiffness, damping = body.matrices
        A = np.block([[np.zeros((3, 3)), np.eye(3)], [-np.linalg.solve(mass, np.hstack([stiffness, damping]))]])
        poles = np.linalg.eigvals(A)
        found = sorted(poles[poles.imag > 0], key=lambda pole: pole.imag)
        assert found == pytest.approx(expected, abs=1e-12)
    warned = tt.FlexibleBody("panel", frequencies=frequencies, **fields).check()[1]
    assert "unsorted-frequencies" in [finding.code for finding in warned]
    for sound in ({"frequencies": np.sort(frequencies)}, {"frequencies": frequencies, "damping_ratios": 0.01}):
        found = tt.FlexibleBody("panel", **{**fields, **sound}).check()[1]
        assert "unsorted-frequencies" not in [finding.code for finding in found]


def test_own_coordinates_have_units() -> None:
    beam = tt.Beam("boom", 1.0, density=2700.0, area=1e-3, young=7e10, iy=1e-8, iz=1e-8, modes=1)
    assert beam.units == ("m",) * 3 + ("rad",) * 3 + ("m sqrt(kg)",) * (beam.nv - 6)
    panel = tt.FlexibleBody("panel", 1.0, inertia=1.0, frequencies=[3.0], participation=np.zeros((1, 6)))
    assert panel.units == ("m sqrt(kg)",)
    other = tt.FlexibleBody(
        "panel", 1.0, inertia=1.0, modal_mass=[[4.0]], modal_stiffness=[[36.0]], participation=np.zeros((1, 6))
    )
    assert other.units == ("1",)
    s = tt.System("boom")
    s.connect("world", beam, tt.Weld("clamp"))
    model = s.resolve()
    table = tt.signal_table(tt.linearize(model, tt.trim(model), ["boom.C_x", "boom.mode1"], ["boom.C_rx.tau"]))
    expected = {"boom_C_x_q": "m", "boom_C_rx_v": "rad/s", "boom_mode1_v": "m sqrt(kg)/s"}
    expected |= {"boom_C_x": "N", "boom_mode1": "J/(m sqrt(kg))", "boom_C_rx_tau": "N m"}
    assert {name: table[name].unit for name in expected} == expected
    resting = tt.simulate(model, [0.0, 1e-4], model.neutral(), np.zeros(model.nv))
    shown = [text.get_text() for text in resting.plot(["boom.C_x", "boom.mode1"]).findobj(Text)]
    assert any("[m]" in text for text in shown)
    assert any("[m sqrt(kg)]" in text for text in shown)
