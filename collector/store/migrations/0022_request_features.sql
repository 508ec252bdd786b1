-- Where each phase of the final attempt lies: nanoseconds from started_at, in the order of Phase; the least Int64 where it was not seen.
-- preempted_ns: time for which decode had the request set aside, also when it never came back.
ALTER TABLE requests
    ADD COLUMN phase_from_ns Array(Int64) CODEC(ZSTD(1)) AFTER phase_ns,
    ADD COLUMN phase_until_ns Array(Int64) CODEC(ZSTD(1)) AFTER phase_from_ns,
    ADD COLUMN preempted_ns UInt64 CODEC(ZSTD(1)) AFTER phase_until_ns
