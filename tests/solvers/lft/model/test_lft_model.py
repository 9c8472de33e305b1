"""What is done with linear fractional models: members, controllers, neglected dynamics, files."""

from __future__ import annotations

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
    with pytest.raises(tt.ModelError, match="bad-file"):
        tt.LFTModel.load(tmp_path / "broken.mat")
