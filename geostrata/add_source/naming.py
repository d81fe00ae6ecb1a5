"""Names: of the entity, of its key, and of columns in SQL and in silver."""

from __future__ import annotations

import re
import unicodedata

from dbt_sedona_text import identifier
from geostrata.errors import GeostrataError
from geostrata.sql_names import RESERVED, is_plain

_ENTITY = re.compile(r"[a-z][a-z0-9_]*")
_LONGEST_ENTITY, _LONGEST_COLUMN = 60, 60

# Words that lint does not want as an alias, of those that people name columns with.
_POOR_ALIASES = RESERVED | frozenset(
    """
    action class comment condition count current data date datetime day description direction domain end first format hour index
    key label language last left length level limit list local location map match max min minute mode month name names new next
    no number object of old option owner parameter path percent plan position public range rank read real record ref release
    result right role row rows rule schema second section sequence session set share size source space start state statement
    status string style system target temp text time timestamp title top trigger type update usage valid value values version
    view week window work year zone
    """.split()  # noqa: SIM905  # a list literal would be a word a line
)
# A CTE of models/ops/expectation_results.sql, which stands beside those named after entities.
_OTHER_CTES = frozenset({"counted"})
# What YAML does not read as text.
_NO_TEXT = frozenset({"true", "false", "yes", "no", "on", "off", "null"})


def check_entity(name: str) -> None:
    if not _ENTITY.fullmatch(name) or name.endswith("_") or "__" in name or len(name) > _LONGEST_ENTITY:
        raise GeostrataError(
            f"--name must be lower-case letters, digits and single underscores, such as bus_stops; got {name!r}"
        )
    if name in RESERVED | _OTHER_CTES | _NO_TEXT:
        raise GeostrataError(f"--name {name} is a word that the SQL or YAML around it uses; choose another")


def singular(name: str) -> str:
    """tree of trees, facility of facilities; what is no plural stays as it is."""
    if name.endswith(("series", "species", "ss", "us", "is")) or not name.endswith("s"):
        return name
    if name.endswith("ies") and len(name) > 4:
        return f"{name[:-3]}y"
    if re.search(r"(?:ss|sh|ch|x|zz)es$|(?<![aeo])uses$", name):
        return name[:-2]
    return name[:-1] or name


def in_words(name: str) -> str:
    return name.replace("_", " ")


def snake_case(name: str) -> str:
    """street_name of `Street Name`, streetName or STREET_NAME; empty if nothing is left."""
    plain = unicodedata.normalize("NFKD", name.replace("ß", "ss"))
    plain = plain.encode("ascii", "ignore").decode()
    plain = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", plain)
    plain = re.sub(r"[^a-z0-9]+", "_", plain.lower()).strip("_")[:_LONGEST_COLUMN].strip("_")
    return f"n_{plain}" if plain[:1].isdigit() else plain


def in_sql(column: str) -> str:
    """A landed column as SQL names it. Spark does not tell cases apart, so a plain name is written small."""
    if is_plain(column) and column.lower() not in RESERVED:
        return column.lower()
    return identifier(column)


def is_kept(column: str) -> bool:
    """Whether silver can call it as the files do, but for its case."""
    return in_sql(column) == snake_case(column) or in_sql(column) == column


def new_name(column: str, taken: set[str], prefix: str, position: int) -> str:
    """A plain name that nothing else has. One that is taken or a poor alias gets the entity's name before it."""
    name = in_sql(column) if is_kept(column) else snake_case(column) or f"column_{position}"
    if name in taken or (name != in_sql(column) and name in _POOR_ALIASES) or name.startswith(("`", "_")):
        name = f"{prefix}_{snake_case(column) or f'column_{position}'}"
    free, number = name, 2
    while free in taken:
        free, number = f"{name}_{number}", number + 1
    return free
