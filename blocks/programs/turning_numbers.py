"""The numbers of sine and cosine, the same wherever titop computes them by operations of its own: in kernels and programs."""

from __future__ import annotations

#: pi/2 in three parts, each what those before leave of it.
HALF_PI = 1.5707963267948966, 6.123233995736766e-17, -1.4973849048591833e-33
#: Beyond this angle the parts do not suffice.
FAR = 1e6

#: Coefficients of ``sin(y)/y`` and ``cos(y)`` by y^2 for |y| < pi/4 (FreeBSD's msun, ``k_sin.c`` and ``k_cos.c``).
SINE = (
    -1.66666666666666324348e-01, 8.33333333332248946124e-03, -1.98412698298579493134e-04,
    2.75573137070700676789e-06, -2.50507602534068634195e-08, 1.58969099521155010221e-10,
)  # fmt: skip
COSINE = (
    4.16666666666666019037e-02, -1.38888888888741095749e-03, 2.48015872894767294178e-05,
    -2.75573143513906633035e-07, 2.08757232129817482790e-09, -1.13596475577881948265e-11,
)  # fmt: skip
