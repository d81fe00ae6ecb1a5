"""What a task finds out about a file before anything of it is loaded."""

from __future__ import annotations

from dataclasses import dataclass, field

from geostrata.landing.deliveries import fingerprint
from geostrata.landing.reader_process import call
from geostrata.landing.storage import ENVIRONMENT, Storage, is_bucket, local_copy, touch
from geostrata.readers import HalfWritten, LandedFile, ReaderError, SourceSpec, check, inspect
from geostrata.readers.errors import Passing, in_words, is_passing
from geostrata.readers.rows import NameMatch

SOUND, LEFT, REFUSED = "sound", "left", "refused"
EMPTY = "it is empty"


@dataclass(frozen=True)
class Outcome:
    kind: str
    reason: str | None = None
    # Columns that the source does not declare, with their types, where the policy lets them in.
    new_columns: dict[str, str] = field(default_factory=dict)
    fingerprint: str | None = None


def outcome_of(file: LandedFile, spec: SourceSpec, storage: Storage = ENVIRONMENT) -> Outcome:
    content = None
    try:
        # An object in a bucket is all there or not at all, and looking at it would mean to fetch it twice.
        if is_bucket(file.path) and spec.schema_policy != "additive":
            touch(file, storage)
            return Outcome(SOUND)
        if not file.size:
            return Outcome(REFUSED, EMPTY)
        with local_copy(file, storage) as local:
            # It goes through the whole file: what the disk can't give now shows before anything is loaded.
            content = fingerprint(local)
            new_columns = call(local.path, local.size, spec.limits, _checked, local, spec)
            return Outcome(SOUND, None, new_columns, content)
    except (HalfWritten, Passing) as trouble:
        return Outcome(LEFT, trouble.reason)
    except ReaderError as trouble:
        return Outcome(REFUSED, trouble.reason, fingerprint=content)
    except Exception as trouble:  # one file that a library chokes on must not stop the others
        if is_passing(trouble):
            return Outcome(LEFT, f"it can't be read now ({in_words(trouble)}); left for the next run")
        return Outcome(REFUSED, unforeseen(trouble), fingerprint=content)


def _checked(file: LandedFile, spec: SourceSpec) -> dict[str, str]:
    check(file, spec)
    return _new_columns(file, spec)


def _new_columns(file: LandedFile, spec: SourceSpec) -> dict[str, str]:
    """By a bounded look: a field that only a late record has is found in `_rescued`."""
    if spec.schema_policy != "additive" or not file.size:
        return {}
    known = NameMatch([*spec.columns, spec.geometry_column()])
    found = inspect([file.path], spec.options).columns
    return {name: kind for name, kind in found.items() if known.find(name) is None}


def unforeseen(trouble: Exception) -> str:
    return f"it can't be read ({in_words(trouble)}); deliver it again"
