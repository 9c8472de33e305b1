"""Whole passes, and the terms of the equations of motion.

- `whole_passes`: from a state to efforts or accelerations; `linearise`: to the derivatives of efforts;
- `coriolis`, `momentum`, `regressor`: matrices of the same names.
"""
