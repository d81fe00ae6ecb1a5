"""What a task finds out about a file before anything of it is loaded."""

from __future__ import annotations

from dataclasses import dataclass, field

from geostrata.landing.storage import ENVIRONMENT, Storage, local_copy
from geostrata.readers import HalfWritten, LandedFile, ReaderError, SourceSpec, check, inspect
from geostrata.readers.rows import NameMatch

SOUND, LEFT, REFUSED = "sound", "left", "refused"


@dataclass(frozen=True)
class Outcome:
    kind: str
    reason: str | None = None
    # Columns that the source does not declare, with their types, where the policy lets them in.
    new_columns: dict[str, str] = field(default_factory=dict)


def outcome_of(file: LandedFile, spec: SourceSpec, storage: Storage = ENVIRONMENT) -> Outcome:
    try:
        with local_copy(file, storage) as local:
            check(local, spec)
            return Outcome(SOUND, new_columns=_new_columns(local, spec))
    except HalfWritten as trouble:
        return Outcome(LEFT, trouble.reason)
    except ReaderError as trouble:
        return Outcome(REFUSED, trouble.reason)
    except Exception as trouble:  # one file that a library chokes on must not stop the others
        return Outcome(REFUSED, unforeseen(trouble))


def _new_columns(file: LandedFile, spec: SourceSpec) -> dict[str, str]:
    """By a bounded look: a field that only a late record has is found in `_rescued`."""
    if spec.schema_policy != "additive" or not file.size:
        return {}
    known = NameMatch([*spec.columns, spec.geometry_column()])
    found = inspect([file.path], spec.options).columns
    return {name: kind for name, kind in found.items() if known.find(name) is None}


def unforeseen(trouble: Exception) -> str:
    words = " ".join(str(trouble).split())[:200]
    return f"it can't be read ({type(trouble).__name__}: {words}); deliver it again"
