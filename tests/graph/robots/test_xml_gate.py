"""What must not pass the gate for XML."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

import titop as tt
from titop.graph.robots.urdf import from_urdf
from titop.graph.robots.xml_gate import MAX_BYTES, MAX_DEPTH, MAX_ELEMENTS, read_xml

ROBOT = '<robot name="r"><link name="a"/></robot>'

ENTITIES = "".join(f'<!ENTITY {x} "{f"&{y};" * 10}">' for x, y in zip("bcdefghz", "abcdefgh", strict=True))
BOMB = f'<!DOCTYPE robot [<!ENTITY a "aaaaaaaaaa">{ENTITIES}]><robot name="&z;"/>'

FORBIDDEN = {
    "entity bomb": BOMB,
    "quadratic bomb": f'<!DOCTYPE r [<!ENTITY a "{"a" * 50000}">]><robot name="{"&a;" * 50000}"/>',
    "DTD": '<!DOCTYPE robot><robot name="r"/>',
    "DTD in a file": '<!DOCTYPE robot SYSTEM "robot.dtd"><robot name="r"/>',
    "DTD on a server": '<!DOCTYPE robot PUBLIC "x" "http://localhost:9/robot.dtd"><robot name="r"/>',
    "external entity": '<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/hostname">]><robot name="&x;"/>',
    "network entity": '<!DOCTYPE r [<!ENTITY x SYSTEM "http://localhost:9/">]><robot name="&x;"/>',
    "parameter entity": '<!DOCTYPE r [<!ENTITY % x SYSTEM "file:///etc/hostname"> %x;]><robot/>',
    "DTD in UTF-16": '<?xml version="1.0" encoding="utf-16"?><!DOCTYPE robot><robot/>'.encode("utf-16"),
}

MALFORMED = {
    "empty": b"",
    "cut off": ROBOT[:20],
    "two roots": ROBOT + ROBOT,
    "undeclared prefix": '<robot name="r"><xacro:macro name="m"/></robot>',
    "undefined entity": '<robot name="&x;"/>',
    "zero byte": b"<robot name='\0'/>",
    "bytes that are not UTF-8": b'<robot name="\xff\xfe"/>',
    "unknown encoding": b'<?xml version="1.0" encoding="klingon"?><robot/>',
    "encoding of many bytes": b'<?xml version="1.0" encoding="shift_jis"?><robot/>',
    "encoding that runs code": b'<?xml version="1.0" encoding="zlib_codec"?><robot/>',
    "declared UTF-16, but is not": b'<?xml version="1.0" encoding="utf-16"?><robot/>',
    "lone surrogate": '<robot name="\ud800"/>',
    "YAML": "<robot: {name: r}",
}


def code_of(source: str | bytes | os.PathLike[str]) -> str:
    """Return the code of the refusal."""
    with pytest.raises(tt.ModelError) as caught:
        from_urdf(source)
    assert len(caught.value.findings) == 1
    return caught.value.code


@pytest.mark.parametrize("name", FORBIDDEN)
def test_dtds_and_entities_are_forbidden(name: str) -> None:
    start = time.process_time()
    assert code_of(FORBIDDEN[name]) == "forbidden-xml"
    assert time.process_time() - start < 1.0


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_text(name: str) -> None:
    assert code_of(MALFORMED[name]) == "malformed-xml"


def test_prefixes_that_are_not_declared_are_told_how() -> None:
    """Drake takes them."""
    text = '<robot name="r"><link name="a"/><drake:joint/></robot>'
    with pytest.raises(tt.ModelError, match=r'unbound prefix.*declare the prefix.*xmlns:drake="http://drake\.mit\.edu"'):
        from_urdf(text)
    with pytest.raises(tt.ModelError, match=r"r.joint\[1\].type"):
        from_urdf(text.replace('name="r"', 'name="r" xmlns:drake="http://drake.mit.edu"'))


@pytest.mark.parametrize(
    "text",
    [
        "<robot>" + " " * MAX_BYTES + "</robot>",
        b"<robot>" + b" " * MAX_BYTES + b"</robot>",
        "<robot>" * (MAX_DEPTH + 1),
        "<a>" * 3_000_000,
        "<robot>" + "<a/>" * MAX_ELEMENTS + "</robot>",
    ],
    ids=["text", "bytes", "deep", "very deep", "wide"],
)
def test_oversize(text: str | bytes) -> None:
    start = time.process_time()
    assert code_of(text) == "too-large"
    assert time.process_time() - start < 5.0


def test_oversized_file(tmp_path: Path) -> None:
    path = tmp_path / "large.urdf"
    path.write_bytes(b"<robot>" + b" " * MAX_BYTES + b"</robot>")
    assert code_of(path) == "too-large"


@pytest.mark.parametrize(
    "path",
    [
        "http://localhost:9/r.urdf",
        "https://localhost:9/r.urdf",
        "FTP://localhost/r",
        "file:///r.urdf",
        "package://r/r.urdf",
        "//server/r.urdf",
        "\\\\server\\share\\r.urdf",
    ],
)
def test_network_addresses_are_refused(path: str) -> None:
    assert code_of(path) == "network-path"


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    assert code_of(tmp_path / "missing.urdf") == "unreadable-file"
    assert code_of("nul\0byte.urdf") == "unreadable-file"
    assert code_of("x" * 100_000) == "unreadable-file"
    assert code_of(tmp_path) == "not-a-file"
    assert code_of(None) == "wrong-type"  # type: ignore[arg-type]
    assert code_of(5) == "wrong-type"  # type: ignore[arg-type]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_pipes_and_devices_are_refused_without_waiting(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.urdf"
    os.mkfifo(pipe)
    assert code_of(pipe) == "not-a-file"
    assert code_of("/dev/zero") == "not-a-file"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "iso-8859-1", "windows-1252"])
def test_encodings_that_are_read(encoding: str, tmp_path: Path) -> None:
    declared = encoding.removesuffix("-sig")
    path = tmp_path / "robot.urdf"
    text = ROBOT.replace('"a"', '"ärm"')
    path.write_bytes(f'<?xml version="1.0" encoding="{declared}"?>{text}'.encode(encoding))
    assert from_urdf(path).resolve().body_names == ("ärm",)


def test_texts_and_paths_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("robot.urdf").write_text(ROBOT, encoding="utf8")
    for source in (ROBOT, f"\ufeff \n{ROBOT}", ROBOT.encode(), "robot.urdf", Path("robot.urdf"), str(tmp_path / "robot.urdf")):
        assert read_xml(source).tag == "robot"


def test_nothing_but_the_given_file_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "robot.urdf"
    mesh = '<visual><geometry><mesh filename="%s"/></geometry></visual>'
    meshes = "".join(mesh % name for name in ("package://r/a.stl", "http://localhost:9/a.stl", "../../etc/hostname"))
    path.write_text(ROBOT.replace('"a"/>', f'"a">{meshes}</link>'), encoding="utf8")
    opened = []
    for name, real in (("builtins.open", open), ("os.open", os.open)):
        monkeypatch.setattr(name, lambda file, *args, real=real, **kwargs: (opened.append(file), real(file, *args))[1])
    from_urdf(path)
    assert [str(file) for file in opened] == [str(path)]


DECLARED = '<?xml version="1.0"?>\n<robot name="r"><link name="a"/></robot>'


@pytest.mark.parametrize("padding", ["", "\n", " \t\r\n\n", "\ufeff", "\ufeff\n", "\n\ufeff"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-le", "utf-16-be"])
def test_blanks_before_a_declaration_are_read_alike(tmp_path: Path, padding: str, encoding: str) -> None:
    """XML forbids them; urdfdom, which other programs read robots by, does not mind."""
    mark = "\ufeff" if encoding in ("utf-16-le", "utf-16-be") else ""  # by which readers know these
    data = (mark + padding + DECLARED).encode(encoding)
    path = tmp_path / "r.urdf"
    path.write_bytes(data)
    for source in (padding + DECLARED, data, path):
        assert read_xml(source).get("name") == "r"


def test_blanks_within_are_no_padding() -> None:
    """The negative control: a declaration behind anything else stays where XML forbids it."""
    for source in ("<!-- robot -->" + DECLARED, b"<!-- robot -->" + DECLARED.encode()):
        assert code_of(source) == "malformed-xml"
