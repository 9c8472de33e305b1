"""Checks of the functions of users' blocks.

- `block_check`: comparison of overridden functions with what they replace, on request;
- `block_findings`, `interaction_findings`, `surroundings_check`: errors and warnings about values and derivatives;
- `complex_safety`: whether complex steps give their derivatives; `description_findings`: members beside the law.
"""
