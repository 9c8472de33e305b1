"""Devices: loads and actuators on ports and joints, and sensors.

- `loads`: wrenches on ports; `actuators`: inputs that act on joints and ports; `sensors`: outputs that measure them;
- `drives`: motors on coordinates with laws and states of their own; `magnetorquer`: dipoles that a magnetic field turns;
- `device`: the common part of actuators and sensors; `signal_path`: delays, errors and limits of their signals, with
  `path_filters` and `path_noises`; `first_order_states`: the states of the filters, and of blocks with own coordinates;
- `composite_device`: devices made of several blocks; `reaction_wheel`: rotor, bearing, motor and sensor in one;
  `control_moment_gyro`: a wheel on gimbals; `wheel_loads`: loads that turn with a wheel, and the limit of its speed;
  `slosh`: liquids in tanks.
"""
