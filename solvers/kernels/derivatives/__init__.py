"""Derivatives of the dynamics of the tree.

- `tree_derivatives`: the resolution over linearised blocks; `general_derivatives`, `passive_derivatives`,
  `interaction_derivatives`: the parts in it of what it meets;
- `directional`: derivatives along one direction, and transposed, in linear time; `direction_rooms`, `general_directions`,
  `interaction_directions`: the parts in it of what it meets.
"""
