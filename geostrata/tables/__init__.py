"""The life of the warehouse's tables, read from their Delta logs: no Spark."""
