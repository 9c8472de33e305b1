"""Cosserat rods: slender bodies with large bending, torsion, elongation and shear.

- `dimensions`: of cross-sections, constant, tapered or functions; `section_shapes`: area and moments from these; `section`:
  both together;
- `strain_basis`: functions along a rod; `strains`: the bases of the components of its strain; `rod_quadrature`:
  points, and whether they are enough for these;
- `rod_ports`: positions of ports;
- `discretisation`: all of this as numbers; `recursion`: poses, motions and inertia from these, from point to point;
- `rod_data`: a rod's fields and parameters; `rod_sections`: poses, strains and stresses of sections; `rod`: its law;
  `cut_rod`: a rod cut at a section.
"""
