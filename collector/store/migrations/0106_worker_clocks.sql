-- By how much each worker's clock ran ahead of its router's, per five minutes, in seconds: what was subtracted from its spans' times.
-- low and high bound the offset; null where that side is not bounded. contradictory: no offset fits, nothing was subtracted.
CREATE VIEW worker_clocks AS
SELECT
    slice, worker, offset_ns / 1e9 AS offset_seconds,
    if(low_ns = -9223372036854775808, NULL, low_ns / 1e9) AS low_seconds, if(high_ns = 9223372036854775807, NULL, high_ns / 1e9) AS high_seconds,
    contradictory = 1 AS is_contradictory
FROM clock_offsets FINAL
