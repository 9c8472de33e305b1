"""Devices: what acts on ports and joints from outside, and what reads them.

- `loads`: wrenches on ports; `actuators`: inputs that push joints and ports; `sensors`: outputs that read them;
- `reaction_wheel`: rotor, bearing, motor and sensor in one.
"""
