"""Systems from robot descriptions in MJCF, MuJoCo's language."""

from __future__ import annotations

import os
from typing import Any

from titop.blocks.basics.errors import ModelError, warn
from titop.blocks.basics.garbage import collection_paused
from titop.blocks.basics.user_functions import check_switch
from titop.graph.robots.building import build
from titop.graph.robots.mjcf_parts import PartReader
from titop.graph.robots.mjcf_reader import read_mjcf
from titop.graph.robots.repair import repair as mend
from titop.graph.robots.xml_gate import path_of
from titop.graph.system import System


def from_mjcf(
    path_or_text: str | bytes | os.PathLike[str], base: str | None = None, gravity: Any = None, repair: bool = False
) -> System:
    """Return the system that an MJCF file describes.

    Parameters
    ----------
    path_or_text : str, bytes or path
        A local file, the MJCF itself (a text that begins with ``<``), or a name such as ``"panda_mj_description"`` of the
        package robot_descriptions. MuJoCo reads it (``pip install "titop[mjcf]"``), and the files that it includes.
    base : {"fixed", "free"}, optional
        Weld what moves freely to the world, or let the root move freely; as the file has it by default.
    gravity : array_like (3,), m/s^2, optional
        That of the file by default.
    repair : bool
        Leave out meshes that are missing, with their mass, and mend what `from_urdf` mends.

    Returns
    -------
    System
        A rigid body for each body, in its axes, with the inertia that MuJoCo compiles; a joint for each joint, by its name.
        Of a body with several joints the first ones carry massless bodies. The state is MuJoCo's, in its order, but for
        quaternions and the velocities of free joints: `to_mujoco`, `from_mujoco`. ``keyframes`` has the file's states:
        ``m.configuration(s.keyframes["home"].configuration)``.

    Raises
    ------
    ModelError
        As `from_urdf`; with what MuJoCo refuses; where MuJoCo is not installed.

    Warns
    -----
    ModelWarning
        As `from_urdf`, for sensors, actuators, drag of the medium, limits of tendons and ball joints and equalities that are
        not active, which are left out, and for what MuJoCo warns of.

    Notes
    -----
    - Smooth dynamics are MuJoCo's: stiffness with its ``springref``, damping, armature, ``gravcomp`` (a `Load`), ``ref``.
      Friction loss becomes `Friction`, ranges are `Limits` without stops. Contacts are left out silently.
    - Geoms give mass, and say what pictures show (``s["link"].visuals``, ``s.world.visuals``): those of group 2, and of the
      groups up to 2 in which the body has geoms that touch nothing; else all of groups 0 to 2, which MuJoCo's viewer shows,
      as always of the world; else those that touch, such as where meshes are missing. Planes are thin boxes.
    - ``connect`` and ``weld`` become rigid closures, ``joint`` and ``tendon`` equalities of first order a `LinearRelation`; one
      between two sites a `Distance`. They are rigid here, soft in MuJoCo. A weld of ``torquescale`` 0 ties points alone.
    - Sites become ports. Springs of tendons become a `CoordinateSpring`, `SpringDamper` or `Cable`.
    - Inputs are MuJoCo's ``ctrl``: ``motor`` becomes a `Motor` (that times gear and gain is the effort); ``position``,
      ``velocity`` and ``general`` with an affine bias a `CoordinateSpring` with a command; those at sites a `Force`, `Torque`
      or `Propeller`; those that shorten tendons along sites a `Cable`. Filters become lags. Ranges of control and force do not
      saturate; only those of motors are kept, as their largest value. Actuators of groups that are disabled are left out.
    - Sensors of joints, gyroscopes and accelerometers become sensors; others are left out.

    Examples
    --------
    >>> import titop as tt
    >>> s = tt.from_mjcf('''<mujoco model="pendulum"><worldbody><body name="bob">
    ...   <joint name="hinge" axis="1 0 0"/><inertial pos="0 0 -1" mass="2" diaginertia="1e-9 1e-9 1e-9"/>
    ... </body></worldbody></mujoco>''')
    >>> round(float(s.resolve().inverse_dynamics([0.5], [0.0], [0.0])[0]), 6)
    9.406329
    """
    check_switch("repair", repair)
    path_or_text = path_of(path_or_text, "MJCF")
    with collection_paused():
        read = read_mjcf(path_or_text, base, repair)
        if repair:
            mend(read.robot)
        built = build(read.robot, _gravity(read) if gravity is None else gravity)
        parts = PartReader(read, built)
        parts.add_all()
        if parts.report.findings:
            raise ModelError(parts.report.findings)
        warn(parts.report.warnings())
        return built.system


def _gravity(read: Any) -> Any:
    return read.model.opt.gravity.copy() if read.is_enabled("GRAVITY") else (0.0, 0.0, 0.0)
