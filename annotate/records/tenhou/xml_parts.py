"""Parses an mjlog document in parts, each by itself, so that what is malformed costs its part only."""

import re
from abc import ABC, abstractmethod
from contextlib import suppress
from xml.parsers import expat

from annotate.records.tenhou.attributes import Attributes

_ROOT = b"<mjloggm>"
CONNECTIONS, ENDS = ("UN", "BYE"), ("AGARI", "RYUUKYOKU")
"""elements that tell something even where their round is lost: who is connected, and the final scores"""
_KEPT = re.compile(rf"<(?:{'|'.join((*CONNECTIONS, *ENDS))})\b[^<>]*/>".encode())


class PartsOfDocument(ABC):
    """A document whose parts are parsed one after another: all before the first round, then the rounds."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._parser, self._offset, self._depth = expat.ParserCreate(), 0, 0
        """the parser of a part, where its input starts in the document, and how many elements are open"""
        self._number = 0
        """of the round, from 1"""

    @abstractmethod
    def _start(self, tag: str, attributes: Attributes) -> None: ...

    @abstractmethod
    def _text(self, text: str) -> None: ...

    @abstractmethod
    def _doctype(self, *declaration: object) -> None: ...

    @abstractmethod
    def _lose(self, problem: str) -> None: ...

    @abstractmethod
    def _finish_round(self) -> None: ...

    def _end(self, tag: str) -> None:
        self._depth -= 1

    def _parse(self, start: int, end: int | None = None) -> bool:
        """Parses a part of a document: all before the first round, or a round; returns whether the last is cut off."""
        part = self._data[start:end]
        self._open(start)
        try:
            self._parser.Parse(part, False)
        except expat.ExpatError as error:
            problem = f"malformed XML: {expat.ErrorString(error.code)}"
            if self._number == 0 or self._depth == 0:
                raise ValueError(f"{problem} {self._place}") from None
            self._lose(problem)
            for kept in _KEPT.finditer(part, self._parser.ErrorByteIndex + self._offset - start):
                self._parse_kept(kept[0], start + kept.start())
        except ValueError as error:
            raise ValueError(f"{error} {self._place}") from None
        else:
            if end is None:
                return self._is_unfinished()
            if self._depth == 0:
                raise ValueError(f"a round after the end of the document {self._place}")
        if end is not None:
            self._finish_round()
        return False

    def _is_unfinished(self) -> bool:
        try:
            self._parser.Parse(b"", True)
        except expat.ExpatError:
            return True
        return False

    def _open(self, start: int) -> None:
        self._parser, self._offset, self._depth = expat.ParserCreate(), start, 0
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text
        self._parser.StartDoctypeDeclHandler = self._doctype
        if start:
            self._parser.Parse(_ROOT, False)
            self._offset -= len(_ROOT)

    def _parse_kept(self, element: bytes, start: int) -> None:
        self._open(start)
        with suppress(expat.ExpatError):  # the round is lost for a fault before it
            self._parser.Parse(element, False)

    @property
    def _place(self) -> str:
        *lines, last = self._data[: self._offset + self._parser.CurrentByteIndex].split(b"\n")
        return f"(line {len(lines) + 1}, column {len(last)})"
