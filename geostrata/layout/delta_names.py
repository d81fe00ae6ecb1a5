"""The table properties that Delta knows, so that a misspelt one is found before anything is written."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from geostrata.errors import GeostrataError

# Of Delta 4.4. A test compares them with the jar: tests/python/lifecycle/test_properties.py.
KNOWN = (
    "delta.appendOnly",
    "delta.autoOptimize",
    "delta.autoOptimize.autoCompact",
    "delta.autoOptimize.optimizeWrite",
    "delta.castIcebergTimeType",
    "delta.checkpoint.writeStatsAsJson",
    "delta.checkpoint.writeStatsAsStruct",
    "delta.checkpointInterval",
    "delta.checkpointPolicy",
    "delta.checkpointRetentionDuration",
    "delta.columnMapping.maxColumnId",
    "delta.columnMapping.mode",
    "delta.compatibility.symlinkFormatManifest.enabled",
    "delta.coordinatedCommits.commitCoordinator-preview",
    "delta.coordinatedCommits.commitCoordinatorConf-preview",
    "delta.coordinatedCommits.tableConf-preview",
    "delta.dataSkippingNumIndexedCols",
    "delta.dataSkippingStatsColumns",
    "delta.dataSkippingStringPrefixLength",
    "delta.deletedFileRetentionDuration",
    "delta.dropFeatureTruncateHistory.retentionDuration",
    "delta.enableChangeDataCapture",
    "delta.enableChangeDataFeed",
    "delta.enableDeletionVectors",
    "delta.enableExpiredLogCleanup",
    "delta.enableFullRetentionRollback",
    "delta.enableIcebergCompatV1",
    "delta.enableIcebergCompatV2",
    "delta.enableIcebergCompatV3",
    "delta.enableInCommitTimestamps",
    "delta.enableMaterializePartitionColumnsFeature",
    "delta.enableRowTracking",
    "delta.enableTypeWidening",
    "delta.enableVariantShredding",
    "delta.ignoreIcebergBucketPartition",
    "delta.ignoreProtocolDefaults",
    "delta.inCommitTimestampEnablementTimestamp",
    "delta.inCommitTimestampEnablementVersion",
    "delta.isolationLevel",
    "delta.logRetentionDuration",
    "delta.minReaderVersion",
    "delta.minWriterVersion",
    "delta.parquet.format.version",
    "delta.randomPrefixLength",
    "delta.randomizeFilePrefixes",
    "delta.redirectReaderWriter-preview",
    "delta.redirectWriterOnly-preview",
    "delta.requireCheckpointProtectionBeforeVersion",
    "delta.rowTrackingSuspended",
    "delta.sampleRetentionDuration",
    "delta.setTransactionRetentionDuration",
    "delta.universalFormat.enabledFormats",
    "delta.universalFormat.iceberg.atomicConversion.supported",
    "delta.writePartitionColumnsToParquet",
)
# Names that the guides of a vendor's platform give, and what does the same here.
_ELSEWHERE = {
    "delta.targetFileSize": "layout: {target_file_size: ...}",
    "delta.tuneFileSizesForRewrites": "layout: {target_file_size: ...}",
}
# Protocol, not properties: a table shows them in another place, so that they are for its creation only.
_OF_THE_PROTOCOL = ("delta.feature.", "delta.minReaderVersion", "delta.minWriterVersion")


def check(model: str, names: Iterable[str]) -> None:
    for name in names:
        if name in KNOWN or not name.lower().startswith("delta.") or name.startswith("delta.feature."):
            continue
        if name in _ELSEWHERE:
            raise GeostrataError(
                f"{model}: open-source Delta has no table property {name}: use {_ELSEWHERE[name]}"
            )
        if name.startswith("delta.constraints."):
            raise GeostrataError(
                f"{model}: {name} is no property to declare: write a check constraint in the model's contract"
            )
        raise GeostrataError(f"{model}: Delta has no table property {name}: did you mean {nearest(name)}?")


def nearest(name: str) -> str:
    by_lower = {known.lower(): known for known in KNOWN}
    return by_lower[difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=0)[0]]


def is_reconciled(name: str) -> bool:
    return not name.startswith(_OF_THE_PROTOCOL)
