"""Systems with actuators and sensors."""

from __future__ import annotations

import titop as tt


def satellite() -> tt.System:
    s = tt.System("satellite", gravity=[0, 0, -1])
    turned = [[0, -1, 0], [1, 0, 0], [0, 0, 1]]
    hub = tt.RigidBody("hub", 50, inertia=[5, 6, 7], ports={"nozzle": tt.Pose([1, 0, 0], turned), "wheel": [0, 0, 0.2]})
    arm = tt.RigidBody("arm", 3, com=[0.5, 0, 0], inertia=[0.1, 0.2, 0.2], ports={"tip": [1, 0, 0]})
    s.connect("world", hub, tt.Free("base"))
    s.connect(hub, arm, tt.Universal("elbow"), placement=[0, 1, 0])
    s.add_actuator(tt.Motor("drive", "elbow.second", gear=10, rotor_inertia=0.01, effort_limit=0.5))
    s.add_actuator(tt.Thruster("thruster", hub.port("nozzle"), direction=[0, 2, 0], max_thrust=5))
    s.add_actuator(tt.ReactionWheel("wheel", hub.port("wheel"), [0, 0, 1], inertia=0.05, mass=2.0, torque_limit=0.2))
    s.add_actuator(tt.Force("push", arm.port("tip"), frame="world"))
    s.add_actuator(tt.Torque("twist", arm, direction=[1, 1, 0]))
    for sensor in (
        tt.Gyro("gyro", hub.port("nozzle")),
        tt.Accelerometer("accelerometer", arm.port("tip")),
        tt.Encoder("encoder", "elbow.first"),
        tt.Tachometer("rate", "elbow.second"),
        tt.ReactionSensor("load_cell", "elbow"),
        tt.PoseSensor("pose", hub),
    ):
        s.add_sensor(sensor)
    return s
