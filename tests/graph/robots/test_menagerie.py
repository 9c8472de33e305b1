"""Robots of MuJoCo's menagerie in MJCF, without their meshes: their smooth dynamics and loops against MuJoCo.

The files have licences of their own and are not here: the variable TITOP_MJCF names a folder with a folder for each robot.
"""

from __future__ import annotations

import os
import re
import warnings
from pathlib import Path

import numpy as np
import pytest

import titop as tt

pytest.importorskip("mujoco")

import mujoco

from tests.graph.robots.mujoco_peer import at_state, compiled, loop_accelerations, smooth, worst_residual

FOLDER = Path(os.environ.get("TITOP_MJCF", ""))
#: Files that others include, or that include robots which are there by themselves.
PARTS = ("joint_position_actuators.xml", "keyframe_ctrl.xml", "scene.xml")
ROBOTS = {path.parent.name: path for path in sorted(FOLDER.glob("*/*.xml")) if path.name not in PARTS} if FOLDER.name else {}
#: Robots whose bodies have mass from meshes: refused without these. Those that have no mass at all stay so.
WITHOUT_MASS = ("hello_robot_stretch", "wonik_allegro")
REFUSED = (*WITHOUT_MASS, "robotiq_2f85")
pytestmark = pytest.mark.skipif(not ROBOTS, reason="needs TITOP_MJCF=folder of MuJoCo's menagerie")


def load(name: str) -> tt.System:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tt.ModelWarning)
        return tt.from_mjcf(ROBOTS[name], repair=name in REFUSED)


@pytest.mark.parametrize("name", ROBOTS)
def test_robots_are_read_or_refused_by_the_meshes_that_are_missing(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tt.ModelWarning)
        if name not in REFUSED:
            tt.from_mjcf(ROBOTS[name])
            return
        with pytest.raises(tt.ModelError, match="missing-mesh"):
            tt.from_mjcf(ROBOTS[name])


@pytest.mark.parametrize("name", [name for name in ROBOTS if name not in WITHOUT_MASS])
def test_smooth_dynamics_are_those_of_mujoco(name: str) -> None:
    assert worst_residual(load(name), compiled(ROBOTS[name])) < 1e-13  # measured below 1e-15: sums in another order


@pytest.mark.parametrize("name", [name for name in ("agility_cassie", "robotiq_2f85", "franka_emika_panda") if name in ROBOTS])
def test_loops_move_as_lagrange_multipliers_on_jacobians_of_mujoco_say(name: str) -> None:
    s = load(name)
    q = smooth(s).integrate(smooth(s).neutral(), 0.02 * np.random.default_rng(0).normal(size=smooth(s).nv))
    titops, expected = loop_accelerations(s, compiled(ROBOTS[name]), q)
    np.testing.assert_allclose(titops, expected, rtol=0, atol=1e-7 * np.abs(expected).max())  # of differences of Jacobians


@pytest.mark.parametrize("name", [name for name in ROBOTS if name not in WITHOUT_MASS])
def test_shapes_stand_where_mujoco_has_its_geoms(name: str) -> None:
    s, model = load(name), compiled(ROBOTS[name])
    m, rng = s.resolve("reference"), np.random.default_rng(2)
    states = [m.random_configuration(rng) for _ in range(3)]
    datas = [at_state(model, s, q, np.zeros(m.nv)) for q in states]
    free = set(range(model.ngeom))
    for body in range(1, model.nbody):
        block = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_BODY, body) or f"body{body}"
        for look in s[re.sub(r"[^\w/-]", "_", block)].visuals:
            apart = {}  # of each geom of the body, over all states
            for k in free & set(np.flatnonzero(model.geom_bodyid == body)):
                apart[k] = 0.0
                for q, data in zip(states, datas, strict=True):
                    rotation, position = m.pose(s[re.sub(r"[^\w/-]", "_", block)].name, q)
                    apart[k] = max(
                        apart[k],
                        np.abs(position + rotation @ look["position"] - data.geom_xpos[k]).max(),
                        np.abs(rotation @ look["rotation"] - data.geom_xmat[k].reshape(3, 3)).max(),
                        abs(model.geom_size[k][0] * (2 if "box" in look else 1) - np.ravel(look[next(iter(look))])[0]),
                    )
            nearest = min(apart, key=apart.__getitem__)
            assert apart[nearest] < 1e-12  # chains of 10 bodies of 1 m; the same geoms once more elsewhere are 1e-3 off
            free.remove(nearest)
