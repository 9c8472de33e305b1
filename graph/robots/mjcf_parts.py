"""What MJCF says beside links and joints: sites, closures, tendons, actuators, sensors, gravity compensation, keyframes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import SAME
from titop.blocks.constraints.distance import Distance
from titop.blocks.constraints.relation import LinearRelation
from titop.blocks.constraints.rigid_closure import RigidClosure
from titop.blocks.contract.block import PortRef
from titop.blocks.devices.actuators import Force, Motor, Propeller, Torque
from titop.blocks.devices.loads import Load
from titop.blocks.devices.sensors import Accelerometer, Encoder, Gyro, Tachometer
from titop.blocks.devices.signal_path import SignalPath
from titop.blocks.interactions.cable import Cable
from titop.blocks.interactions.springs import CoordinateSpring, SpringDamper
from titop.graph.robots.building import Built, add_port, allowed, free_name
from titop.graph.robots.mjcf_looks import mujoco_rotation
from titop.graph.robots.mjcf_reader import Mjcf
from titop.graph.robots.mujoco_states import keyframe
from titop.graph.robots.report import Report

#: Sensors that are blocks, with the kind of object that they name.
_SENSORS: dict[str, tuple[Callable[..., Any], str]] = {
    "mjSENS_JOINTPOS": (Encoder, "mjOBJ_JOINT"),
    "mjSENS_JOINTVEL": (Tachometer, "mjOBJ_JOINT"),
    "mjSENS_GYRO": (Gyro, "mjOBJ_SITE"),
    "mjSENS_ACCELEROMETER": (Accelerometer, "mjOBJ_SITE"),
}


class PartReader:
    """Adds to a system what the compiled model has beside its tree; what cannot be held is reported."""

    def __init__(self, read: Mjcf, built: Built) -> None:
        self.read, self.model, self.report = read, read.model, Report(read.robot.report.robot, read.robot.report.language)
        self.system, self.bodies, self.joints = built
        self.sites = [self._site(k) for k in range(self.model.nsite)]

    def add_all(self) -> None:
        """Add all parts, in the order of the file within each kind."""
        self._add_gravity_compensation()
        if self.read.is_enabled("EQUALITY"):
            for k in range(self.model.neq):
                self._add_equality(k)
        for k in range(self.model.ntendon):
            self._add_tendon(k)
        if self.read.is_enabled("ACTUATION"):
            groups = self.model.opt.disableactuator
            for k, group in enumerate(map(int, self.model.actuator_group)):
                if group not in range(31) or not groups >> group & 1:  # MuJoCo has a switch for each of these groups
                    self._add_actuator(k)
        for k in range(self.model.nsensor):
            self._add_sensor(k)
        for k in range(self.model.nkey):
            name = self.read.name("mjOBJ_KEY", k) or f"key{k}"
            if self.model.nq == sum(joint.nq for joint in self.joints.values()):
                self.system.keyframes[name] = keyframe(self.system, self.model.key_qpos[k], self.model.key_qvel[k])
        if self.model.opt.density or self.model.opt.viscosity:
            advice = "set density and viscosity to 0, or give bodies fluid= and drag= in Python"
            self.report.report_unused("drag of the medium (density, viscosity)", "option", advice)

    def _name(self, kind: str, k: int, otherwise: str) -> str:
        return free_name(allowed(self.read.name(kind, k) or f"{otherwise}{k}"), self.system.by_name)

    def _refuse(self, where: str, what: str, expected: str, advice: str = "remove it, or add it in Python") -> None:
        self.report.error("not-representable", where, what, expected, advice)

    # -- places ----------------------------------------------------------------------------------------------------------

    def _site(self, k: int) -> PortRef:
        model = self.model
        name = allowed(self.read.name("mjOBJ_SITE", k) or f"site{k}")
        return self._port(int(model.site_bodyid[k]), name, model.site_pos[k], mujoco_rotation(model.site_quat[k]))

    def _port(self, body: int, name: str, position: Any, rotation: Array | None = None) -> PortRef:
        return add_port(self.bodies[self.read.bodies[body]], name, position, rotation)

    def _add_gravity_compensation(self) -> None:
        model = self.model
        if self.system.field is not None and model.body_gravcomp.any():
            self._refuse("gravcomp", "compensation of a field of gravity", "a uniform field")
            return
        for body in map(int, np.flatnonzero(model.body_gravcomp)):
            name = free_name(f"{self.bodies[self.read.bodies[body]].name}_gravcomp", self.system.by_name)
            force = -model.body_gravcomp[body] * model.body_mass[body] * self.system.gravity
            self.system.add_load(Load(name, self._port(body, "com", model.body_ipos[body]), force=force, frame="world"))

    # -- constraints -----------------------------------------------------------------------------------------------------

    def _add_equality(self, k: int) -> None:
        model, kind = self.model, self.read.kind("mjtEq", self.model.eq_type[k])
        name, data = self._name("mjOBJ_EQUALITY", k, "equality"), model.eq_data[k]
        if not model.eq_active0[k]:
            self.report.report_unused("an equality that is not active", name, 'add it in Python, or write active="true"')
        elif kind in ("mjEQ_CONNECT", "mjEQ_WELD"):
            self._add_closure(k, name, kind == "mjEQ_WELD")
        elif kind == "mjEQ_JOINT":
            first, second = ({self._joint(j): 1.0} if j >= 0 else {} for j in (model.eq_obj1id[k], model.eq_obj2id[k]))
            starts = [float(model.qpos0[model.jnt_qposadr[j]]) for j in (model.eq_obj1id[k], model.eq_obj2id[k])]  # -1: unused
            self._add_relation(name, first, second, starts, data)
        elif kind == "mjEQ_TENDON":
            self._add_tendon_equality(k, name, data)
        else:
            self._refuse(name, "an equality of flexible bodies", "connect, weld, joint or tendon")

    def _add_closure(self, k: int, name: str, is_weld: bool) -> None:
        model, one, two = self.model, int(self.model.eq_obj1id[k]), int(self.model.eq_obj2id[k])
        if self.read.kind("mjtObj", model.eq_objtype[k]) == "mjOBJ_SITE":
            ports = [self.sites[one], self.sites[two]]
        elif is_weld:  # the point is given in both bodies, that of the second first
            data = model.eq_data[k]
            ports = [self._port(one, name, data[3:6], mujoco_rotation(data[6:10])), self._port(two, name, data[:3])]
        else:
            ports = [self._port(one, name, model.eq_data[k, :3]), self._port(two, name, model.eq_data[k, 3:6])]
        kind = "weld" if is_weld and model.eq_data[k, 10] else "spherical"  # 10: how much it resists turning
        self.system.close_loop(ports[0], ports[1], RigidClosure(name, kind, redundant=True))

    def _joint(self, k: int) -> str:
        return self.joints[self.read.joints[k]].name

    def _add_relation(
        self, name: str, first: dict[str, float], second: dict[str, float], starts: list[float], data: Any
    ) -> None:
        """Add ``first - start = a0 + a1 (second - start)``, of sums of coordinates by their factors."""
        if not second:
            data = [data[0], 0.0, 0.0, 0.0, 0.0]
        if any(data[2:5]):
            self._refuse(f"{name}.polycoef", str(list(data[:5])), "a linear relation: two numbers")
            return
        factors = {joint: first.get(joint, 0.0) - data[1] * second.get(joint, 0.0) for joint in {**first, **second}}
        factors = {joint: float(factor) for joint, factor in factors.items() if factor}
        self.system.add_relation(LinearRelation(name, factors, float(data[0] + starts[0] - data[1] * starts[1])))

    def _add_tendon_equality(self, k: int, name: str, data: Any) -> None:
        model, one, two = self.model, int(self.model.eq_obj1id[k]), int(self.model.eq_obj2id[k])
        first, second = (self._arms(tendon) if tendon >= 0 else {} for tendon in (one, two))
        starts = [float(model.tendon_length0[tendon]) if tendon >= 0 else 0.0 for tendon in (one, two)]
        sites = self._path(one)
        if first is not None and second is not None:
            self._add_relation(name, first, second, starts, data)
        elif two < 0 and sites is not None and len(sites) == 2:
            self.system.close_loop(sites[0], sites[1], Distance(name, float(starts[0] + data[0]), redundant=True))
        else:
            self._refuse(name, "an equality of tendons along sites", "one between two sites, or fixed tendons")

    # -- tendons ---------------------------------------------------------------------------------------------------------

    def _wraps(self, k: int) -> range:
        return range(self.model.tendon_adr[k], self.model.tendon_adr[k] + self.model.tendon_num[k])

    def _passes(self, k: int, kind: str) -> bool:
        return all(self.read.kind("mjtWrap", self.model.wrap_type[w]) == kind for w in self._wraps(k))

    def _arms(self, k: int) -> dict[str, float] | None:
        """Return the factors of the coordinates whose sum a fixed tendon is; None for one along sites."""
        if not self._passes(k, "mjWRAP_JOINT"):
            return None
        model = self.model
        return {self._joint(model.wrap_objid[w]): float(model.wrap_prm[w]) for w in self._wraps(k)}

    def _path(self, k: int) -> list[PortRef] | None:
        """Return the sites along a tendon; None if it passes anything else."""
        return [self.sites[self.model.wrap_objid[w]] for w in self._wraps(k)] if self._passes(k, "mjWRAP_SITE") else None

    def _add_tendon(self, k: int) -> None:
        """Add the spring and damper of a tendon, if it has any."""
        model, name = self.model, self._name("mjOBJ_TENDON", k, "tendon")
        stiffness = float(model.tendon_stiffness[k]) if self.read.is_enabled("SPRING") else 0.0
        damping = float(model.tendon_damping[k]) if self.read.is_enabled("DAMPER") else 0.0
        for what, value in (("frictionloss", model.tendon_frictionloss[k]), ("range", model.tendon_limited[k])):
            if value:
                self.report.report_unused(f"{what} of a tendon", name, "check that it matters")
        if not stiffness and not damping:
            return
        arms, sites = self._arms(k), self._path(k)
        slack, rest = map(float, model.tendon_lengthspring[k])
        has_slack = bool(stiffness) and slack != rest
        if arms is not None and not has_slack:
            spring = CoordinateSpring(name, list(arms.values()), stiffness, damping, rest if stiffness else 0.0)
            self.system.add_interaction(spring, *arms)
        elif sites is not None and len(sites) == 2 and not has_slack:
            self.system.close_loop(sites[0], sites[1], SpringDamper(name, stiffness, damping, rest if stiffness else 0.0))
        elif sites is not None and slack == 0 and not damping:
            self.system.add_interaction(Cable(name, stiffness, rest), *sites)
        else:
            found = f"stiffness {stiffness:g}, damping {damping:g}, springlength {slack:g} {rest:g}"
            expected = "one of joints or between two sites, without slack; or an undamped one along sites that never pushes"
            self._refuse(name, found, expected)

    # -- actuators -------------------------------------------------------------------------------------------------------

    def _add_actuator(self, k: int) -> None:
        """Add an actuator whose force is ``gain u + b0 + b1 length + b2 rate``, lagged or not; others are named."""
        model = self.model
        name = allowed(self.read.name("mjOBJ_ACTUATOR", k) or f"actuator{k}")
        name = free_name(f"{name}_actuator" if name in self.system.by_name else name, self.system.by_name)
        law = self._actuator_law(k)
        if law is None:
            self.report.report_unused("an actuator whose law titop has not", name, "add one in Python")
            return
        gain, bias, path = law
        target, gear = int(model.actuator_trnid[k, 0]), model.actuator_gear[k]
        kind = self.read.kind("mjtTrn", model.actuator_trntype[k])
        is_known = False
        if kind in ("mjTRN_JOINT", "mjTRN_JOINTINPARENT") and model.jnt_type[target] >= 2:
            is_known = self._add_drive(k, name, {self._joint(target): float(gear[0])}, gain, bias, path)
        elif kind == "mjTRN_TENDON" and (arms := self._arms(target)) is not None:
            is_known = self._add_drive(k, name, {joint: arm * gear[0] for joint, arm in arms.items()}, gain, bias, path)
        elif kind == "mjTRN_TENDON" and (sites := self._path(target)) is not None:
            is_known = not bias.any() and path is None and abs(gain * gear[0] + 1.0) < SAME  # a pull shortens
            if is_known:
                self.system.add_interaction(Cable(name), *sites)
        elif kind == "mjTRN_SITE" and model.actuator_trnid[k, 1] < 0 and not bias.any():
            is_known = self._add_thrust(k, name, self.sites[target], gain * gear, path)
        if not is_known:
            self.report.report_unused("an actuator whose transmission titop has not", name, "add one in Python")

    def _actuator_law(self, k: int) -> tuple[float, Array, SignalPath | None] | None:
        model, kind = self.model, self.read.kind
        of_gain, of_bias, dynamics = (
            kind(f"mjt{word.title()}", getattr(model, f"actuator_{word}type")[k]).partition("_")[2]
            for word in ("gain", "bias", "dyn")
        )
        others = ("actuator_dampingpoly", "actuator_delay", "actuator_armature", "actuator_damping")
        if any(np.any(getattr(model, name)[k]) for name in others) or model.actuator_ctrlnum[k] != 1:
            return None
        gain, bias = model.actuator_gainprm[k], model.actuator_biasprm[k, :3].copy()
        is_fixed = of_gain == "FIXED" or (of_gain == "AFFINE" and not gain[1:3].any())
        if not is_fixed or of_bias not in ("NONE", "AFFINE"):
            return None
        bias *= of_bias == "AFFINE"
        if dynamics in ("FILTER", "FILTEREXACT"):
            return float(gain[0]), bias, SignalPath.lag(float(model.actuator_dynprm[k, 0]))
        return (float(gain[0]), bias, None) if dynamics == "NONE" else None

    def _range(self, k: int) -> tuple[float, float]:
        """Return the least and the largest command."""
        least, most = map(float, self.model.actuator_ctrlrange[k])
        return (least, most) if self.model.actuator_ctrllimited[k] else (-math.inf, math.inf)

    def _add_drive(self, k: int, name: str, arms: dict[str, float], gain: float, bias: Array, path: SignalPath | None) -> bool:
        """Add an actuator on coordinates, times `arms`; a spring and damper beside a motor that lags. Tell whether it could."""
        offset, stiffness, damping = bias[0], -bias[1], -bias[2]
        if offset and not stiffness:
            return False
        is_motor = len(arms) == 1 and (path is not None or not bias.any())
        if path is not None and not is_motor:
            return False
        (joint, arm), *_ = arms.items()
        if is_motor:
            self.system.add_actuator(Motor(name, joint, arm * gain, effort_limit=max(map(abs, self._range(k))), path=path))
            name = free_name(f"{name}_bias", self.system.by_name)
        if not is_motor or bias.any():
            rest, own = (offset / stiffness if stiffness else 0.0), (0.0 if is_motor else gain)
            spring = CoordinateSpring(name, list(arms.values()), stiffness, damping, rest, own)
            self.system.add_interaction(spring, *arms)
        return True

    def _add_thrust(self, k: int, name: str, site: PortRef, wrench: Array, path: SignalPath | None) -> bool:
        """Add a wrench (6) per command at a site, if its force and torque are on one line. Tell whether it could."""
        force, torque = (float(np.linalg.norm(part)) for part in (wrench[:3], wrench[3:]))
        direction = wrench[:3] / force if force else wrench[3:] / torque if torque else np.zeros(3)
        along = float(direction @ wrench[3:])
        least, most = self._range(k)
        if not direction.any() or abs(abs(along) - torque) > SAME * torque:
            return False
        if torque == 0 and abs(force - 1.0) < SAME:
            self.system.add_actuator(Force(name, site, direction, path=path))
        elif force == 0 and abs(torque - 1.0) < SAME:
            self.system.add_actuator(Torque(name, site, direction, path=path))
        elif least >= 0:
            self.system.add_actuator(Propeller(name, site, force, -along, direction, max_speed=math.sqrt(most), path=path))
        else:
            return False
        return True

    # -- sensors ---------------------------------------------------------------------------------------------------------

    def _add_sensor(self, k: int) -> None:
        word, target = self.read.kind("mjtSensor", self.model.sensor_type[k]), int(self.model.sensor_objid[k])
        name = allowed(self.read.name("mjOBJ_SENSOR", k) or f"sensor{k}")
        if (kind := _SENSORS.get(word)) is None:
            what = f"a sensor {word.removeprefix('mjSENS_').lower()!r}"
            self.report.report_unused(what, name, "add one in Python, or ask the model: m.pose, m.twist")
            return
        name = free_name(f"{name}_sensor" if name in self.system.by_name else name, self.system.by_name)
        self.system.add_sensor(kind[0](name, self.sites[target] if kind[1] == "mjOBJ_SITE" else self._joint(target)))
