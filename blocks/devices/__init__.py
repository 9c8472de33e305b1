"""Devices: loads and actuators on ports and joints, and sensors.

- `loads`: wrenches on ports; `actuators`: inputs that act on joints and ports; `sensors`: outputs that measure them;
- `reaction_wheel`: rotor, bearing, motor and sensor in one.
"""
