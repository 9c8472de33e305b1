"""Linear loops with uncertain factors, and fractions: what a model is, whatever its blocks.

- `delta_blocks`: what is uncertain, and how its values are normalised;
- `loops`: signals that are linear in states, inputs and what uncertain factors return; `steps`: uncertain transports of motions
  and wrenches; `interpolation`: matrices as polynomials, exact or fitted, entries compared in their `entry_units`;
- `structured_reduction`: states and repetitions that are not needed, left out; `fractional`: deltas closed and counted;
- `polynomial_fit`: a number as a polynomial of deltas, or a quotient; `fraction_fit`: with fewer repetitions; `substitution`:
  one in the place of a delta.
"""
