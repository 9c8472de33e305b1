"""Cosserat rods: slender bodies with large bending, torsion, elongation and shear.

- `section`: cross-sections and their dimensions, constant, tapered or functions; `section_shapes`: area and moments of these;
- `strains`: the components of the strain, and their bases, functions along a rod;
- `discretisation`: points, and a rod as numbers; `recursion`: poses, motions and inertia from these, from point to point;
- `rod_data`: a rod's ports, fields and parameters; `rod_sections`: poses, strains and stresses of sections; `rod`: its law, and
  rods cut at a section.
"""
