"""Batches of a stream: sums over time, new clusters, ids that stay."""
