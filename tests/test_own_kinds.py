"""A kind of body of one's own is first class: in texts, pictures, files, checks, linear and linear fractional models."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

import titop as tt
from tests.own_kinds import Disc, Slide
from titop.blocks.contract.description import MassProperties
from titop.solvers.engines.compiled.law_tables import compiled_law

tt.register_block(Slide, "slide")
tt.register_block(Disc, "disc")


def swing(gravity: float = 9.81) -> tt.System:
    """Return a slide that swings about y, with a disc on a hinge at its end."""
    s = tt.System("swing", gravity=[0, 0, -gravity])
    slide = Slide("slide", spring=400.0)
    s.connect("world", slide, tt.Revolute("pivot", axis=[0, 1, 0], damping=0.1))
    s.connect(slide.port("C"), Disc("disc", 0.2, 0.05), tt.Revolute("wheel", axis=[0, 0, 1]))
    return s


def test_the_checks_have_nothing_to_say() -> None:
    tt.check_block(Slide("slide"))
    tt.check_block(Disc("disc", 0.2, 0.05))


def test_it_is_compiled() -> None:
    """By its law, as both engines agree: to rounding, entries being of order 1 to 100."""
    assert compiled_law(Slide("slide")) is not None
    one, other = swing().resolve(), swing().resolve("reference")
    rng = np.random.default_rng(0)
    q, v, tau = one.random_configuration(rng), rng.normal(size=3), rng.normal(size=3)
    assert one.forward_dynamics(q, v, tau) == pytest.approx(other.forward_dynamics(q, v, tau), rel=1e-11, abs=1e-11)


def test_texts_tell_its_mass() -> None:
    """3 kg, and 2 pi kg of the disc of 0.2 m by 0.05 m."""
    text = str(swing())
    assert "(Slide [extension] 3 kg)" in text
    assert f"(Disc {2 * np.pi:g} kg)" in text
    assert "Slide" in swing().to_mermaid()


def test_mass_properties_follow_from_the_mass_matrix() -> None:
    """Two point masses, of 2 kg at 0 and 1 kg at 1 m: a third up, with 2/3 kg m^2 about there."""
    mass, com, inertia = Slide("slide").mass_properties()
    assert mass == pytest.approx(3.0)
    assert com == pytest.approx([0, 0, 1 / 3])
    assert inertia == pytest.approx(np.diag([2 / 3, 2 / 3, 0.0]))


def test_units_are_doubted() -> None:
    s = tt.System("doubt", gravity=[0, 0, -9.81])
    s.connect("world", Slide("slide", base=1e-14, slider=1e-14), tt.Revolute("base", axis=[0, 1, 0]))
    s.connect("world", Disc("disc", 1.0, 0.1), tt.Free("other"))
    with pytest.warns(tt.ModelWarning, match="far-masses"):
        s.resolve("reference")


def test_the_length_of_the_system_knows_it() -> None:
    """The slide's port is a metre away, as far as anything is."""
    assert swing().resolve("reference").mechanism.scale.length == pytest.approx(1.0)


def test_it_is_drawn(tmp_path: Path) -> None:
    """Its picture is in figures and pages: a surface that moves along; the disc is an ellipsoid there."""
    m = swing().resolve("reference")
    q = m.configuration({"pivot": 0.4, "slide.extension": 0.3})
    still = np.zeros((2, m.nv))
    run = tt.Trajectory(m, np.array([0.0, 1.0]), np.array([q, q]), still, still, still)
    collections = run.plot_shape(0.0).axes[0].collections
    tips = np.concatenate([segment for shown in collections for segment in shown._segments3d])
    assert np.linalg.norm(tips - m.pose("slide.C", q)[1], axis=1).min() < 1e-12
    page = run.animate(tmp_path / "swing.html").read_text("utf8")
    found = re.search(r'<script[^>]*type="application/json"[^>]*>(.*?)</script>', page, re.DOTALL)
    assert found is not None
    motion = json.loads(found[1])
    assert [surface["name"] for surface in motion["surfaces"]] == ["slide"]
    assert [shape["name"] for shape in motion["shapes"] if shape["role"] == "ellipsoid"] == ["disc"]


def test_files_hold_it(tmp_path: Path) -> None:
    """With no more than a name for the class: the same numbers to the last bit."""
    system = swing()
    system["slide"].spring = 1 / 3  # type: ignore[attr-defined]
    system.save(tmp_path / "swing.toml")
    loaded = tt.load(tmp_path / "swing.toml")
    assert loaded["slide"].law_numbers().tolist() == system["slide"].law_numbers().tolist()
    assert loaded["disc"].parameters() == system["disc"].parameters()


def test_what_files_cannot_save_is_told(tmp_path: Path) -> None:
    class Forgetful(Disc):
        def __init__(self, name: str, size: float) -> None:
            super().__init__(name, size, size)

    tt.register_block(Forgetful, "forgetful")
    s = tt.System("lost", gravity=[0, 0, 0])
    s.connect("world", Forgetful("disc", 1.0), tt.Free("base"))
    with pytest.raises(tt.ModelError, match=r"disc\.size.*not-kept"):
        s.save(tmp_path / "lost.toml")


def test_it_is_linearised() -> None:
    """By complex steps of the law in both engines."""
    one, other = (swing().resolve(engine) for engine in ("compiled", "reference"))
    models = [tt.linearize(m, tt.trim(m), inputs=["pivot"], outputs=["slide.extension.q"]) for m in (one, other)]
    assert pytest.approx(models[1].A, rel=1e-9, abs=1e-9) == models[0].A


def test_its_parameters_may_be_uncertain() -> None:
    """Members of the fractional model are linear models of the members, to rounding of polynomials found by interpolation."""
    m = swing(gravity=0.0).resolve()
    ranges = {"slide.slider": (0.8, 1.2), "slide.spring": (300.0, 500.0), "disc.density": tt.percent(10)}
    lft = tt.lft(m, m.neutral(), ranges, inputs=["pivot", "slide"], outputs=["slide.extension.q", "pivot.q"])
    assert lft.check(3) < 1e-9


def test_wrong_answers_are_found() -> None:
    """The negative control of the checks."""

    class Light(Slide):
        def mass_properties(self) -> MassProperties:
            mass, com, inertia = super().mass_properties()
            return MassProperties(2 * mass, com, inertia)

    class Shrinking(Slide):
        def picture(self, q: np.ndarray) -> tt.Picture | None:  # type: ignore[name-defined, override]
            picture = super().picture(q)
            return picture if q[0] == 0 else picture._replace(points=picture.points[:2])

    class Misnamed(Slide):
        load_parameters = ("weight",)  # type: ignore[assignment]

    class Undisturbed(Slide):
        disturbances = ("ripple",)

    kinds = (Light, "mass_properties"), (Shrinking, "picture"), (Misnamed, "load_parameters"), (Undisturbed, "disturbances")
    for cls, where in kinds:
        with pytest.raises(tt.ModelError, match=rf"own\.{where}"):
            tt.check_block(cls("own"))
