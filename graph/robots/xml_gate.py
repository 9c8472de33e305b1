"""Safe reading of untrusted XML: one local file or a text, of bounded size, without DTDs, entities or external content.

`defusedxml` refuses what makes XML dangerous; size, depth and number of elements are bounded while parsing, before they
cost memory; nothing but the one given file is ever opened.
"""

from __future__ import annotations

import codecs
import importlib
import os
import re
from typing import TYPE_CHECKING, Any, NoReturn, TypeGuard
from xml.etree.ElementTree import TreeBuilder
from xml.parsers.expat.errors import XML_ERROR_UNBOUND_PREFIX, codes

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import DefusedXMLParser, ParseError

from titop.blocks.basics.errors import Finding, ModelError, missing_extra
from titop.blocks.basics.local_files import NotAFileError, open_file

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

#: The largest real robots have 0.2 MB, 8,000 elements and a depth of 8; one of 6,000 links in full detail 130,000 elements.
MAX_BYTES = 10_000_000
MAX_ELEMENTS = 150_000
MAX_DEPTH = 100

_NETWORK = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://|\\\\|//")
_UNBOUND_PREFIX = codes[XML_ERROR_UNBOUND_PREFIX]
_BLANKS = "\ufeff \t\r\n"
#: The same in bytes, in UTF-8.
_PADDING = re.compile(rb"(?:\xef\xbb\xbf|[ \t\r\n])*")


def read_xml(path_or_text: str | bytes | os.PathLike[str]) -> Element:
    """Return the root element of an XML file or text.

    `path_or_text`: a text begins with ``<``, bytes are always text; anything else is the path of a local file. Raises
    `ModelError` if the file is not a regular local file, is too large, or is not well-formed and harmless XML.
    """
    text, source = _text(path_or_text)
    if len(text) > MAX_BYTES:
        _refuse("too-large", source, f"more than {MAX_BYTES} bytes", f"at most {MAX_BYTES} bytes", "keep meshes in other files")
    parser = DefusedXMLParser(target=_BoundedBuilder(source), forbid_dtd=True)
    try:
        parser.feed(_unpadded(text))
        root: Element = parser.close()
    except DefusedXmlException as error:
        _refuse("forbidden-xml", source, error, "no DTD, entities or external references", "remove the DOCTYPE declaration")
    except (ParseError, ValueError, LookupError) as error:
        if isinstance(error, ModelError):
            raise
        _refuse("malformed-xml", source, error, "well-formed XML", _cure(error))
    return root


def _unpadded(text: str | bytes) -> str | bytes:
    """Return a text without blanks before it, which XML forbids before a declaration, and real files have."""
    if isinstance(text, bytes) and text.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        text = text.decode("utf-16")
    return text.lstrip(_BLANKS) if isinstance(text, str) else _PADDING.sub(b"", text, count=1)


def _cure(error: Exception) -> str:
    if isinstance(error, ParseError) and error.code == _UNBOUND_PREFIX:
        return 'declare the prefix in the robot element, as xmlns:drake="http://drake.mit.edu"; expand xacro files first'
    return "correct the file there; expand xacro files first"


def folder_of(path_or_text: str | bytes | os.PathLike[str]) -> str | None:
    """Return the folder of what `read_xml` reads as a file, None for a text."""
    return None if is_text(path_or_text) else os.path.dirname(os.fsdecode(path_or_text))


def is_text(path_or_text: Any) -> TypeGuard[str | bytes]:
    if isinstance(path_or_text, bytes):
        return True
    return isinstance(path_or_text, str) and path_or_text[:1000].lstrip(_BLANKS).startswith("<")


def _text(path_or_text: Any) -> tuple[str | bytes, str]:
    """Return the XML and what to call it in messages."""
    if is_text(path_or_text):
        return path_or_text, "text"
    if not isinstance(path_or_text, str | os.PathLike):
        _refuse("wrong-type", "path_or_text", repr(path_or_text), "a path or XML text", "pass a str, bytes or pathlib.Path")
    path = os.fspath(path_or_text)
    return _file(path), os.path.basename(path) or path


def _file(path: str) -> bytes:
    """Return at most one byte more than is allowed of a regular local file."""
    if _NETWORK.match(path):
        _refuse("network-path", "path", path, "the path of a local file", "download the file and look at it first")
    try:
        with open_file(path) as file:
            return file.read(MAX_BYTES + 1)
    except NotAFileError as error:
        _refuse("not-a-file", "path", f"{path} ({error})", "a regular file", "give the file itself")
    except (OSError, ValueError) as error:
        _refuse("unreadable-file", "path", f"{path} ({error})", "a readable file, or XML text", "check the path")


def _refuse(code: str, where: str, value: Any, expected: str, advice: str) -> NoReturn:
    raise ModelError(Finding(code, where, value, expected, advice))


class _BoundedBuilder(TreeBuilder):
    """Builds the tree, and stops where it becomes larger or deeper than any robot."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.source = source
        self.depth = 0
        self.elements = 0

    def start(self, tag: str, attrs: dict[str, str], /) -> Element:
        """Open an element."""
        self.depth += 1
        self.elements += 1
        if self.depth > MAX_DEPTH or self.elements > MAX_ELEMENTS:
            bounds = f"at most {MAX_DEPTH} levels and {MAX_ELEMENTS} elements"
            _refuse("too-large", self.source, f"level {self.depth}, element {self.elements}", bounds, "this is no robot")
        return super().start(tag, attrs)

    def end(self, tag: str, /) -> Element:
        """Close an element."""
        self.depth -= 1
        return super().end(tag)


_NAME = re.compile(r"[a-z0-9_]+_description")


def path_of(path_or_text: Any, language: str) -> Any:
    """Return the path of the file in a `language` of a robot that is given by name; what is no such name as it is.

    The package fetches robots that it does not have yet, from their repositories. Raises `ModelError` if it is not installed,
    or has no such robot in this language.
    """
    if not isinstance(path_or_text, str) or not _NAME.fullmatch(path_or_text) or os.path.exists(path_or_text):
        return path_or_text
    try:
        importlib.import_module("robot_descriptions")
    except ImportError:
        raise missing_extra(
            "robot_descriptions", "robots", path_or_text, "a path, or that package for robots by name"
        ) from None
    try:
        return getattr(importlib.import_module(f"robot_descriptions.{path_or_text}"), f"{language}_PATH")
    except (ImportError, AttributeError):
        expected, advice = f"a robot that robot_descriptions has in {language}", "see its list of robots"
        raise ModelError(Finding("unknown-robot", "path_or_text", path_or_text, expected, advice)) from None
