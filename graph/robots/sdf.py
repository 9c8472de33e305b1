"""Systems from robot descriptions in SDF, the language of Gazebo and Drake."""

from __future__ import annotations

import os
from typing import Any

from titop.blocks.basics.errors import Finding
from titop.blocks.basics.garbage import collection_paused
from titop.blocks.basics.user_functions import check_switch
from titop.graph.robots.building import build
from titop.graph.robots.repair import repair as mend
from titop.graph.robots.sdf_reader import SdfReader
from titop.graph.robots.xml_gate import folder_of, path_of, read_xml
from titop.graph.system import System


def from_sdf(
    path_or_text: str | bytes | os.PathLike[str], base: str | None = None, gravity: Any = None, repair: bool = False
) -> System:
    """Return the system that an SDF file describes: a model, or a world of models.

    Parameters
    ----------
    path_or_text : str, bytes or path
        A local file, or the SDF itself (a text that begins with ``<``). Included models are read from beside the file:
        ``model://arm`` from the folder ``arm`` there, or beside the file's folder.
    base : {"fixed", "free"}, optional
        Weld links that no joint carries to the world, or let them move freely. By default as the file has it: those of static
        models are welded, others move freely.
    gravity : array_like (3,), m/s^2, optional
        That of the world, or (0, 0, -9.8), by default.
    repair : bool
        Mend what `from_urdf` mends.

    Returns
    -------
    System
        Links are rigid bodies in link axes; parts of models in worlds and models are called ``model/link``. The neutral
        configuration is that of the file. Links that no joint carries are connected first, by ``link_base``.

    Raises
    ------
    ModelError
        As `from_urdf`.

    Warns
    -----
    ModelWarning
        As `from_urdf`, and for links without ``<inertial>``.

    Notes
    -----
    - Poses are given in any frame (``relative_to``, ``attached_to``), axes too (``expressed_in``); degrees and quaternions.
      Before SDF 1.5 axes are those of the model.
    - ``revolute``, ``continuous``, ``prismatic``, ``ball``, ``fixed``, ``universal``, ``revolute2`` (two axes through one
      point), ``screw``; ``gearbox`` is refused. A second joint to a link closes a loop, and becomes a `RigidClosure`.
    - ``<dynamics>`` gives damping, friction and spring, ``<limit>`` `Limits`, ``<mimic>`` a `Gear`.
    - ``<visual>`` says what pictures show, as of `from_urdf`; ellipsoids too.
    - Silently left out: collision, sensor, plugin, light, physics, and what belongs to these.

    Examples
    --------
    >>> import titop as tt
    >>> s = tt.from_sdf('''<sdf version="1.9"><model name="pendulum">
    ...   <link name="bob"><inertial><pose>0 0 -1 0 0 0</pose><mass>2</mass>
    ...     <inertia><ixx>0</ixx><iyy>0</iyy><izz>0</izz></inertia></inertial></link>
    ...   <joint name="hinge" type="revolute"><parent>world</parent><child>bob</child><axis><xyz>1 0 0</xyz></axis></joint>
    ... </model></sdf>''')
    >>> round(float(s.resolve().inverse_dynamics([0.5], [0.0], [0.0])[0]), 6)
    9.396741
    """
    check_switch("repair", repair)
    path_or_text = path_of(path_or_text, "SDF")
    with collection_paused():
        reader = SdfReader(read_xml(path_or_text), folder_of(path_or_text), repair, base)
        robot = reader.robot
        if base not in (None, "fixed", "free"):
            robot.report.findings.append(Finding("bad-base", "base", base, "None, 'fixed' or 'free'", "choose one of them"))
        if repair:
            mend(robot)
        robot.check_mimics()
        field = (0.0, 0.0, -9.8) if reader.gravity is None else reader.gravity
        return build(robot, field if gravity is None else gravity).system
