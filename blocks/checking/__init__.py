"""Checks of the functions of users' blocks.

- `block_check`: comparison of overridden functions with what they replace, on request;
- `block_findings`, `interaction_findings`: errors and warnings about values and derivatives; `description_findings`: about
  surroundings, and members beside the law;
- `complex_safety`: whether complex steps give their derivatives.
"""
