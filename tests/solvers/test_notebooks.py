"""What objects show in notebooks: XML with their names, escaped, and never all of what is large."""

from __future__ import annotations

from functools import cache
from typing import Any
from xml.etree.ElementTree import Element, fromstring

import control
import numpy as np
import pytest

import titop as tt
from titop.solvers.linear.state_space import named_system
from titop.solvers.signals.exported import Signal

NAME = "<b>&arm"


def read(shown: Any) -> Element:
    """Return what an object shows, refused if it is no XML, or large."""
    text = shown._repr_html_()
    assert len(text) < 100_000
    return fromstring(text)


def words(shown: Any) -> str:
    return " ".join(read(shown).itertext())


@cache
def model() -> tt.Model:
    s = tt.System(NAME, gravity=[0, 0, -9.81])
    body = tt.RigidBody("bob", 2.0, [0, 0, -1.0], 0.1, ports={"tip": [0, 0, -2.0]})
    s.connect("world", body, tt.Revolute("hinge", axis=[0, 1, 0], damping=0.5))
    s.add_actuator(tt.Motor("motor", "hinge"))
    s.add_sensor(tt.Encoder("encoder", "hinge"))
    return s.resolve()


@cache
def trajectory() -> tt.Trajectory:
    return tt.simulate(model(), np.linspace(0, 1, 2001), [0.5], [0.0], progress=False)


def linear(n: int) -> control.StateSpace:
    """Return n stable states with hostile names, as titop's own kind of system."""
    states = [Signal(f"<x>.{k}", "rad") for k in range(n)]
    matrices = -np.diag(np.arange(1.0, n + 1)), np.ones((n, 1)), np.ones((1, n)), np.zeros((1, 1))
    return named_system(matrices, states, [Signal("<u>", "N m")], [Signal("<y>", "rad")], NAME)


def test_models() -> None:
    text = words(model())
    for word in (NAME, "bob", "hinge", "Revolute", "motor", "N m", "encoder", "rad"):
        assert word in text
    assert NAME not in model()._repr_html_()


def test_motions() -> None:
    shown = read(trajectory())
    row = [cell.text for cell in shown.iter("td")][:6]
    angle = trajectory().q[:, 0]
    assert row[:2] == ["hinge", "rad"]
    assert np.allclose([float(cell or "") for cell in row[2:]], [0.5, angle[-1], angle.min(), angle.max()], rtol=1e-5)
    assert len(list(shown.iter("polyline"))) == 1
    ensemble = tt.simulate(model(), np.linspace(0, 0.1, 3), np.array([[0.1], [0.2], [0.4]]), np.zeros((3, 1)), progress=False)
    assert "3 members" in words(ensemble)
    assert "hinge" in words(ensemble)


def test_points_and_modes() -> None:
    point = tt.trim(model())
    assert "hinge 0 rad" in words(point)
    assert "hinge" in words(tt.modes(model(), point))


def test_linear_systems() -> None:
    text = words(tt.linearize(model(), tt.trim(model()), inputs=["motor"], outputs=["hinge.q"]))
    for word in ("2 states, 1 input, 1 output", "hinge.q rad", "motor N m"):
        assert word in text
    large = read(linear(400))
    assert "<x>.0 rad" in " ".join(large.itertext())
    assert "and 361 more" in " ".join(large.itertext())  # rows of the matrices: one for the output besides
    assert len(linear(400)._repr_html_()) < 2 * len(linear(40)._repr_html_())


def test_families() -> None:
    values = np.linspace(0.0, 1.0, 1000)
    family = tt.LPVModel.of({"<rho>": values}, [linear(2)] * 1000, NAME, {"<rho>": "kg"})
    assert "<rho> kg 1000 0 1" in words(family)
    M = control.ss([[-1]], [[0.2, 1]], [[1], [1]], [[0, 0], [0, 0]], inputs=["w", "u"], outputs=["z", "y"])
    lft = tt.LFTModel(M, (tt.DeltaBlock.real("<mass>", lower=1.0, upper=3.0, unit="kg"),), ())
    text = words(lft)
    assert "<mass> real 1 1 2 3 kg" in text
    assert "outputs y" in text


def test_proofs_and_tuned_controllers() -> None:
    M = control.ss([[-1]], [[0.2, 1]], [[1], [1]], [[0, 0], [0, 0]], inputs=["w", "u"], outputs=["z", "y"])
    family = tt.LFTModel(M, (tt.DeltaBlock.real("<a>"),), ())
    tuned = tt.tune(family, tt.Tunable.gain("k", "y", "u", start=1.0, lower=0, upper=9), [tt.Goal.poles(decay=2.0)], starts=1)
    text = words(tuned)
    for word in ("k.k", "soft", str(tuned.goals[0].goal), "<a>", "proofs"):
        assert word in text
    assert "upper" in words(tuned.proof[0])
    proof = tt.robust_stability(family, progress=False)
    assert str(proof) in words(proof)
    margins = tt.margins(control.tf([2], [1, 1, 0], inputs=["motor"], outputs=["angle"]))
    assert "motor 0 inf 38.6683 0.666667 0.540" in words(margins)
    assert str(margins) == "motor: gain 0 to inf, phase 38.67 deg, disk 0.6667, delay 0.5401 s"


def test_programs() -> None:
    program = model().program("forward_dynamics", "mass_matrix")
    assert f"forward_dynamics {program.functions['forward_dynamics'].operations} q, v, tau" in words(program)


def test_figures_show_without_pyplot() -> None:
    family = tt.lft(model(), model().neutral(), {"bob.mass": tt.percent(10)}, inputs=["motor"], outputs=["hinge.q"])
    for figure in (trajectory().plot(), tt.plot_shape(model()), tt.plot_response(family), tt.modes(model()).plot()):
        assert figure._repr_png_().startswith(b"\x89PNG")


KINDS = (
    "EquilibriumPath LPVSynthesis LyapunovStability MuBounds PointingBudget ReducedController RobustGain Samples Synthesis "
    "WorstCaseGain"
)


@pytest.mark.parametrize("kind", KINDS.split())
def test_other_results_show_their_attributes(kind: str) -> None:
    assert getattr(tt, kind)._repr_html_ is tt.RobustStability._repr_html_
