"""Whether the functions of a block that titop does not know are right.

- `block_check`: faster forms against what they stand for, on request;
- `block_findings`, `interaction_findings`, `surroundings_check`: what is wrong, or suspicious, in values and derivatives;
- `complex_safety`: whether complex steps are their derivatives; `description_findings`: what blocks say beside their law.
"""
