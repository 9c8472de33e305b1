"""Flexible bodies as data: natural modes, damping, parameters, units."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from matplotlib.text import Text

import titop as tt
from tests.blocks.bodies.flexible_panels import panel, static_and_dynamic
from tests.flexible import random_body, unit_beam


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


def clamped_poles(body: tt.FlexibleBody) -> list[complex]:
    """Return the poles of a body clamped at P, in the upper half plane, slowest first."""
    mass, stiffness, damping = body.matrices
    n = len(mass)
    A = np.block([[np.zeros((n, n)), np.eye(n)], [-np.linalg.solve(mass, np.hstack([stiffness, damping]))]])
    poles = np.linalg.eigvals(A)
    return sorted(poles[poles.imag > 0], key=lambda pole: pole.imag)


def poles_of(frequencies: Any, ratios: Any) -> list[complex]:
    """Return the poles of modes, slowest first."""
    pairs = sorted(zip(frequencies, ratios, strict=True))
    return [complex(-z * w, w * np.sqrt(1 - z**2)) for w, z in pairs]


def test_damping_ratios_belong_to_modes() -> None:
    """Each to the mode of its place where frequencies are given, in whatever order; beside matrices by ascending frequency."""
    frequencies, ratios = np.array([9.0, 3.0, 5.0]), np.array([0.01, 0.02, 0.03])
    fields: dict[str, Any] = {"mass": 1.0, "inertia": 1.0, "participation": np.zeros((3, 6)), "damping_ratios": ratios}
    panel = tt.FlexibleBody("panel", frequencies=frequencies, **fields)
    assert clamped_poles(panel) == pytest.approx(poles_of(frequencies, ratios), abs=1e-12)  # rounding of numbers up to 81
    assert not panel.check()[1]
    of_matrices = tt.FlexibleBody("panel", modal_stiffness=np.diag(frequencies**2), **fields)
    for body in (of_matrices, of_matrices.in_natural_modes()):
        assert clamped_poles(body) == pytest.approx(poles_of(np.sort(frequencies), ratios), abs=1e-12)


def test_damping_stays_with_its_mode_where_frequencies_cross() -> None:
    """Two modes of 1.0 and 1.1 rad/s with ratios of 0.03 and 0.002: the first keeps its own at 1.12 rad/s."""
    fields: dict[str, Any] = {"mass": 1.0, "inertia": 1.0, "participation": np.zeros((2, 6))}
    body = tt.FlexibleBody("panel", frequencies=[1.0, 1.1], damping_ratios=[0.03, 0.002], **fields)
    for frequency in (1.0, 1.12):
        changed = body.with_parameters({"mode1.frequency": frequency})
        assert isinstance(changed, tt.FlexibleBody)
        assert clamped_poles(changed) == pytest.approx(poles_of([frequency, 1.1], [0.03, 0.002]), abs=1e-14)
        assert not changed.check()[1]


#: Damping ratios of three modes, and of a fourth beside them, in the order of these frequencies.
UNSORTED, RATIOS = np.array([9.0, 3.0, 5.0, 3.0]), np.array([0.01, 0.02, 0.03, 0.04])


def unsorted(**fields: Any) -> tt.FlexibleBody:
    """Return a panel whose frequencies are in no order, and two of them equal."""
    shapes = {"C": np.arange(24.0).reshape(6, 4)}
    participation = np.linspace(-0.3, 0.3, 24).reshape(4, 6)
    rigid: dict[str, Any] = {"mass": 5.0, "inertia": 5.0, "ports": {"C": [1, 0, 0]}, "shapes": shapes}
    given: dict[str, Any] = {"frequencies": UNSORTED, "participation": participation, "damping_ratios": RATIOS}
    return tt.FlexibleBody("panel", **rigid, **given | fields)


def test_damping_stays_with_its_mode_where_modes_are_sorted() -> None:
    """The poles of natural modes, sorted or few, are those of the body; equal frequencies keep their order."""
    body = unsorted()
    modes = body.in_natural_modes()
    assert modes.frequencies is not None
    assert modes.frequencies.tolist() == [3.0, 3.0, 5.0, 9.0]
    assert modes.damping_ratios.tolist() == [0.02, 0.04, 0.03, 0.01]
    assert clamped_poles(modes) == pytest.approx(clamped_poles(body), abs=1e-12)
    np.testing.assert_allclose(body.natural_damping, modes.damping_ratios, rtol=1e-15)
    np.testing.assert_array_equal(modes.shapes["C"], body.shapes["C"][:, [1, 3, 2, 0]])
    np.testing.assert_array_equal(modes.participation, body.participation[[1, 3, 2, 0]])
    assert body.truncate(5.0).damping_ratios.tolist() == [0.02, 0.04, 0.03]


def test_modes_of_equal_frequency_need_one_ratio_beside_matrices() -> None:
    """No order tells them apart: any rotation of the pair is as good. Given by frequencies, they are told apart."""
    fields: dict[str, Any] = {"mass": 1.0, "inertia": 1.0, "participation": np.zeros((3, 6))}
    for squares, ratios, expected in (
        ([4.0, 4.0, 9.0], [0.01, 0.02, 0.03], ["ambiguous-damping"]),
        ([4.0, 4.0, 9.0], [0.02, 0.02, 0.03], []),
        ([4.0, 4.1, 9.0], [0.01, 0.02, 0.03], []),
    ):
        body = tt.FlexibleBody("panel", modal_stiffness=np.diag(squares), damping_ratios=ratios, **fields)
        assert [finding.code for finding in body.check()[1]] == expected
    assert not tt.FlexibleBody("panel", frequencies=[2.0, 2.0, 3.0], damping_ratios=[0.01, 0.02, 0.03], **fields).check()[1]


def test_natural_damping_has_modal_damping_too() -> None:
    """Of a diagonal beside ratios, ``zeta + d / (2 w)``; and of a matrix in other coordinates, by its poles."""
    added = np.array([0.1, 0.2, 0.3, 0.4])
    body = unsorted(modal_damping=np.diag(added))
    order = [1, 3, 2, 0]
    np.testing.assert_allclose(body.natural_damping, (RATIOS + added / (2 * UNSORTED))[order], rtol=1e-14)
    beam = unit_beam(damping_ratio=0.02)
    np.testing.assert_allclose(beam.natural_damping, 0.02, rtol=1e-8)  # eigenvalues that span a factor 100


class TestTruncation:
    def test_modes_below_the_frequency_are_left_as_they_are(self) -> None:
        body = unit_beam(damping_ratio=0.02, modes=4)
        whole, small = body.in_natural_modes(), body.truncate(100.0)
        n = small.nv
        assert small.frequencies is not None
        assert n == (body.natural_frequencies < 100.0).sum() < body.nv
        np.testing.assert_allclose(small.frequencies, body.natural_frequencies[:n], rtol=1e-14)
        np.testing.assert_allclose(small.matrices.damping, whole.matrices.damping[:n, :n], rtol=1e-12)
        np.testing.assert_allclose(small.participation, whole.participation[:n], atol=1e-14)
        assert small.second_order is not None
        assert small.second_order.shortening.shape[-1] == n

    def test_what_is_lost(self) -> None:
        """Effective mass and static compliance of the rest, from the body's matrices before."""
        body = unit_beam(modes=4)
        small = body.truncate(100.0)
        lost = small.lost
        assert lost is not None
        fractions = body.effective_mass.fraction.sum(axis=0) - small.effective_mass.fraction.sum(axis=0)
        np.testing.assert_allclose(lost.effective_mass, fractions, atol=1e-12)
        before, after = (
            np.diag(each.shapes["C"] @ np.linalg.solve(each.matrices.stiffness, each.shapes["C"].T)) for each in (body, small)
        )
        np.testing.assert_allclose(lost.compliance["C"], 1 - after / before, atol=1e-9)  # stiffnesses that span a factor 1e4
        assert lost.compliance["C"][0] == pytest.approx(1.0)  # no mode of stretch is left
        np.testing.assert_array_equal(lost.frequencies, body.natural_frequencies[small.nv :])
        assert "static compliance at C: x 100 %" in str(lost)
        assert "modes removed, from" in str(lost)
        assert body.lost is None

    def test_a_hinge_in_the_body_stays(self) -> None:
        """A mode of no stiffness is below every frequency, and has no static compliance to lose."""
        fields: dict[str, Any] = {"mass": 5.0, "inertia": 5.0, "participation": np.zeros((3, 6))}
        shapes = {"C": np.vstack([np.eye(3), np.zeros((3, 3))])}
        body = tt.FlexibleBody(
            "panel", modal_stiffness=np.diag([0.0, 4.0, 100.0]), ports={"C": [1, 0, 0]}, shapes=shapes, **fields
        )
        lost = body.truncate(3.0).lost
        assert lost is not None
        np.testing.assert_array_equal(lost.compliance["C"], [0, 0, 1, 0, 0, 0])

    def test_nothing_lost(self) -> None:
        small = unsorted().truncate(9.0)
        assert small.nv == 4
        assert str(small.lost) == "no modes removed"

    def test_what_is_refused(self) -> None:
        for frequency, code in ((1.0, "no-modes"), ("all", "wrong-type"), (np.nan, "not-finite")):
            with pytest.raises(tt.ModelError) as refused:
                unsorted().truncate(frequency)  # type: ignore[arg-type]
            assert (refused.value.code, refused.value.where) == (code, "panel.frequency")

    @pytest.mark.parametrize("method", ["in_natural_modes", "truncate"])
    def test_a_beam_in_water_keeps_its_water_or_says_so(self, method: str) -> None:
        beam = tt.Beam("boom", 1.0, 2700.0, 1e-3, 7e10, 1e-8, 1e-8, fluid=tt.Fluid(1000.0), added_mass=1.0)
        with pytest.raises(tt.ModelError, match="fluid") as refused:
            beam.in_natural_modes() if method == "in_natural_modes" else beam.truncate(1e6)
        assert refused.value.code == "not-modal"


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
    table = tt.signal_table(tt.linearize(model, tt.trim(model), ["boom.C_x", "boom.mode_y1"], ["boom.C_rx.tau"]))
    expected = {"boom_C_x_q": "m", "boom_C_rx_v": "rad/s", "boom_mode_y1_v": "m sqrt(kg)/s"}
    expected |= {"boom_C_x": "N", "boom_mode_y1": "J/(m sqrt(kg))", "boom_C_rx_tau": "N m"}
    assert {name: table[name].unit for name in expected} == expected
    resting = tt.simulate(model, [0.0, 1e-4], model.neutral(), np.zeros(model.nv))
    shown = [text.get_text() for text in resting.plot(["boom.C_x", "boom.mode_y1"]).findobj(Text)]
    assert any("[m]" in text for text in shown)
    assert any("[m sqrt(kg)]" in text for text in shown)
