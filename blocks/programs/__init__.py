"""Programs: what computes numbers from numbers without branches, for machine code, C and processors of graphics.

- `program`: the program, a value;
- `graph`: numbers that are not known yet, which record what is done to them;
- `branches`: functions that branch on such numbers, followed along every path;
- `repetition`: functions that are repeated row by row, which programs have as loops;
- `differentiation`: derivatives of what was recorded;
- `work_room`: where numbers lie while they are needed;
- `turning_numbers`: of sine and cosine.
"""
