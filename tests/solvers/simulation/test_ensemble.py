"""What an ensemble tells: stacked arrays, statistics, pictures, and files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import titop as tt

T = np.linspace(0, 1, 6)


def falling() -> tt.Model:
    s = tt.System("drop", gravity=[0, 0, -10])
    stone = tt.RigidBody("stone", mass=1.0)
    s.connect("world", stone, joint=tt.Prismatic("fall", axis=[0, 0, 1]))
    s.add_sensor(tt.Encoder("height", "fall"))
    return s.resolve()


def dropped(heights: list[float], **more: object) -> tt.Ensemble:
    """Return stones from some heights, until they hit the ground."""
    ground = tt.Event(lambda t, q, v: q[0], name="ground", terminal=True, direction=-1)
    ensemble = tt.simulate(falling(), T, [[height] for height in heights], [0.0], events=ground, **more)
    assert isinstance(ensemble, tt.Ensemble)
    return ensemble


def test_members_that_have_ended_are_not_there_any_more() -> None:
    ensemble = dropped([1.0, 10.0])
    assert ensemble[0].t[-1] == pytest.approx(np.sqrt(0.2))  # 1 = 5 t^2
    assert np.isnan(ensemble.q[0, 3:]).all()
    assert not np.isnan(ensemble.q[0, :3]).any()
    assert ensemble.q[1, :, 0] == pytest.approx(10 - 5 * T**2)
    assert ensemble.a.shape == ensemble.v.shape == ensemble.tau.shape == (2, 6, 1)
    assert ensemble.u.shape == ensemble.x.shape == (2, 6, 0)
    assert [len(member.t) for member in ensemble] == [4, 6]
    assert ensemble[-1] is ensemble[1]


def test_statistics_over_the_members() -> None:
    ensemble = dropped([10.0, 11.0, 13.0], parameters={"stone.mass": [1.0, 2.0, 3.0]})
    assert np.array_equal(ensemble.values("fall"), ensemble.q[..., 0])
    assert np.array_equal(ensemble.values("height"), ensemble.q[..., 0])  # a sensor
    assert ensemble.statistics("fall").median == pytest.approx(11 - 5 * T**2)
    assert ensemble.statistics(lambda one: one.q[0, 0]).mean == pytest.approx(34 / 3)
    samples = ensemble.samples(begin=lambda one: one.q[0, 0])
    assert samples.sensitivity("begin").rank.tolist() == [1.0]
    assert len(ensemble.plot("fall").axes) == 1
    with pytest.raises(tt.ModelError, match="unknown-coordinate"):
        ensemble.values("rise")
    with pytest.raises(tt.ModelError, match="one shape"):
        dropped([1.0, 10.0]).values(lambda one: one.t)
    for wrong in ("high", [1.0, [2.0, 3.0]]):
        with pytest.raises(tt.ModelError, match="a function that returns numbers"):
            ensemble.values(lambda one, wrong=wrong: wrong)
    assert len(ensemble.plot(lambda one: one.energy().sum(axis=-1)).axes) == 1
    assert repr(ensemble) == "Ensemble('drop', 3 members, 6 times, 0 failed)"


def test_signals_of_controllers_are_values() -> None:
    held = tt.Controller(lambda t, x, y, r: (x, 10 - y), [], ["fall.q"], ["fall.tau"], 0.2)
    ensemble = dropped([5.0, 6.0], controller=held)
    assert ensemble.values("fall.tau")[:, 0].tolist() == [5.0, 4.0]


def test_files(tmp_path: Path) -> None:
    held = tt.Controller(lambda t, x, y, r: (x, 9 - 0.1 * y), [], ["fall.q"], ["fall.tau"], 0.2)
    written = dropped([1.0, np.nan, 10.0, 12.0], controller=held, parameters={"stone.mass": [1.0, 1.0, 2.0, 1.0]})
    written.save(tmp_path / "drops.npz")
    read = tt.load_ensemble(tmp_path / "drops.npz", falling())
    assert read.failures == written.failures
    assert list(read.failures) == [1]
    assert np.array_equal(read.t, T)
    assert len(read) == 4
    assert np.array_equal(read.parameters["stone.mass"], written.parameters["stone.mass"])
    for k in (0, 2, 3):
        for name in ("t", "q", "v", "a", "tau"):
            assert np.array_equal(getattr(read[k], name), getattr(written[k], name))
        assert np.array_equal(read[k].controls[0].y, written[k].controls[0].y)
        assert read[k].statistics == written[k].statistics
        assert np.array_equal(read[k].energy(), written[k].energy())  # so the model has the member's mass
    assert read[2].energy()[0, 1] == 2 * 10.0 * 10.0
    other = tt.System("other")
    other.connect("world", tt.RigidBody("stone", mass=1.0), joint=tt.Prismatic("rise"))
    with pytest.raises(tt.ModelError, match="other-model"):
        tt.load_ensemble(tmp_path / "drops.npz", other.resolve())
    written[0].save(tmp_path / "one.npz")
    with pytest.raises(tt.ModelError, match="wrong-format"):
        tt.load_ensemble(tmp_path / "one.npz", falling())


@pytest.mark.parametrize(
    "wrong",
    [
        {"count": np.array(10**12)},
        {"count": np.array(-1)},
        {"failure:7": np.array("another")},
        {"all:q": np.array(5.0)},
        {"all:v": np.zeros((3, 6, 1))},
    ],
)
def test_damaged_files_are_refused(tmp_path: Path, wrong: dict[str, np.ndarray]) -> None:
    dropped([10.0, 11.0]).save(tmp_path / "drops.npz")
    np.savez(tmp_path / "damaged.npz", **(dict(np.load(tmp_path / "drops.npz")) | wrong))
    with pytest.raises(tt.ModelError, match="members and"):
        tt.load_ensemble(tmp_path / "damaged.npz", falling())
