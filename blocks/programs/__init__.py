"""Straight-line programs: what computes numbers from numbers without branches, for machine code, C and processors of graphics.

- `program`: the program, a value;
- `graph`: numbers that are not known yet, which record what is done to them;
- `branches`: functions that branch on such numbers, followed along every path;
- `differentiation`: derivatives of what was recorded.
"""
