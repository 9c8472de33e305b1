"""Interactions: loads on ports and coordinates that depend on their motion, without constraints.

- `interaction`: the common part, and how to write one of your own;
- `springs`: springs and dampers between two ports, springs and servos on coordinates;
- `shape`: shapes that are touched, `touching`: the bodies that touch them, and `contact`: the contact law;
- `line`: the common part of cables, tendons and chambers; `cable`: cables over several ports;
- `rod_routing`: lines through soft rods and their length; `tendon`: tendons and chambers in rods; `soft_tendon`: in deformable
  bodies;
- `distributed_load`: loads along rods;
- `elastic_drive`: harmonic drives between two coordinates; `harmonics`: sums of sines of an angle.
"""
