"""The live view: it shows bodies where the model has them, and moves them."""

from __future__ import annotations

import sys
import urllib.request
from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.closed_systems import four_bar
from tests.refusals import refusal
from tests.solvers.pictures.animated import motion, pendulum
from titop.blocks.basics.spatial import quaternion_matrix


def test_the_package_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "viser", None)
    with refusal("missing-extra", "titop[view]"):
        tt.view(pendulum())
    with refusal("wrong-type", "a model, or a trajectory"):
        tt.view(tt.System("s"))  # type: ignore[arg-type]


def test_bodies_stand_where_the_model_has_them() -> None:
    """Of an arm with a bending boom: frames, the boom's surface or line, and a slider for each coordinate."""
    pytest.importorskip("viser")
    s = tt.System("arm")
    boom = tt.Beam("boom", length=2.0, density=2700.0, area=1e-4, young=7e10, iy=1e-9, iz=2e-9)
    s.connect("world", boom, joint=tt.Revolute("hinge", axis=[0, 1, 0], limits=tt.Limits(-1.0, 0.5)))
    s.connect(boom.port("C"), tt.RigidBody("tip", mass=0.5, inertia=1e-3), joint=tt.Weld("end"))
    model = s.resolve("reference")
    viewer: Any = tt.view(model, port=8765)
    try:
        with urllib.request.urlopen(viewer.url) as page:
            assert b"<html" in page.read(1000)
        camera = viewer._server.initial_camera
        assert camera.look_at == pytest.approx([1.0, 0.0, 0.0], abs=0.15)  # the middle of the boom
        assert 2.0 < np.linalg.norm(np.subtract(camera.position, camera.look_at)) < 2.5  # of 2 m
        q = model.neutral() + np.linspace(0.2, 0.01, model.nq)
        viewer.show(q)
        for frame, name in zip(viewer._frames, viewer._scene.names, strict=True):
            rotation, position = model.pose(name, q)
            assert frame.position == pytest.approx(position)
            assert quaternion_matrix(np.roll(frame.wxyz, -1)) == pytest.approx(rotation)
        # the line of a block without surface, or the surface, ends at the boom's ends
        ends = np.array([model.pose(name, q)[1] for name in ("boom", "boom.C")])
        drawn = [np.reshape(line.points, (-1, 3)) for line in viewer._lines] + [mesh.vertices for mesh in viewer._soft]
        points = np.concatenate([*drawn, np.zeros((1, 3))])
        assert np.linalg.norm(points[:, None] - ends, axis=2).min(axis=0) == pytest.approx([0, 0], abs=1e-6)
        # negative control: at another configuration they do not
        viewer.show(model.neutral())
        drawn = [np.reshape(line.points, (-1, 3)) for line in viewer._lines] + [mesh.vertices for mesh in viewer._soft]
        assert np.linalg.norm(np.concatenate(drawn) - ends[1], axis=1).min() > 0.01
    finally:
        viewer.stop()


def test_loops_are_closed() -> None:
    pytest.importorskip("viser")
    model = four_bar(tt.RigidClosure("pin", "planar_revolute")).resolve("reference")
    closed = model.assemble([0.5, 0.5, -1.0])
    viewer: Any = tt.view(model, closed, port=8767)
    try:
        np.testing.assert_array_equal(viewer.q, closed)
        slider = viewer.sliders[model.coordinate_names[0]]
        slider.value = 0.1
        viewer.move(model.coordinate_names[0])
        assert viewer.q[0] == pytest.approx(closed[0] + 0.1)
        # to the tolerance of the search for a closed configuration
        assert np.abs(model.closure_error(viewer.q)).max() < 1e-9
    finally:
        viewer.stop()


def test_a_trajectory_plays() -> None:
    pytest.importorskip("viser")
    viewer = tt.view(motion(pendulum()), port=8766)
    try:
        assert viewer.is_open
        assert viewer.q.shape == (1,)
    finally:
        viewer.stop()
    assert not viewer.is_open
