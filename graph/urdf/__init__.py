"""Systems from robot descriptions in URDF.

A small strict reader of our own stands behind the guarded parser (`xml_gate`): the readers in circulation load meshes and
import mesh libraries, which alone takes several times as long as Pinocchio needs from start to first dynamics, repair
broken files on their own, and drop silently what they do not know.

- `robot_system`: the system that a description stands for, if its links are one tree, and whether its meshes are there;
- `xml_gate`: XML from strangers; `elements`: elements of URDF and their vocabulary; `robot`: links and joints of these;
- `repair`: what real robots have wrong.
"""
