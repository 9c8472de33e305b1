"""What is done with linear fractional models: members, controllers, neglected dynamics, files."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path

import control
import numpy as np
import pytest

import titop as tt
from tests.solvers.lft.satellites import satellite, still, tied

#: Responses computed in two ways, beside their size.
ROUNDING = 1e-9

PARAMETERS = {"hub.mass": (150.0, 230.0), tied("panel_*.mode1.frequency"): tt.percent(20), "sada_right.q": (-0.5, 1.0)}
VALUES = {"hub.mass": 170.0, "panel_left.mode1.frequency": 1.9, "sada_right.q": 0.4}


@pytest.fixture(scope="module")
def model() -> tt.LFTModel:
    m = satellite()
    return tt.lft(m, still(m), PARAMETERS, ["wheels"], ["gyro"])


def test_values_by_any_name(model: tt.LFTModel) -> None:
    """Tied names are one value; keywords have underscores for dots."""
    s = 0.8j
    one = model.at(VALUES)(s)
    other = model.at({"hub.mass": 170.0, "panel_right.mode1.frequency": 1.9}, sada_right_q=0.4)(s)
    assert one == pytest.approx(other, rel=1e-12)
    assert model.values(VALUES)["panel_right.mode1.frequency"] == pytest.approx(1.9)


def test_a_controller_by_names(model: tt.LFTModel) -> None:
    """The loop's members are the members' loops."""
    K = control.ss(
        -2.0 * np.eye(3), np.eye(3), -30.0 * np.eye(3), -5.0 * np.eye(3), inputs=["gyro_x", "gyro_y", "gyro_z"],
        outputs=["wheels_x", "wheels_y", "wheels_z"],
    )  # fmt: skip
    s = 0.8j
    plant = model.at(VALUES)(s)
    closed = model.close(K)
    assert closed.at(VALUES)(s) == pytest.approx(plant @ np.linalg.inv(np.eye(3) - K(s) @ plant), rel=ROUNDING)
    assert closed.blocks == model.blocks


def test_neglected_dynamics(model: tt.LFTModel) -> None:
    """A complex block on an input: with δ closed by hand, the input times 1 + weight δ."""
    s, delta = 0.8j, 0.3 - 0.4j
    weight = control.ss([[-1.0]], [[1.0]], [[0.5]], [[0.1]])
    M = model.append("wheel", "wheels.y", weight)
    assert M.blocks[-1].kind == "complex"
    assert M.at(VALUES)(s) == pytest.approx(model.at(VALUES)(s), rel=ROUNDING)
    response, w, z = M.M(s), *M.channels
    values = np.concatenate([np.full(b.repetitions, d) for b, d in zip(M.blocks, [*M.deltas(VALUES)[:-1], delta], strict=True)])
    closed = response[z:, w:] + response[z:, :w] * values @ np.linalg.solve(
        np.eye(z) - response[:z, :w] * values, response[:z, w:]
    )
    gains = np.array([1.0, 1.0 + complex(weight(s)) * delta, 1.0])
    assert closed == pytest.approx(model.at(VALUES)(s) * gains, rel=ROUNDING)


def test_samples_and_corners(model: tt.LFTModel) -> None:
    assert len(model.corners()) == 8
    for sample in model.samples(20):
        assert (np.abs(model.deltas(sample)) <= 1.0).all()
    assert (np.abs(np.abs([model.deltas(corner) for corner in model.corners()]) - 1.0) < 1e-12).all()
    turned = copy.copy(model)
    object.__setattr__(turned, "blocks", model.blocks[::-1])
    assert turned.samples(20) == model.samples(20)  # of parameters, not of places among the blocks
    assert turned.corners(5) == model.corners(5)


def test_bad_input(model: tt.LFTModel, tmp_path: Path) -> None:
    with pytest.raises(tt.ModelError, match="unknown-parameter"):
        model.at({"hub.mas": 3.0})
    with pytest.raises(tt.ModelError, match="wrong-type"):
        model.at({"hub.mass": "much"})
    with pytest.raises(tt.ModelError, match="wrong-type"):
        model.at({"hub.mass": np.nan})
    with pytest.raises(tt.ModelError, match=r"hub\.mass.*-1"):
        model.at(hub_mass=-1.0)
    with pytest.raises(tt.ModelError, match="bad-weight"):
        model.append("wheel", "wheels.x", control.ss([[1.0]], [[1.0]], [[1.0]], [[0.0]]))
    (tmp_path / "broken.mat").write_bytes(b"nothing")
    with pytest.raises(tt.ModelError, match="wrong-format"):
        tt.LFTModel.load(tmp_path / "broken.mat")


@pytest.mark.parametrize("copied", [lambda model: pickle.loads(pickle.dumps(model)), copy.deepcopy])
def test_copies(model: tt.LFTModel, copied: Callable[[tt.LFTModel], tt.LFTModel]) -> None:
    """They share no arrays, and know members, names and the controllers that were closed."""
    signals = [f"gyro_{x}" for x in "xyz"], [f"wheels_{x}" for x in "xyz"]
    K = control.ss(0.5 * np.eye(3), np.eye(3), -np.eye(3), -5.0 * np.eye(3), 0.05, inputs=signals[0], outputs=signals[1])
    for own in (model, model.append("wheel", "wheels.y"), model.close(K)):
        other = copied(own)
        assert (other.blocks, other.uncertain, other.M.dt, other.M.name) == (own.blocks, own.uncertain, own.M.dt, own.M.name)
        assert other.M.signals == own.M.signals
        assert other.at(VALUES)(0.8j) == pytest.approx(own.at(VALUES)(0.8j), rel=1e-14)
        assert other.check(1, corners=False) == pytest.approx(own.check(1, corners=False))
        other.M.A[:] = 0.0
        assert own.M.A.any()
        assert not other.M.dynamics(0.0, np.ones(own.M.nstates), np.zeros(own.M.ninputs)).any()


def test_what_fits_no_block_is_named(model: tt.LFTModel) -> None:
    for deltas in ([0.1, 0.2], 0.1, ["a", "b", "c"]):
        with pytest.raises(tt.ModelError, match=r"closed_by.*3 numbers.*wrong-shape"):
            model.closed_by(deltas)  # type: ignore[arg-type]
    K = control.ss([], [], [], [[-3.0]], inputs=["gyro_x"], outputs=["wheels_x"])
    with pytest.raises(tt.ModelError, match=r"stages.*whole number from 1 to 6; 1 or 2 will do"):
        model.close(K, stages=0)
    with pytest.raises(tt.ModelError, match=r"order.*whole number from 1 to 10; 4 will do"):
        model.close(K, order=0)


def test_a_value_at_infinity_of_its_fraction_is_refused() -> None:
    """Of a range -1 to 3 with 2 as nominal value, 5 is where ``value = 2 + 1.5 d / (1 + 0.5 d)`` has no finite d."""
    s = tt.System("cart", gravity=[0, 0, 0])
    s.connect("world", tt.RigidBody("mass", mass=2.0), tt.Prismatic("x", stiffness=2.0, damping=0.5))
    m = s.resolve()
    family = tt.lft(m, m.neutral(), {"x.stiffness": (-1.0, 3.0)}, ["x"], ["x.q"])
    with pytest.raises(tt.ModelError, match="no-member"):
        family.at({"x.stiffness": 5.0})
    np.testing.assert_allclose(family.at({"x.stiffness": 5.0 + 1e-6})(0.0), 1 / (5.0 + 1e-6), rtol=1e-9)  # d is 3e6 there
