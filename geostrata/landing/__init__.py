"""Landing: which files of a source are new, and their rows as a Spark relation.

The list is made on the driver; files are looked at and read by Spark tasks, one file at a time, in bounded memory.
"""

from geostrata.landing.declaration import Declaration
from geostrata.landing.deliveries import Delivery, Known
from geostrata.landing.listing import is_of, list_files, refuse_shared_files, skipped_message
from geostrata.landing.planning import Plan, plan
from geostrata.landing.rows import landed_rows
from geostrata.landing.storage import Storage

__all__ = [
    "Declaration",
    "Delivery",
    "Known",
    "Plan",
    "Storage",
    "is_of",
    "landed_rows",
    "list_files",
    "plan",
    "refuse_shared_files",
    "skipped_message",
]
