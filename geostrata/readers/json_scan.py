"""A JSON text read piece by piece: a window that moves on, and a walk over one object's members.

The walk keeps the exact text of a geometry and skips it in one regular expression, where a parser
would make a Python object of every coordinate (figures in docs/decisions/0007-readers.md).
"""

from __future__ import annotations

import re
from json import JSONDecodeError
from typing import Any, TextIO

from geostrata.readers.json_values import DECODER
from geostrata.readers.limits import LIMITS

BLANKS = re.compile(r"[ \t\r\n]*")
_KEY = re.compile(r'[ \t\r\n]*"([^"\\]*)"[ \t\r\n]*:[ \t\r\n]*')
_COLON = re.compile(r"[ \t\r\n]*:[ \t\r\n]*")
_NEXT = re.compile(r"[ \t\r\n]*([,}])")
# An object with no object in it and plain strings only: nearly every geometry.
_FLAT = re.compile(r'\{[^{}"]*(?:"[^"\\{}]*"[^{}"]*)*\}')
_AS_TEXT = frozenset(("geometry", "coordinates", "geometries"))
# The last one is a quote without its partner.
_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],]|"', re.DOTALL)
# An error this close to the window's end may be the end's fault: \ud83d\ude00 is the longest thing that can be cut.
_MARGIN = 16


class BrokenError(Exception):
    """No JSON at this place of the text."""

    def __init__(self, at: int) -> None:
        self.at = at


class UnfinishedError(Exception):
    """The text ends before the value does, or so it seems at `at`; or it goes on in a string that began before."""

    def __init__(self, at: int, is_in_string: bool = False) -> None:
        self.at = at
        self.is_in_string = is_in_string


class Window:
    """The part of a text that is being looked at. Memory is bounded by the largest record, not by the file."""

    def __init__(self, stream: TextIO, longest: int) -> None:
        self._stream, self._longest = stream, longest
        self.text = ""
        # Where searches of the whole text ended: a broken feature may be followed by a million others.
        self._found: dict[re.Pattern[str], re.Match[str] | None] = {}
        self._text_end: int | None = None
        self.at = 0
        self.is_last = False

    def more(self) -> bool:
        """Drop what was read and read on; False at the end. What is held doubles, so that a long record is
        looked at a few times, not a thousand times."""
        held = len(self.text) - self.at
        if self.is_last or held > self._longest:
            return False
        piece = self._stream.read(max(LIMITS.chunk_bytes, held))
        self.is_last = not piece
        self.text = self.text[self.at :] + piece
        self.at = 0
        self._found, self._text_end = {}, None
        return not self.is_last

    def find(self, pattern: re.Pattern[str], at: int) -> re.Match[str] | None:
        """The first match from `at` on, which only grows: what was found further on is still the first one."""
        if pattern not in self._found or ((last := self._found[pattern]) and last.start() < at):
            self._found[pattern] = pattern.search(self.text, at)
        return self._found[pattern]

    @property
    def text_end(self) -> int:
        """Where the text ends but for blanks."""
        if self._text_end is None:
            self._text_end = len(self.text.rstrip(" \t\r\n"))
        return self._text_end

    def peek(self) -> str:
        """The next character that is no blank, or '' at the end."""
        while True:
            match = BLANKS.match(self.text, self.at)
            self.at = match.end() if match else self.at
            if self.at < len(self.text):
                return self.text[self.at]
            if not self.more():
                return ""


def value_at(text: str, at: int) -> tuple[Any, int]:
    """A value and where it ends."""
    try:
        return DECODER.raw_decode(text, at)
    except JSONDecodeError as error:
        # Its place is where the string began, however far away the end of the text is.
        if error.msg.startswith("Unterminated string"):
            raise UnfinishedError(len(text), is_in_string=True) from None
        raise _trouble(text, error.pos) from None
    except RecursionError:
        raise BrokenError(at) from None


def _trouble(text: str, at: int) -> Exception:
    return UnfinishedError(at) if at >= len(text) - _MARGIN else BrokenError(at)


def skip_value(text: str, at: int) -> int:
    """Where a value ends, if only its text is wanted."""
    if match := _FLAT.match(text, at):
        return match.end()
    return value_at(text, at)[1]


def key_at(text: str, at: int) -> tuple[str, int]:
    """A member's name, and where its value begins."""
    if match := _KEY.match(text, at):
        return match[1], match.end()
    blanks = BLANKS.match(text, at)
    at = blanks.end() if blanks else at
    if not text.startswith('"', at):
        raise _trouble(text, at)
    name, at = value_at(text, at)
    colon = _COLON.match(text, at)
    if colon is None:
        raise _trouble(text, at)
    return name, colon.end()


def walk_object(text: str, at: int) -> tuple[list[tuple[str, Any]], int]:
    """Members of the object at `at`, and where it ends."""
    match = BLANKS.match(text, at + 1)
    start = match.end() if match else at + 1
    if text[start : start + 1] == "}":
        return [], start + 1
    found, end, _ = walk_members(text, start)
    return found, end


def walk_members(text: str, at: int, stop: str | None = None) -> tuple[list[tuple[str, Any]], int, bool]:
    """Members up to the closing brace, and where that ends. Geometry stays text, exactly as written.

    At a member named `stop` that is an array the walk ends inside that array, and says so."""
    found: list[tuple[str, Any]] = []
    while True:
        name, at = key_at(text, at)
        if name == stop:
            if at >= len(text):
                raise UnfinishedError(at)
            if text[at] == "[":
                return found, at + 1, True
        value: Any
        if name in _AS_TEXT:
            start, at = at, skip_value(text, at)
            value = None if text.startswith("null", start) else text[start:at]
        else:
            value, at = value_at(text, at)
        found.append((name, value))
        match = _NEXT.match(text, at)
        if match is None:
            raise _trouble(text, at)
        at = match.end()
        if match[1] == "}":
            return found, at, False


def outer_members(text: str) -> dict[str, str | None]:
    """Names of the outermost object's members as far as the text goes, and the values that are plain strings."""
    found: dict[str, str | None] = {}
    depth, name, at = 0, "", 0
    for token in _TOKEN.finditer(text):
        sign = token[0]
        if sign in "{[":
            depth += 1
        elif sign in "}]":
            depth -= 1
            if depth <= 0:
                break
        elif sign == '"':
            # Without its partner: nor has any quote behind it one, and each would be looked for to the end.
            break
        elif depth == 1 and sign.startswith('"'):
            if BLANKS.sub("", text[at : token.start()]) == ":":
                found[name] = sign[1:-1]
            else:
                name = sign[1:-1]
                found.setdefault(name, None)
        at = token.end()
    return found


def end_of_broken(text: str, at: int, stop: int) -> tuple[int | None, int | None]:
    """Where a broken array element ends by its brackets: at the comma or bracket that follows it, else None. And the first
    bracket that may close the array, or may be one too many in an element that has others open."""
    expected: list[str] = []
    perhaps: int | None = None
    # How many of each are in there: looking through the list at every comma would take the square of the text's time.
    count = {"}": 0, "]": 0, ",": 0}
    for token in _TOKEN.finditer(text, at, stop):
        sign = token[0]
        if sign == '"':
            break
        if sign in "{[":
            expected.append("}" if sign == "{" else "]")
            count[expected[-1]] += 1
        elif count.get(sign):
            # A closing bracket closes all that was left open inside it.
            while (closed := expected.pop()) != sign:
                count[closed] -= 1
            count[sign] -= 1
        elif sign in ("]", ",") and not expected:
            return token.start(), None
        elif sign == "]" and perhaps is None:
            perhaps = token.start()
    return None, perhaps
