"""Limits and stops of own coordinates of bodies, by name, in both engines."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import titop as tt
from examples.compiled_block import Telescope
from tests.flexible import UNIT
from tests.refusals import ENGINES, assert_says, refused
from titop.blocks.basics.spatial import Array

#: Parameters of `bumped`'s limits.
STOPS = [f"{name}.limits.{entry}" for name in ("buffer", "wall") for entry in ("upper", "stiffness", "dissipation")]


def bumped(stiffness: float = 400.0) -> tt.System:
    """Return a telescope that carries a beam, both of which run into stops."""
    s = tt.System("bumped", gravity=[0, 0, -9.81])
    boom, beam = Telescope("boom", damping=0.1), tt.Beam("beam", **UNIT)
    s.connect("world", boom, tt.Revolute("root", axis=[0, 1, 0]))
    s.connect(boom.port("C"), beam, tt.Weld("clamp"))
    s.add_limits(tt.CoordinateLimits("buffer", "boom.extension", tt.Limits(-0.1, 0.2, stiffness=stiffness, dissipation=0.3)))
    s.add_limits(tt.CoordinateLimits("wall", "beam.C_y", tt.Limits(upper=0.05, stiffness=stiffness, dissipation=0.2)))
    return s


def pressed(m: tt.Model) -> tuple[Array, Array, Array]:
    """Return a state in which both stops are pressed, and efforts."""
    q, v = 0.01 * np.arange(m.nv), np.linspace(-0.5, 0.5, m.nv)
    q[m.coordinate_names.index("boom.extension")], q[m.coordinate_names.index("beam.C_y")] = 0.3, 0.2
    return q, v, np.linspace(-1, 1, m.nv)


@pytest.mark.long
def test_engines_agree_in_the_stops() -> None:
    m, reference = (bumped().resolve(engine) for engine in ENGINES)
    at = pressed(m)
    for function in ("forward_dynamics", "inverse_dynamics"):
        for name in (function, f"{function}_derivatives"):
            found, plain = (np.array(getattr(x, name)(*at)) for x in (m, reference))
            # other formulas, and sums in another order, of terms of the size of the largest entry
            np.testing.assert_allclose(found, plain, rtol=0, atol=1e-10 * np.abs(plain).max())
    np.testing.assert_allclose(m.energy(*at[:2]), reference.energy(*at[:2]), rtol=1e-12)
    np.testing.assert_allclose(m.passive_efforts(*at[:2]), reference.passive_efforts(*at[:2]), rtol=1e-12, atol=1e-12)
    extension = m.coordinate_names.index("boom.extension")
    push = 400.0 * 0.1**1.5 * (1 + 0.3 * at[1][extension])
    free = bumped(stiffness=0.0).resolve().passive_efforts(*at[:2])
    np.testing.assert_allclose((free - m.passive_efforts(*at[:2]))[extension], push, rtol=1e-12)


def test_parameters_of_the_stops() -> None:
    m = bumped().resolve()
    assert set(STOPS) < set(m.parameters())
    at = pressed(m)
    slopes = m.forward_dynamics_sensitivities(*at, STOPS)
    for name in STOPS:
        value, h = m.parameters()[name][0], 1e-5
        ahead, behind = (m.with_parameters({name: value + step}).forward_dynamics(*at) for step in (h, -h))
        # central differences: rounding of accelerations of some 1e3 over the step
        np.testing.assert_allclose(slopes[name], (ahead - behind) / (2 * h), rtol=1e-5, atol=1e-5)
    with pytest.raises(tt.ModelError, match=r"buffer\.limits\.stiffness"):
        m.with_parameters({"buffer.limits.stiffness": -1.0})


@pytest.mark.long
@pytest.mark.parametrize("engine", ENGINES)
def test_a_telescope_rests_on_its_stop(engine: str) -> None:
    """Hanging upside down, spring and stop carry both moving masses: ``k x + c (x - x0)^1.5 = (m + m_s) g``."""
    s = tt.System("hanging", gravity=[0, 0, 9.81])
    s.connect("world", Telescope("boom", spring=50.0), tt.Weld("root"))
    s.add_limits(tt.CoordinateLimits("buffer", "boom.extension", tt.Limits(upper=0.1, stiffness=1e4)))
    m = s.resolve(engine)
    x = tt.trim(m, ["boom.extension"]).q[0]
    np.testing.assert_allclose(50.0 * x + 1e4 * (x - 0.1) ** 1.5, 1.5 * 9.81, rtol=1e-9)
    h = 1e-4
    energies = [m.energy([x + step, 0.0], np.zeros(2)).elastic for step in (h, -h)]
    np.testing.assert_allclose((energies[0] - energies[1]) / (2 * h), 1.5 * 9.81, rtol=1e-5)  # of second order


def test_stops_bounce_and_limits_alone_are_told() -> None:
    """Without dissipation the energy is kept; without stiffness nothing stops, and trajectories tell."""
    trajectories = []
    for stiffness in (1e4, 0.0):
        s = tt.System("rail", gravity=[0, 0, 0])
        s.connect("world", Telescope("boom"), tt.Weld("root"))
        limits = tt.Limits(upper=0.1, velocity=2.0, stiffness=stiffness)
        s.add_limits(tt.CoordinateLimits("buffer", "boom.extension", limits))
        m = s.resolve()
        trajectories.append(tt.simulate(m, np.linspace(0, 0.5, 101), [0, 0], [3.0, 0.0], rtol=1e-10, atol=1e-12))
    stopped, free = trajectories
    assert np.ptp(stopped.energy().sum(axis=1)) < 1e-6  # J of 7, what rtol leaves of a stop that is not smooth
    assert stopped.v[:, 0].min() < -2.5
    assert free.q[:, 0].max() > 0.4
    assert [finding.where for finding in free.violations()] == ["boom.extension position", "boom.extension velocity"]


def test_files_includes_and_text(tmp_path: Path) -> None:
    s = tt.System("one", gravity=[0, 0, 0])
    s.connect("world", tt.Beam("beam", **UNIT), tt.Weld("clamp"))
    s.add_limits(tt.CoordinateLimits("wall", "beam.C_y", tt.Limits(upper=0.05, stiffness=3.0)))
    s.save(tmp_path / "one.toml")
    loaded = tt.load(tmp_path / "one.toml")
    whole = tt.System("whole", gravity=[0, 0, 0])
    whole.include(loaded, "left")
    assert "CoordinateLimits left/wall on left/beam.C_y" in str(whole)
    m = whole.resolve()
    q = np.zeros(m.nv)
    q[m.coordinate_names.index("left/beam.C_y")] = 0.1
    assert m.parameters()["left/wall.limits.stiffness"][0] == 3.0
    bare = tt.System("bare", gravity=[0, 0, 0])
    bare.connect("world", tt.Beam("beam", **UNIT), tt.Weld("clamp"))
    push = bare.resolve().passive_efforts(q, 0 * q) - m.passive_efforts(q, 0 * q)
    np.testing.assert_allclose(push.max(), 3.0 * 0.05**1.5, rtol=1e-12)
    whole.to_mermaid(), whole.to_dot(), whole.draw(tmp_path / "whole.png")


@pytest.mark.parametrize(
    ("target", "code", "words"),
    [
        ("root", "limits-of-a-joint", "limits=tt.Limits"),
        ("boom", "several-coordinates", "boom.extension"),
        ("boom.extent", "unknown-coordinate", "did you mean 'boom.extension'"),
        ("bom.extension", "unknown-joint", "did you mean 'boom'"),
    ],
)
def test_wrong_targets_are_refused(target: str, code: str, words: str) -> None:
    s = tt.System("wrong")
    s.connect("world", Telescope("boom"), tt.Revolute("root"))
    s.add_limits(tt.CoordinateLimits("buffer", target, tt.Limits(upper=0.1)))
    assert_says(refused(s), code, "buffer.joint", words)


def test_what_is_no_limits_is_refused() -> None:
    s = tt.System("wrong")
    s.connect("world", Telescope("boom"), tt.Revolute("root"))
    s.add_limits(tt.Limits(upper=0.1))  # type: ignore[arg-type]
    assert_says(refused(s), "not-limits", "add_limits", "tt.CoordinateLimits")
