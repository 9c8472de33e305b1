"""Whole passes, and the terms of the equations of motion.

- `whole_passes`: from a state to efforts or accelerations; `linearise`: to the derivatives of efforts;
- `mass_inverse`: inverse dynamics with the mass matrix in the same passes;
- `coriolis`, `momentum`, `regressor`: matrices of the same names.
"""
