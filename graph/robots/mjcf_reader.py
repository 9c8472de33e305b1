"""MJCF by MuJoCo's own reader and compiler: the links and joints of a compiled model.

Meshes are read only where bodies have their mass from them, or MuJoCo alone can; else pictures read them.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, missing_extra
from titop.blocks.basics.pose import Pose
from titop.blocks.basics.spatial import rotation_exp
from titop.graph.robots.building import free_name
from titop.graph.robots.looks import Looks
from titop.graph.robots.mjcf_looks import MeshFile, body_looks, mesh_file, mujoco_rotation
from titop.graph.robots.report import LONGEST_NAME, Report
from titop.graph.robots.robot import WORLD, Robot, RobotJoint, RobotLink, composed
from titop.graph.robots.xml_gate import folder_of, is_text

#: MuJoCo's types of joints and the kinds that they are.
_KINDS = ("floating", "ball", "prismatic", "revolute")
#: What titop has no law for, with the sizes and arrays of a compiled model that tell that there is some.
_REFUSED = {
    "flexible bodies (flex)": "nflex",
    "plugins": "nplugin",
    "stiffness that is no constant": "jnt_stiffnesspoly",
    "damping that is no constant": "dof_dampingpoly",
    "joints that yield": "jnt_springyield",
    "tendons that yield": "tendon_springyield",
    "stiffness of tendons that is no constant": "tendon_stiffnesspoly",
    "damping of tendons that is no constant": "tendon_dampingpoly",
    "armature of tendons": "tendon_armature",
}


class Mjcf(NamedTuple):
    """A compiled model: MuJoCo's module and model, the robot, and the names of its bodies and joints by their numbers."""

    mujoco: Any
    model: Any
    robot: Robot
    bodies: list[str]
    joints: list[str]

    def name(self, kind: str, k: int) -> str:
        """Return the name of the object number `k` of a kind (``"mjOBJ_SITE"``), empty where it has none."""
        return self.mujoco.mj_id2name(self.model, getattr(self.mujoco.mjtObj, kind), k) or ""

    def kind(self, group: str, value: Any) -> str:
        """Return the name of a value of one of MuJoCo's enumerations, such as ``"mjEQ_CONNECT"`` of ``"mjtEq"``."""
        name: str = getattr(self.mujoco, group)(int(value)).name
        return name

    def is_enabled(self, part: str) -> bool:
        """Tell whether a part of the dynamics (``"SPRING"``) is not disabled by the file."""
        return not self.model.opt.disableflags & getattr(self.mujoco.mjtDisableBit, f"mjDSBL_{part}")


def read_mjcf(path_or_text: str | bytes | os.PathLike[str], base: str | None, repair: bool) -> Mjcf:
    """Return the model of an MJCF file or text, with its links and joints; see `titop.graph.robots.mjcf.from_mjcf`."""
    try:
        import mujoco
    except ImportError:
        raise missing_extra("mujoco", "mjcf", "from_mjcf", "MuJoCo, whose reader reads MJCF") from None
    try:
        with _heard(mujoco) as warned:
            if is_text(path_or_text):
                text = path_or_text.decode() if isinstance(path_or_text, bytes) else path_or_text
                spec = mujoco.MjSpec.from_string(text)
            else:
                spec = mujoco.MjSpec.from_file(os.fspath(path_or_text))
            report = Report((spec.modelname or "robot")[:LONGEST_NAME], "MJCF")
            left_out = _leave_out_looks(spec, mujoco, report, repair)
            if report.findings:
                raise ModelError(report.findings)
            model = spec.compile()
    except (ValueError, TypeError, mujoco.FatalError) as error:
        if isinstance(error, ModelError):
            raise
        expected, advice = "MJCF that MuJoCo compiles", "correct what MuJoCo names"
        raise ModelError(Finding("malformed-mjcf", "path_or_text", error, expected, advice)) from None
    for said in warned:
        report.suspect("malformed-mjcf", "", said, "MJCF of which MuJoCo does not warn", "correct what MuJoCo names")
    robot = Robot(report)
    read = Mjcf(mujoco, model, robot, *_names(mujoco, model))
    for what, attribute in _REFUSED.items():
        if np.any(getattr(model, attribute, 0)):
            report.error("not-representable", attribute, what, "what titop has a law for", "remove it, or add it in Python")
    files = {int(geom.id): file for geom, file in left_out}
    robot.visuals, *looks = body_looks(mujoco, model, files, Looks(folder_of(path_or_text), report))
    for body, visuals in enumerate(looks, start=1):
        _read_body(read, body, visuals)
    _set_base(read, base)
    return read


@contextmanager
def _heard(mujoco: Any) -> Iterator[list[str]]:
    """Collect what MuJoCo warns of, which it else writes into a file in the working directory, or at a line of titop's."""
    warned: list[str] = []
    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(warned.append)
    try:
        with warnings.catch_warnings(record=True) as issued:
            warnings.simplefilter("always")
            yield warned
    finally:
        mujoco.set_mju_user_warning(before)
        warned += dict.fromkeys(str(each.message) for each in issued)


def _names(mujoco: Any, model: Any) -> tuple[list[str], list[str]]:
    """Return names of bodies and joints: those without one have their number, or their body's name."""
    body_type, joint_type = mujoco.mjtObj.mjOBJ_BODY, mujoco.mjtObj.mjOBJ_JOINT
    bodies = [mujoco.mj_id2name(model, body_type, k) or "" for k in range(model.nbody)]
    joints = [mujoco.mj_id2name(model, joint_type, k) or "" for k in range(model.njnt)]
    bodies = [name or free_name(f"body{k}", bodies) for k, name in enumerate(bodies)]
    bodies[0] = WORLD
    for k in range(model.njnt):
        body = model.jnt_bodyid[k]
        number = k - model.body_jntadr[body] + 1 if model.body_jntnum[body] > 1 else ""
        joints[k] = joints[k] or free_name(f"{bodies[body]}_joint{number}", joints)
    return bodies, joints


# -- what says nothing about the dynamics ------------------------------------------------------------------------------


def _leave_out_looks(spec: Any, mujoco: Any, report: Report, repair: bool) -> list[tuple[Any, MeshFile | None]]:
    """Remove textures, height fields and meshes that weigh nothing; report meshes that weigh something and are missing.

    Geoms without their mesh stay, as spheres without mass: contacts and sensors may name them. They are returned.
    """
    spec.compiler.discardvisual = False
    for material in spec.materials:
        material.textures = [""] * len(material.textures)
    for light in spec.lights:
        light.texture = ""
    fields: list[tuple[Any, MeshFile | None]] = []
    fields += [(geom, None) for geom in spec.geoms if geom.type == mujoco.mjtGeom.mjGEOM_HFIELD]
    missing: dict[str, list[str]] = {}
    meshes = {mesh.name or os.path.splitext(os.path.basename(mesh.file))[0]: mesh for mesh in spec.meshes}
    for geom in [geom for geom in spec.geoms if geom.meshname]:
        mesh = meshes.get(geom.meshname)
        file, is_missing = mesh and mesh_file(mesh, spec), mesh is not None and _is_missing(mesh, spec)
        if is_missing and _weighs(geom, spec, mujoco):
            missing.setdefault(geom.parent.name or "a body", []).append(geom.meshname)
        elif _weighs(geom, spec, mujoco) or not (file or is_missing or mesh is None):
            continue
        fields.append((geom, file))
    for body, names in missing.items():
        found, expected = f"no mesh {names[0]!r}", f"the meshes that give {body!r} its mass, or its <inertial>"
        if repair:
            report.repaired(body, found, expected, "left out with its mass")
        else:
            advice = "put them where the file says, write <inertial>, or repair=True leaves their mass out"
            report.error("missing-mesh", body, found, expected, advice)
    for geom, _ in fields:
        geom.type, geom.size, geom.mass = mujoco.mjtGeom.mjGEOM_SPHERE, [0.01, 0.0, 0.0], 0.0
        geom.meshname = geom.hfieldname = ""
    for looks in (spec.textures, spec.skins, spec.hfields):
        for look in looks:
            spec.delete(look)
    kept = {geom.meshname for geom in spec.geoms}
    for mesh in [mesh for name, mesh in meshes.items() if name not in kept and mesh.file]:
        spec.delete(mesh)
    return fields


def _is_missing(mesh: Any, spec: Any) -> bool:
    """Tell whether a mesh's file is not where the file says; of attached models, which are elsewhere, MuJoCo tells."""
    file = os.path.basename(mesh.file) if spec.strippath else mesh.file
    path = os.path.join(spec.modelfiledir, mesh.compiler.meshdir, file)
    return bool(file) and mesh.compiler is spec.compiler and not os.path.isfile(path)


def _weighs(geom: Any, spec: Any, mujoco: Any) -> bool:
    """Tell whether MuJoCo takes a share of its body's mass from a geom."""
    body, compiler = geom.parent, geom.parent.compiler
    least, most = compiler.inertiagrouprange
    if body == spec.worldbody or not least <= geom.group <= most or geom.mass == 0 or geom.density == 0:
        return False
    always = compiler.inertiafromgeom == mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_TRUE
    never = compiler.inertiafromgeom == mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_FALSE
    return always or not (never or body.explicitinertial)


# -- bodies and joints -------------------------------------------------------------------------------------------------


def _read_body(read: Mjcf, body: int, visuals: list[dict[str, Any]]) -> None:
    """Add the links and joints of a body: one link for each of its joints, of which the last has the mass."""
    model, robot, name = read.model, read.robot, read.bodies[body]
    pose = Pose(model.body_pos[body], mujoco_rotation(model.body_quat[body]))
    parent, count = read.bodies[model.body_parentid[body]], int(model.body_jntnum[body])
    if model.body_mocapid[body] >= 0:
        advice = "its place is that of the file: connect it by a joint that moves, and prescribe this"
        robot.report.report_unused("mocap", name, advice)
    if not count:
        robot.joints.append(RobotJoint(free_name(f"{name}_weld", read.joints), "fixed", parent, name, pose))
    for k in range(count):
        joint = int(model.body_jntadr[body]) + k
        child = name if k == count - 1 else free_name(f"{name}_{read.joints[joint]}", read.bodies)
        robot.joints.append(_read_joint(read, joint, parent, child, pose))
        if child != name:
            robot.links.append(RobotLink(child))
        parent, pose = child, Pose()
    axes = mujoco_rotation(model.body_iquat[body])
    inertia = axes @ np.diag(model.body_inertia[body]) @ axes.T
    mass, com = float(model.body_mass[body]), model.body_ipos[body].copy()
    robot.links.append(RobotLink(name, mass, com, (inertia + inertia.T) / 2, visuals))


def _read_joint(read: Mjcf, k: int, parent: str, child: str, pose: Pose) -> RobotJoint:
    """Return a joint; its coordinate is MuJoCo's, whose zero is not where the file draws it if there is a ``ref``."""
    model, name, report = read.model, read.joints[k], read.robot.report
    kind, dof, place = _KINDS[model.jnt_type[k]], model.jnt_dofadr[k], model.jnt_qposadr[k]
    stiffness = float(model.jnt_stiffness[k]) if read.is_enabled("SPRING") else 0.0
    passive: dict[str, Any] = {"armature": float(model.dof_armature[dof]), "stiffness": stiffness}
    passive["damping"] = float(model.dof_damping[dof]) if read.is_enabled("DAMPER") else 0.0
    passive["friction"] = float(model.dof_frictionloss[dof]) if read.is_enabled("FRICTIONLOSS") else 0.0
    if kind == "floating":
        for field in ("stiffness", "armature"):
            if passive[field]:
                advice = 'write <freejoint/>, or armature="0" and stiffness="0"'
                expected = "none at a free joint: it would act in the world's axes, which turn in the body's"
                report.error("not-representable", f"{name}.{field}", passive[field], expected, advice)
        return RobotJoint(name, kind, parent, child, Pose(), **passive)
    at, axis = model.jnt_pos[k].copy(), model.jnt_axis[k].copy()
    origin, port = composed(pose, Pose(at)), Pose(at) if at.any() else None
    if kind == "ball":
        if model.jnt_limited[k]:
            report.report_unused("range of a ball joint", name, "add stops in Python if it reaches them")
        return RobotJoint(name, kind, parent, child, origin, port=port, **passive)
    limits = {}
    if model.jnt_limited[k]:
        limits["lower"], limits["upper"] = map(float, model.jnt_range[k])
    if model.jnt_actfrclimited[k]:
        limits["effort"] = float(np.abs(model.jnt_actfrcrange[k]).max())
    back = -float(model.qpos0[place]) * axis
    if back.any():
        origin = composed(origin, Pose(rotation=rotation_exp(back)) if kind == "revolute" else Pose(back))
    rest = float(model.qpos_spring[place])
    return RobotJoint(name, kind, parent, child, origin, axis, limits, rest=rest if stiffness else 0.0, port=port, **passive)


def _set_base(read: Mjcf, base: str | None) -> None:
    """Weld what moves freely to the world, or let the one root that is welded to it move freely."""
    robot = read.robot
    if base == "fixed":
        model = read.model
        for k, joint in enumerate(robot.joints):
            if joint.kind == "floating":
                body = read.bodies.index(joint.child)
                pose = Pose(model.body_pos[body], mujoco_rotation(model.body_quat[body]))
                robot.joints[k] = RobotJoint(joint.name, "fixed", joint.parent, joint.child, pose)
    elif base == "free":
        if any(joint.kind == "floating" for joint in robot.joints):
            return
        roots = [k for k, joint in enumerate(robot.joints) if joint.parent == WORLD]
        if len(roots) == 1 and robot.joints[roots[0]].kind == "fixed":
            root = robot.joints[roots[0]]
            robot.joints[roots[0]] = RobotJoint(root.name, "floating", WORLD, root.child, Pose())
            return
        found = ", ".join(robot.joints[k].child for k in roots) or "no body"
        expected = "one body that is welded to the world, which then moves freely"
        robot.report.error("bad-base", "base", f"'free', with {found}", expected, "write <freejoint/> in the file")
    elif base is not None:
        robot.report.error("bad-base", "base", base, "None, 'fixed' or 'free'", "choose one of them")
