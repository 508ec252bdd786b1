-- What assembly made of the spans so far.
SELECT
    system,
    count() AS requests,
    countIf(outcome = '') AS without_outcome,
    countIf(isNull(ttft_ns)) AS without_ttft,
    countIf(r.late_spans > 0) AS with_late_spans,
    sum(r.late_spans) AS late_spans,
    sum(r.duplicate_spans) AS duplicate_spans,
    max(version) AS newest_sequence
FROM requests AS r FINAL
WHERE tombstone = 0
GROUP BY system
ORDER BY requests DESC, system
SETTINGS do_not_merge_across_partitions_select_final = 1
