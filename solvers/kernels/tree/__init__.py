"""The passes along the tree of joints.

- `packing`: from parameters to the table of floats;
- `joints`, `multi_joints`: the elementary joints, and elimination of several coordinates at once; `general`: blocks with own
  coordinates;
- `elastic_efforts`, `springs`, `armatures`: what acts besides efforts;
- `kinematics`: twists outwards, poses in the inertial frame;
- `inverse`, `forward`, `composite`, `factor`: inverse dynamics; forward and hybrid dynamics, and what efforts alone cause; the
  mass matrix; factors of symmetric matrices;
- `balances`: energy, momentum and mass; `subtree_sums`: what subtrees answer with when they are moved.
"""
