"""Interactions: loads on ports and coordinates that depend on their motion, without constraints.

- `interaction`: the common part, and how to write one of your own;
- `block_states`: efforts of blocks' first-order states on their coordinates;
- `springs`: springs and dampers between two ports; `cable`: cables over several ports;
- `shape`: shapes that are touched, `touching`: the bodies that touch them, and `contact`: the contact law;
- `line`: the common part of tendons and chambers in any bodies;
- `rod_routing`: lines through soft rods and their length; `rod_line`: their efforts; `tendon`: tendons and chambers;
- `soft_line`: lines and cavities in deformable bodies; `soft_tendon`: tendons and chambers of these;
- `distributed_load`: loads along rods.
"""
