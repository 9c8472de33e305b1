"""Whole passes, and the terms of the equations of motion.

- `whole_passes`: from a state to efforts or accelerations; `linearise`: to the derivatives of efforts;
- `mass_inverse`: inverse dynamics with the mass matrix in the same passes;
- `motion_matrices`: of Coriolis terms and momentum, and the regressor.
"""
