"""What acts on ports, and what is read there.

- `port_motion`: poses, motion and Jacobians of ports;
- `loads`, `port_wrenches`, `pushes`: loads, such as are fixed in the inertial frame, on general blocks, along
  coordinates;
- `interactions`, `surroundings`: what acts on several ports at once, and what a block says acts on it;
- `own_states`: states of the first order of interactions within steps;
- `guards`: whether what switches by position may have done so within a step;
- `sensor_readings`: what sensors read.
"""
