"""Laws that both engines run: the reference as they are written, kernels as machine code. They know neither of blocks.

Numbers may be real, complex or Taylor series: nothing is made a float, no function of Python's mathematical module is called,
and what depends on a state is chosen by a function for that, and by real parts, which all of them have. All machine code is
named after these files too (`titop.solvers.native.identity`): an edit has it compiled anew.

- `vectors`: choices, and vectors (3) and matrices (9) as tuples;
- `impact`: how elastic, dissipative contacts push;
- `central_field`: gravity of a planet, and what it does to a body;
- `distances`: of places from shapes; `touch`: what happens where a sphere touches one.
"""
