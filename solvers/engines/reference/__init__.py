"""The executable specification of the dynamics, in plain NumPy: complex-safe, and short enough to read in one sitting.

- `resolver`: the passes, and the model that they make; `complex_steps`: its derivatives.
"""
