"""Derivatives of the dynamics of the tree.

- `tree_derivatives`: the resolution over linearised blocks; `general_derivatives`, `interaction_derivatives`: the parts in it
  of what it meets;
- `directional`: derivatives along one direction, and transposed, in linear time; `interaction_directions`: the part in it of
  interactions.
"""
