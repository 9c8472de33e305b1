"""What acts on ports, and what is read there.

- `port_motion`: poses, motion and Jacobians of ports;
- `loads`: loads, such as are fixed in the inertial frame, and what they do along coordinates;
- `interactions`, `surroundings`: what acts on several ports at once, with its states of the first order, and what a block says
  acts on it;
- `guards`: whether what switches by position may have done so within a step;
- `sensor_readings`: what sensors read.
"""
