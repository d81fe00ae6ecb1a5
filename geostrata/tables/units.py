"""Sizes, durations and times of day as people write them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*(b|kb|mb|gb|tb)?", re.IGNORECASE)
# As Spark counts: 64mb is 64 * 1024 * 1024.
_UNITS = {"b": 1, "kb": 1 << 10, "mb": 1 << 20, "gb": 1 << 30, "tb": 1 << 40}
_DURATION = re.compile(r"(?:interval\s+)?(\d+(?:\.\d+)?)\s*(hour|day|week)s?", re.IGNORECASE)
_WINDOW = re.compile(r"(\d\d):(\d\d)\s*-\s*(\d\d):(\d\d)")


def parse_size(text: object) -> int:
    """Bytes of '64mb' or 67108864."""
    match = _SIZE.fullmatch(str(text).strip())
    if not match:
        raise ValueError(f"'{text}' is no size: write it as 64mb, 1gb or a number of bytes")
    return int(float(match[1]) * _UNITS[(match[2] or "b").lower()])


def parse_duration(text: object) -> timedelta:
    """Of '14 days', '12 hours', or Delta's own 'interval 14 days'."""
    match = _DURATION.fullmatch(str(text).strip())
    if not match:
        raise ValueError(f"'{text}' is no duration: write it as '14 days' or '12 hours'")
    return timedelta(**{f"{match[2].lower()}s": float(match[1])})


def days(duration: timedelta) -> str:
    count = duration / timedelta(days=1)
    if count < 1:
        return f"{duration / timedelta(hours=1):g} hours"
    return "1 day" if count == 1 else f"{count:g} days"


@dataclass(frozen=True)
class Window:
    """Hours of a day, UTC, in which maintenance may run. It may reach past midnight."""

    begin: time
    end: time

    def __str__(self) -> str:
        return f"{self.begin:%H:%M}-{self.end:%H:%M} UTC"

    def is_open(self, now: datetime) -> bool:
        at = now.astimezone(UTC).time()
        if self.begin <= self.end:
            return self.begin <= at < self.end
        return at >= self.begin or at < self.end

    def closes(self, now: datetime) -> datetime:
        """The end of the window that is open now."""
        today = now.astimezone(UTC)
        end = today.replace(hour=self.end.hour, minute=self.end.minute, second=0, microsecond=0)
        return end if end > today else end + timedelta(days=1)


def parse_window(text: object) -> Window:
    match = _WINDOW.fullmatch(str(text).strip())
    try:
        if match:
            window = Window(time(int(match[1]), int(match[2])), time(int(match[3]), int(match[4])))
            if window.begin != window.end:
                return window
    except ValueError:
        pass
    raise ValueError(f"'{text}' is no window: write it as '22:00-05:00', in UTC")
