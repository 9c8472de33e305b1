"""Bounds of goals over a family: above all members of a dense grid, not far above, and none where nothing is proved."""

from __future__ import annotations

import control
import numpy as np
import pytest

import titop as tt
from tests.solvers.robust.families import unstable_disc
from tests.solvers.tuning.loops import objective_of
from titop.solvers.lft.delta_blocks import Structure
from titop.solvers.linear.matrices import Matrices
from titop.solvers.robust.margin_proof import MarginProof, margin_sides
from titop.solvers.robust.margins import read_opened
from titop.solvers.robust.uncertain_loop import centre_ranges
from titop.solvers.tuning.minimax import Found
from titop.solvers.tuning.proof import GoalProof, largest_size, prove
from titop.solvers.tuning.worst_members import MemberSearch

STIFFNESS = (0.5, 2.0)
WEIGHT = control.tf([1.0, 0.5], [1.0, 3.0])
TARGET = control.tf([0.1, 1.0], [1.0, 0.5])
#: Proofs are within two percent of the worst member, and what the search for it leaves.
ROOM = 1.03


def oscillator(dt: float = 0.0) -> tt.LFTModel:
    """Return ``x'' = u - k x - v / 2``, ``k`` uncertain about a middle that is not its nominal value, with x and v."""
    block = tt.DeltaBlock.real("k", 1, *STIFFNESS, nominal=1.0)
    a, b = block.fraction  # k = 1 + a δ / (1 + b δ): z = x - b w, w = δ z, k x = x + a w
    M = control.ss(
        [[0, 1], [-1, -0.5]], [[0, 0], [-a, 1]], [[1, 0], [1, 0], [0, 1]], [[-b, 0], [0, 0], [0, 0]],
        inputs=["w", "u"], outputs=["z", "x", "v"], name="oscillator",
    )  # fmt: skip
    if dt:
        M = control.sample_system(M, dt, "tustin")
        M = control.ss(M.A, M.B, M.C, M.D, dt, inputs=["w", "u"], outputs=["z", "x", "v"], name="oscillator")
    return tt.LFTModel(M, (block,), ())


def gains(start: tuple[float, float] = (1.0, 0.7)) -> tt.Tunable:
    """Return a spring and a damper."""
    return tt.Tunable.matrix("pd", ["x", "v"], ["u"], start=[list(start)])


def proofs(family: tt.LFTModel, block: tt.Tunable, goals: list[tt.Goal], sign: int = -1) -> tuple[GoalProof, ...]:
    """Return what is proved of goals for a controller as it starts."""
    objective = objective_of(family, block, goals, sign)
    x = np.zeros(objective.size)
    x[: len(block.parameters)] = objective.coordinates.places(np.array([p.start for p in block.parameters]))
    found = Found(x, objective(x) or [])
    search = MemberSearch(objective.members[0].plant if family is None else _uncertain(family), Structure.of(family.blocks), 0)
    search.run(objective, found)
    return prove(objective, found, search)


def _uncertain(family: tt.LFTModel) -> object:
    from titop.solvers.tuning.plant_families import read_family

    return read_family(family, 0.0).uncertain


def members(family: tt.LFTModel) -> list[Matrices]:
    """Return the matrices of members, from u to x and v."""
    normalised = [family.blocks[0].normalised(float(k)) for k in np.linspace(*STIFFNESS, 61)]
    return [Matrices.of(family.M).close_loop(np.array([[delta]])).part([1, 2], [1]) for delta in normalised]


OMEGA = np.unique([*np.geomspace(1e-3, 1e3, 4001), 0.1, 0.5, 2.0, 5.0])


def loop_response(k: float, s: np.ndarray) -> dict[str, np.ndarray]:
    """Return responses with the spring 1 and the damper 0.7 by their formulae, at values of s."""
    bare = s**2 + 0.5 * s + k
    closed = bare + 0.7 * s + 1.0
    return {"disturbance": 1 / closed, "S": bare / closed, "T": (0.7 * s + 1.0) / closed}


def inside(s: np.ndarray, low: float, high: float) -> np.ndarray:
    """Tell which values of s are in a band."""
    return (np.abs(s) >= low) & (np.abs(s) <= high)


#: Goals, and their values at frequencies by formulae.
CASES = {
    "gain": (tt.Goal.gain("u", "x", 0.5), lambda r, s: np.abs(r["disturbance"]) / 0.5),
    "weighted": (tt.Goal.gain("u", "x", weight=WEIGHT), lambda r, s: np.abs(r["disturbance"] * WEIGHT(s))),
    "band": (tt.Goal.gain("u", "x", band=(2.0, 5.0)), lambda r, s: np.abs(r["disturbance"]) * inside(s, 2.0, 5.0)),
    "margins": (tt.Goal.margins("u", disk=0.8, skew=0.3), lambda r, s: 0.8 * np.abs(r["S"] - 0.35)),
    "rejection": (tt.Goal.rejection("u", 2.0, band=(0.1, 0.5)), lambda r, s: 2 * np.abs(r["S"]) * inside(s, 0.1, 0.5)),
    "shape": (
        tt.Goal.shape("u", TARGET),
        lambda r, s: np.maximum(np.abs(r["S"] * TARGET(s)), np.abs(r["T"] / TARGET(s))) / np.sqrt(2),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_gains_are_bounded(name: str) -> None:
    """Of a dense grid of springs and frequencies none is above, one is not far below."""
    goal, value = CASES[name]
    (proof,) = proofs(oscillator(), gains(), [goal])
    s = 1j * OMEGA
    highest = max(float(value(loop_response(k, s), s).max()) for k in np.linspace(*STIFFNESS, 201))
    assert proof.proved
    assert highest <= proof.upper * (1 + 1e-9)
    assert proof.upper <= ROOM * highest
    assert proof.lower == pytest.approx(highest, rel=2e-3)  # of the frequencies' grid


REGIONS = {
    "decay": (tt.Goal.poles(decay=0.7), lambda p: (0.7 / -p.real).max()),
    "damping": (tt.Goal.poles(damping=0.5), lambda p: (0.5 * np.abs(p) / -p.real).max()),
    "fastest": (tt.Goal.poles(fastest=1.5), lambda p: (np.abs(p) / 1.5).max()),
    "all": (
        tt.Goal.poles(0.3, 0.5, 2.0),
        lambda p: max((0.3 / -p.real).max(), (0.5 * np.abs(p) / -p.real).max(), (np.abs(p) / 2).max()),
    ),
}


@pytest.mark.parametrize("name", REGIONS)
def test_regions_of_poles_are_bounded(name: str) -> None:
    goal, value = REGIONS[name]
    (proof,) = proofs(oscillator(), gains(), [goal])
    highest = max(float(value(np.roots([1.0, 1.2, 1.0 + k]))) for k in np.linspace(*STIFFNESS, 201))
    assert highest <= proof.upper <= ROOM * highest


def test_poles_of_sampled_loops() -> None:
    """Decay is a circle of z; others are told."""
    dt, family = 0.2, oscillator(0.2)
    (decay,), (damping,) = (proofs(family, gains(), [goal]) for goal in (tt.Goal.poles(decay=0.5), tt.Goal.poles(damping=0.4)))
    worst = 0.0
    for member in members(family):
        A = member.A - member.B @ np.linalg.solve(np.eye(1) + [[1.0, 0.7]] @ member.D[:2], [[1.0, 0.7]] @ member.C[:2])
        worst = max(worst, float((0.5 / -(np.log(np.linalg.eigvals(A).astype(complex)).real / dt)).max()))
    assert worst <= decay.upper <= ROOM * worst
    assert not damping.proved
    assert "sampled" in damping.reason
    assert "not proved" in str(damping)


def test_weights_of_sampled_loops() -> None:
    """A weight over true frequencies is no system of the map: bounded in bands."""
    dt, family = 0.2, oscillator(0.2)
    (proof,) = proofs(family, gains(), [tt.Goal.gain("u", "x", weight=WEIGHT)])
    omega, highest = np.linspace(1e-3, np.pi / dt, 2001)[:-1], 0.0
    for member in members(family):
        x, v = member.responses(np.exp(1j * omega * dt))[:, :, 0].T
        highest = max(highest, float(np.abs(x / (1 + x + 0.7 * v) * WEIGHT(1j * omega)).max()))
    assert highest <= proof.upper <= ROOM * highest


def test_goals_that_do_not_bind_are_bounded_by_those_that_do() -> None:
    """This is sooner proved than what each has."""
    high, low = proofs(oscillator(), gains(), [tt.Goal.gain("u", "x", 0.1), tt.Goal.gain("u", "x")])
    assert high.lower < high.upper <= ROOM * high.lower
    assert low.lower == pytest.approx(high.lower / 10, rel=1e-6)  # one norm in two units
    assert low.upper <= ROOM * high.lower


def test_variances_are_told() -> None:
    (variance,) = proofs(oscillator(), gains(), [tt.Goal.h2("u", "x")])
    assert not variance.proved
    assert np.isinf(variance.upper)
    assert "variances" in variance.reason


def test_margins_are_those_of_margins() -> None:
    """Two loops changed independently: the disk that `tt.margins` proves for all loops at once, and that of each."""
    M = control.ss(
        [[0, 1, 0], [-1, -0.5, 1], [-0.5, 0, -1]], [[0, 0, 0], [-0.5, 1, 0], [0, 0.2, 1]],
        [[1, 0, 0], [1, 0, 0], [0, 0, 1]], np.zeros((3, 3)), inputs=["w", "a", "b"], outputs=["z", "x", "y"], name="plant",
    )  # fmt: skip
    family = tt.LFTModel(M, (tt.DeltaBlock.real("k"),), ())
    start = np.array([[1.0, 0.3], [-0.4, 0.8]])
    block = tt.Tunable.matrix("K", ["x", "y"], ["a", "b"], start=start)
    (both,), (one,) = (proofs(family, block, [tt.Goal.margins(at, disk=1.0)]) for at in (["a", "b"], "a"))
    K = control.ss([], [], [], start, inputs=["x", "y"], outputs=["a", "b"])
    loop, names = read_opened(family, None, K, -1, None)
    assert names == ("a", "b")
    peer, side = MarginProof(centre_ranges(loop), names, 0.0, 0.01), margin_sides(0.0)["disk"]
    for proof, places in ((both, [0, 1]), (one, [0])):
        bound = peer.bound(side, places)
        assert bound.attained <= proof.upper <= ROOM * bound.attained
        assert proof.lower == pytest.approx(bound.attained, rel=2e-3)  # of the searches for the worst member


@pytest.mark.parametrize(
    "goal", [tt.Goal.gain("u", "y"), tt.Goal.gain("u", "y", band=(0.1, 9.0)), tt.Goal.poles(decay=0.001), tt.Goal.margins("u")]
)
def test_nothing_is_proved_with_an_unstable_member(goal: tt.Goal) -> None:
    """A small disc of two parameters is unstable, which corners and random members miss."""
    (A, B, C, D), blocks = unstable_disc(0.02)
    inputs, outputs = [f"w{k}" for k in range(4)] + ["u"], [f"z{k}" for k in range(4)] + ["y"]
    family = tt.LFTModel(control.ss(A, B, C, D, inputs=inputs, outputs=outputs, name="disc"), tuple(blocks), ())
    block = tt.Tunable.gain("k", "y", "u", start=0.0)
    (proof,) = proofs(family, block, [goal])
    assert not proof.proved
    assert proof.reason


def test_largest_size_between_the_ends() -> None:
    """A resonance of damping z has ``1 / (2 z sqrt(1 - z²))`` at ``sqrt(1 - 2 z²)``; outside of it the ends count."""
    from titop.solvers.tuning.goals import Weight

    z = 0.1
    weight = Weight.read("weight", control.tf([4.0], [1.0, 4 * z, 4.0]))
    assert largest_size(weight, (0.5, 5.0)) == pytest.approx(1 / (2 * z * np.sqrt(1 - z**2)), rel=1e-12)
    assert largest_size(weight, (3.0, 5.0)) == pytest.approx(abs(4 / (4 - 9 + 1.2j * 1.0)), rel=1e-12)
    assert largest_size(weight, (0.0, np.inf)) == pytest.approx(1 / (2 * z * np.sqrt(1 - z**2)), rel=1e-12)
    assert np.isinf(largest_size(weight, (0.0, np.inf), inverse=True))
    assert largest_size(weight, (0.0, 0.5), inverse=True) == pytest.approx(1.0, rel=1e-12)
