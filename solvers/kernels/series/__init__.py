"""Time derivatives of the dynamics of rigid trees: the coefficients in ``x(t) = sum_k x_k t^k`` of all x, order by order.

All is expressed in the elements' own frames, in which inertias are constant. An element moves with the angular velocity w and
the acceleration ``A = [b; dw/dt]`` of its frame, b that of the frame's origin less gravity's: linear velocities are never
needed. With ``E(t)`` what the joint has turned by since the beginning, and ``S^2 = [w]^2 = w w^T - w^T w 1``,

    w = E^T e + joint's rate,          e = R^T w_parent
    b = E^T y + joint's acceleration,  y = R^T (b_parent + dw_parent/dt x p + S^2_parent p)

R and p the pose in the parent at the beginning. At order k this is the *transport* of ``A_parent`` by that pose, which is all
that is unknown there, and the *drift*: products of lower orders. Likewise a body's wrench is ``M A_k`` and its *bias*, and what
a joint carries to its parent is its wrench and, of lower orders, what turns with it. So one elimination, at the beginning,
serves all orders (key L, Lemma 2), and r orders cost O(r^2) and O(N).

- `rooms`: what is kept, of every element at every order;
- `coefficients`: of derivatives, and of what acts on coordinates;
- `groups`: what spherical and free joints have turned and shifted by;
- `motions`: of the elements, with what turns and shifts add, and what spinning bodies take; `loads`: wrenches on ports;
- `poses`: of ports, with their twists;
- `series_passes`: inverse, and forward and hybrid dynamics.
"""
