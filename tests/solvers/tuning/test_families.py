"""Uncertain families in `tt.tune`: members known beforehand and found, interruptions, processes, seeds."""

from __future__ import annotations

import control
import numpy as np
import pytest

import titop as tt
from examples.benchmarks.tuning import attitude_control, pointing_goals, satellite
from tests.solvers.tuning.loops import objective_of
from titop.solvers.lft.delta_blocks import Structure
from titop.solvers.tuning.minimax import Found
from titop.solvers.tuning.plant_families import read_family
from titop.solvers.tuning.worst_members import MemberSearch


def springs(count: int = 1, negative: float = 0.0) -> tt.LFTModel:
    """Return ``x'' = u - (1 + sum of k) x - v / 10``, each k between -0.3 and 0.3, less a `negative` stiffness."""
    ones = np.full(count, 0.3)
    A = [[0, 1], [negative - 1, -0.1]]
    B = np.vstack([np.zeros(count + 1), [*-ones, 1.0]])
    C = np.vstack([np.tile([1.0, 0.0], (count, 1)), np.eye(2)])
    inputs, outputs = [f"w{k}" for k in range(count)], [f"z{k}" for k in range(count)]
    D = np.zeros((count + 2, count + 1))
    M = control.ss(A, B, C, D, inputs=[*inputs, "u"], outputs=[*outputs, "x", "v"], name="springs")
    return tt.LFTModel(M, tuple(tt.DeltaBlock.real(f"k{k}", 1, -0.3, 0.3) for k in range(count)), ())


GAINS = tt.Tunable.matrix("pd", ["x", "v"], ["u"], start=[[0.5, 0.5]])
GOALS = [tt.Goal.gain("u", "x"), tt.Goal.gain(["x", "v"], "u", 3.0)]


@pytest.mark.parametrize(("count", "expected"), [(1, 3), (2, 5), (3, 1)])
def test_corners_are_known_where_they_are_few(count: int, expected: int) -> None:
    known = read_family(springs(count), 0.0).members
    assert len(known) == expected
    assert known[0].name == "nominal"
    assert all(np.abs(member.delta).max() == 1 for member in known[1:])


def test_worst_members_are_found() -> None:
    """The static gain ``1 / (1 + sum k + 0.5)`` is highest with all springs soft; with the loop open a member is unstable."""
    family = read_family(springs(3), 0.0)
    objective = objective_of(springs(3), GAINS, tt.Goal.gain("u", "x", band=(0.0, 0.1)))
    x = objective.coordinates.places(np.array([0.5, 0.5]))
    search = MemberSearch(family.uncertain, Structure.of(family.blocks), 0)
    (worst,) = search.run(objective, Found(x, objective(x)))
    assert worst.delta.tolist() == [-1.0, -1.0, -1.0]
    assert worst.name == "k0 = -0.3, k1 = -0.3, k2 = -0.3"
    lows, _ = search.values(objective, Found(x, objective(x)))
    assert lows[0] == pytest.approx(1 / (1 - 0.9 + 0.5), rel=0.02)  # a little above it at the band's end
    soft = objective_of(springs(3, 0.3), GAINS, tt.Goal.gain("u", "x"))
    near = soft.coordinates.places(np.array([0.1, 0.5]))  # 1 - 0.3 - 0.9 + 0.1 is negative
    other = MemberSearch(read_family(springs(3, 0.3), 0.0).uncertain, Structure.of(family.blocks), 0)
    unstable = other.run(soft, Found(near, soft(near)))
    assert unstable
    assert min(sum(0.3 * member.delta) for member in unstable) < -0.8


def test_seeds_and_processes_give_the_same() -> None:
    def tuned(seed: int, workers: int = 1) -> tt.Tuned:
        return tt.tune(springs(3), GAINS, GOALS, starts=2, seed=seed, workers=workers, progress=False)

    one, two, apart = tuned(1), tuned(1), tuned(1, workers=2)
    assert one.values == two.values == apart.values
    assert one.members == two.members == apart.members
    assert [proof.upper for proof in one.proof] == [proof.upper for proof in apart.proof]
    assert all(proof.proved for proof in one.proof)


@pytest.mark.parametrize("where", ["MemberSearch.run", "prove_goals", "stabilise"])
def test_ctrl_c_keeps_the_best(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was reached before, on the members known then, without a proof."""

    def stop(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(f"titop.solvers.tuning.tune.{where}", stop)
    with pytest.raises(tt.SweepInterrupt) as stopped:
        tt.tune(springs(3), GAINS, GOALS, starts=1, progress=False)
    found = stopped.value.found
    assert found.proof == ()
    assert len(found.members) == (2 if where == "prove_goals" else 1)
    assert max(value.value for value in found.goals) < 10


@pytest.mark.long
def test_a_satellite_is_tuned_and_proved() -> None:
    """40 states, five uncertain numbers in nine copies, twelve tuned ones, five goals.

    All are proved within five percent of the worst member: two percent is the tolerance of the proof, the rest what scalings
    of real and complex blocks together leave, 3.4 percent for the margins of three places. Random members are below the bounds.
    """
    family = satellite()
    assert (family.M.nstates, sum(block.repetitions for block in family.blocks)) == (40, 9)
    goals = pointing_goals()
    tuned = tt.tune(family, attitude_control(), goals, starts=1, progress=False)
    highest = max(value.value for value in tuned.goals)
    assert all(proof.proved and proof.upper <= 1.05 * highest for proof in tuned.proof)
    closed, omega = family.close(tuned.controller, sign=-1), np.geomspace(1e-2, 30.0, 600)
    for values in closed.samples(10):
        member = closed.at(values)
        assert member.poles().real.max() < 0
        rows = [member.output_labels.index(f"tracker_theta[{k}]") for k in range(3)]
        columns = [member.input_labels.index(f"wheels_{axis}") for axis in "xyz"]
        responses = np.moveaxis(member(1j * omega)[np.ix_(rows, columns)], 2, 0)
        assert np.linalg.norm(responses, 2, (1, 2)).max() / goals[0].bound <= tuned.proof[0].upper
