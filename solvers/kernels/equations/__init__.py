"""Whole passes, and the terms of the equations of motion.

- `whole_passes`: from a state to efforts or accelerations, and to efforts with the mass matrix in the same passes; `linearise`:
  to the derivatives of efforts;
- `motion_matrices`: of Coriolis terms and momentum, and the regressor.
"""
