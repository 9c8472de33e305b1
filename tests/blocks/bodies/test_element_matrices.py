"""Reading finite-element models: which nodes a port has, which matrices there are, rigid motion."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse
from scipy.spatial.transform import Rotation

import titop as tt
from titop.blocks.basics.user_input import FieldReader
from titop.blocks.bodies.element_matrices import entries_of, read_loads, read_matrices, read_nodes, rigid_motion

NODES = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [2.0, 0.0, 0.0], [0.0, 1.0, 0.5]])


def held(nodes: Any = None, **fields: Any) -> tt.FlexibleBody:
    """Return a body of springs between nodes, which rigid motion does not strain."""
    rigid = rigid_motion(NODES, 6)
    off = np.eye(24) - rigid @ np.linalg.pinv(rigid)
    stiffness = off @ np.diag(np.arange(1.0, 25.0)) @ off
    given = {"positions": NODES, "mass": np.eye(24), "stiffness": (stiffness + stiffness.T) / 2, "parent": 0, "modes": 1}
    return tt.FlexibleBody.from_finite_elements("b", **given | {"ports": {"C": 2 if nodes is None else nodes}} | fields)


def test_rigid_motion_is_the_rate_of_places_that_turn() -> None:
    """Displacements and rotations of nodes turned by a small angle, by central differences of 1e-6: errors of 1e-12."""
    v, w, h = np.array([0.3, -0.2, 0.5]), np.array([0.7, 0.1, -0.4]), 1e-6
    ahead, behind = (Rotation.from_rotvec(side * h * w).apply(NODES) + side * h * v for side in (1, -1))
    moved = (rigid_motion(NODES, 6) @ [*v, *w]).reshape(-1, 6)
    np.testing.assert_allclose(moved[:, :3], (ahead - behind) / (2 * h), rtol=0, atol=1e-9)
    np.testing.assert_array_equal(moved[:, 3:], np.tile(w, (4, 1)))
    np.testing.assert_array_equal(rigid_motion(NODES, 3) @ [*v, *w], moved[:, :3].ravel())


def test_entries_follow_the_nodes() -> None:
    assert entries_of([2, 0], 3).tolist() == [6, 7, 8, 0, 1, 2]


@pytest.mark.parametrize("value", [2, 2.0, np.int32(2), [2], np.array([2.0])])
def test_whole_numbers_are_nodes(value: Any) -> None:
    reader = FieldReader("b")
    assert (read_nodes(reader, "C", value, NODES, 6), reader.findings) == ([2], [])


@pytest.mark.parametrize("value", [1.7, -1, 4, "tip", None, np.nan, [], [[0, 1]], [[0, 1], [2]], [0, 0.5]])
def test_what_is_no_node_is_refused(value: Any) -> None:
    """A fraction too: no node is meant by 1.7."""
    for fields in ({"nodes": value} if value is not None else {"ports": {"C": None}}, {"parent": value}):
        with pytest.raises(tt.ModelError, match="nodes from 0 to 3") as caught:
            held(**fields)
        assert caught.value.code == "unknown-node"


def test_a_node_that_is_none_is_said_to_be_nothing_else() -> None:
    """The node that stands for it meanwhile is not one of two ports."""
    with pytest.raises(tt.ModelError) as caught:
        held(ports={"C": 9})
    assert [finding.code for finding in caught.value.findings] == ["unknown-node"]


@pytest.mark.parametrize(("masses", "stiffnesses", "where"), [(3, 6, "stiffness"), (6, 5, "stiffness"), (4, 6, "mass")])
def test_the_matrix_with_other_rows_is_named_without_its_numbers(masses: int, stiffnesses: int, where: str) -> None:
    with pytest.raises(tt.ModelError, match=rf"^b\.{where}: got \d+ rows; expected .*wrong-shape") as caught:
        held(mass=np.eye(4 * masses), stiffness=np.eye(4 * stiffnesses))
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("ports", [{"C": 2, "D": [1, 2]}, {"C": 2, "D": 2}, {"C": [0, 3]}])
def test_nodes_move_with_one_port_alone(ports: Any) -> None:
    with pytest.raises(tt.ModelError, match=r"got node [02]; expected nodes of its own, none of '(C|parent)'.*shared-node"):
        held(ports=ports)


def test_ports_without_rotations_want_nodes_that_span_a_plane() -> None:
    reader = FieldReader("b")
    assert read_nodes(reader, "C", [0, 1, 3], NODES, 3) == [0, 1, 3]
    assert not reader.findings
    read_nodes(reader, "C", [0, 1, 2], NODES, 3)
    assert [finding.code for finding in reader.findings] == ["too-few-nodes"]


@pytest.mark.parametrize(
    ("fields", "where"),
    [
        ({"mass": np.array(3.0)}, "b.mass"),
        ({"mass": 3}, "b.mass"),
        ({"mass": np.eye(23)}, "b.mass"),
        ({"stiffness": np.eye(23)}, "b.stiffness"),
        ({"positions": np.array(3.0)}, "b.positions"),
        ({"ports": 3}, "b.ports"),
        ({"modes": 1.5}, "b.modes"),
        ({"geometric_stiffness": {"C": np.array(3.0)}}, "b.geometric_stiffness.C"),
        ({"geometric_stiffness": {"spins": [np.eye(24)]}}, "b.geometric_stiffness.spins"),
        ({"geometric_stiffness": [np.eye(24)]}, "b.geometric_stiffness"),
    ],
)
def test_unusable_matrices_are_refused_by_name(fields: dict[str, Any], where: str) -> None:
    with pytest.raises(tt.ModelError) as caught:
        held(**fields)
    assert caught.value.findings[0].where == where


def test_counts_of_numpy_are_counts() -> None:
    assert held(modes=np.int64(2)).nv == held(modes=2).nv


def test_small_sparse_matrices_are_taken_as_dense_ones() -> None:
    reader, mass = FieldReader("b"), scipy.sparse.csr_array(2.0 * np.eye(24))
    nodes, freedoms, M, K = read_matrices(reader, NODES, mass, np.eye(24))
    assert (freedoms, type(M), reader.findings) == (6, np.ndarray, [])
    np.testing.assert_array_equal(nodes, NODES)
    np.testing.assert_array_equal([M, K], [2.0 * np.eye(24), np.eye(24)])


def test_sparse_loads_are_read_as_dense_ones() -> None:
    rng = np.random.default_rng(0)
    given = [(matrix + matrix.T) / 2 for matrix in rng.normal(size=(3, 24, 24))]
    sparse = [scipy.sparse.coo_array(matrix) for matrix in given]
    reader = FieldReader("b")
    found = read_loads(reader, {"spin": sparse}, 24, {"spin": 3})
    assert found is not None
    for one, other in zip(found["spin"], given, strict=True):
        np.testing.assert_allclose(one.toarray(), other, rtol=0, atol=1e-15)
    assert not reader.findings
    read_loads(reader, {"spin": [*sparse[:2], scipy.sparse.coo_array(np.triu(given[2]))]}, 24, {"spin": 3})
    assert [finding.code for finding in reader.findings] == ["not-symmetric"]
