"""Shapes fitted to measured poses."""

from __future__ import annotations

import numpy as np
import pytest

import titop as tt


def feeler(engine: str = "compiled") -> tt.Model:
    """Return a free base with a rod that carries five markers."""
    s = tt.System("feeler")
    base = tt.RigidBody("base", 1.0, inertia=0.1)
    places = {f"m{k}": 0.2 * (k + 1) for k in range(4)}
    rod = tt.Rod("rod", 1.0, tt.Section.circle(0.02), 1e6, 1000.0, basis=2, ports=places)
    s.connect("world", base, tt.Free("free"))
    s.connect(base, rod, tt.Weld("seam"))
    return s.resolve(engine)


def seen(model: tt.Model, q: np.ndarray, turned: bool = True) -> dict[str, object]:
    ports = ["base", "rod.tip", *(f"rod.m{k}" for k in range(4))]
    poses = {port: model.pose(port, q) for port in ports}
    return {port: tt.Pose(r, R) if turned else r for port, (R, r) in poses.items()}


@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_what_is_seen_is_found(engine: str) -> None:
    model = feeler(engine)
    q = model.integrate(model.neutral(), 0.4 * np.random.default_rng(0).normal(size=model.nv))
    fit = tt.fit_shape(model, seen(model, q))
    np.testing.assert_allclose(model.difference(q, fit.q), 0.0, atol=1e-9)  # Gauss-Newton ends when it moves by 1e-12
    assert fit.rank == model.nv
    assert max(np.abs(error).max() for error in fit.errors.values()) < 1e-9
    assert fit.errors["rod.tip"].shape == (6,)


def test_it_is_the_least_of_squares() -> None:
    """With noise, no neighbour is better; a fit of positions alone knows no rotations."""
    model, rng = feeler(), np.random.default_rng(1)
    q = model.integrate(model.neutral(), 0.3 * rng.normal(size=model.nv))
    noisy = {port: np.asarray(r) + 1e-3 * rng.normal(size=3) for port, r in seen(model, q, turned=False).items()}
    noisy["rod.m0"] = tt.Pose(noisy["rod.m0"], model.pose("rod.m0", q)[0])
    noisy["rod.m2"] = tt.Pose(noisy["rod.m2"], model.pose("rod.m2", q)[0])
    fit = tt.fit_shape(model, noisy, radian=0.5)

    def squares(q: np.ndarray) -> float:
        total = 0.0
        for port, value in noisy.items():
            R, r = model.pose(port, q)
            at = value.position if isinstance(value, tt.Pose) else value
            total += ((r - at) ** 2).sum()
            if isinstance(value, tt.Pose):
                cosine = np.clip((np.trace(value.rotation.T @ R) - 1) / 2, -1, 1)
                total += (0.5 * np.arccos(cosine)) ** 2
        return total

    least = squares(fit.q)
    assert 1e-7 < least < 1e-4
    for step in 1e-4 * rng.normal(size=(20, model.nv)):
        assert squares(model.integrate(fit.q, step)) > least


def test_some_coordinates_alone() -> None:
    model = feeler()
    q = model.neutral()
    q[model.mechanism.assembly.q_slices["rod"]] = 0.2
    fit = tt.fit_shape(
        model, {"rod.tip": tt.Pose(*model.pose("rod.tip", q)[::-1])}, coordinates=["rod.bending_y0", "rod.bending_z0"]
    )
    changed = np.flatnonzero(fit.q - model.neutral())
    assert [model.configuration_names[k] for k in changed] == ["rod.bending_y0", "rod.bending_z0"]


def test_too_few_measurements_are_told() -> None:
    model = feeler()
    with pytest.warns(tt.ModelWarning, match=r"3 of 15 coordinates are determined") as caught:
        fit = tt.fit_shape(model, {"rod.tip": [0.5, 0.5, 0.1]})
    assert caught[0].filename == __file__
    assert fit.rank == 3
    assert np.abs(fit.errors["rod.tip"]).max() < 1e-9


def test_refusals() -> None:
    model = feeler()
    with pytest.raises(tt.ModelError, match=r"did you mean 'rod\.tip'"):
        tt.fit_shape(model, {"rod.tp": [0, 0, 0]})
    with pytest.raises(tt.ModelError, match=r"rod\.tip"):
        tt.fit_shape(model, {"rod.tip": [0, 0]})
    with pytest.raises(tt.ModelError, match="radian"):
        tt.fit_shape(model, {"rod.tip": [0, 0, 0]}, radian=-1.0)
    with pytest.raises(tt.ModelError, match="resolved model"):
        tt.fit_shape("model", {})  # type: ignore[arg-type]


@pytest.mark.parametrize("length", [1e3, 1e-3, 1e-6])
@pytest.mark.parametrize("turned", [False, True])
def test_no_unit_of_length_decides_when_the_search_ends(length: float, turned: bool) -> None:
    """A rod on a slide, as long as one likes: the shape is found as it is of 1 m, to 1e-9, the slide in parts of the length."""
    s = tt.System("feeler", gravity=[0, 0, 0])
    rod = tt.Rod(
        "rod", length, tt.Section.circle(0.01 * length), 1e6, 1000.0, strains={"bending_z": 1}, ports={"middle": length / 2}
    )
    s.connect("world", rod, tt.Prismatic("slide", axis=[0, 1, 0]))
    model = s.resolve()
    q = np.array([0.2 * length, 1.0, 0.3])
    poses = {port: model.pose(port, q) for port in ("rod.middle", "rod.tip")}
    fit = tt.fit_shape(model, {port: tt.Pose(r, R) if turned else r for port, (R, r) in poses.items()})
    np.testing.assert_allclose((fit.q - q) / [length, 1, 1], 0.0, atol=1e-9)
    assert fit.rank == 3
