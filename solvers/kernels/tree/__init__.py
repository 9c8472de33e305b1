"""The passes along the tree of joints.

- `packing`: from parameters to the table of floats;
- `joints`, `multi_joints`: the elementary joints, and elimination of several coordinates at once; `general`: blocks with own
  coordinates;
- `elastic_efforts`, `springs`, `passive`: what acts besides efforts;
- `kinematics`, `world_poses`: twists outwards, poses in the inertial frame;
- `inverse`, `forward`, `composite`, `factor`: inverse dynamics; forward and hybrid dynamics; the mass matrix, and its factors;
- `response`: what efforts cause, by the factors that forward dynamics leave;
- `balances`: energy, momentum and mass; `subtree_sums`: what subtrees answer with when they are moved.
"""
