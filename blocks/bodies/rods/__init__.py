"""Cosserat rods: bodies that bend, twist, stretch and shear however far.

- `dimensions`: of cross-sections, constant, tapered or functions; `shapes`: area and moments from these; `section`: both
  together;
- `strain_basis`: functions along a rod; `strains`: which components of its strain are made of which; `quadrature`: points, and
  whether they are enough for these;
- `rod_ports`: where ports stand;
- `discretisation`: all of this as numbers; `recursion`: from these poses, motions and inertia, from point to point;
- `rod_data`: a rod's fields and parameters; `rod_sections`: how its sections stand, and what stresses them; `rod`: its law;
  `cut_rod`: a rod cut at a section.
"""
