"""Devices: loads and actuators on ports and joints, and sensors.

- `loads`: wrenches on ports; `actuators`: inputs that act on joints and ports; `sensors`: outputs that measure them;
- `signal_path`: filters, delays, errors and limits of their signals; `path_states`: the states of the filters;
- `reaction_wheel`: rotor, bearing, motor and sensor in one.
"""
