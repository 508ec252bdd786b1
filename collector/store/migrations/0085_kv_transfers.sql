-- KV hand-offs for dashboards, one row each. Times are null when not seen, numbers when not reported; 1 GB is 1e9 bytes.
-- transfer_seconds: from asking to moved; gb_per_second: bytes over it; post_share: part of it spent posting descriptors.
CREATE VIEW kv_transfers AS
SELECT
    lower(hex(request_key)) AS key, transfer_id, producer, consumer, connector, transport, status, attempt,
    fromUnixTimestamp64Nano(at_ns, 'UTC') AS at,
    if(published_ns = 0, NULL, fromUnixTimestamp64Nano(published_ns, 'UTC')) AS published_at,
    if(lease_ns = 0, NULL, fromUnixTimestamp64Nano(lease_ns, 'UTC')) AS lease_until,
    if(asked_ns = 0, NULL, fromUnixTimestamp64Nano(asked_ns, 'UTC')) AS asked_at,
    if(moved_ns = 0, NULL, fromUnixTimestamp64Nano(moved_ns, 'UTC')) AS moved_at,
    if(imported_ns = 0, NULL, fromUnixTimestamp64Nano(imported_ns, 'UTC')) AS imported_at,
    if(empty(releases), NULL, fromUnixTimestamp64Nano(arrayMax(releases.ns), 'UTC')) AS released_at,
    releases.reason AS release_reasons,
    if(asked_ns = 0 OR moved_ns = 0 OR moved_ns < asked_ns, NULL, (moved_ns - asked_ns) / 1e9) AS transfer_seconds,
    bytes, tokens, descriptors, already_held_tokens,
    bytes / 1e9 / nullIf(transfer_seconds, 0) AS gb_per_second,
    post_ns / 1e9 AS post_seconds,
    post_seconds / nullIf(transfer_seconds, 0) AS post_share,
    wait_ns / 1e9 AS wait_seconds,
    link_gb_s AS link_gb_per_second,
    reserved_bytes, reserved_tokens
FROM transfers FINAL
WHERE tombstone = 0
SETTINGS do_not_merge_across_partitions_select_final = 1
