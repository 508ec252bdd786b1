-- How far requests are named (id 0) and each share of them is rebuilt (id 1 and on).
SELECT id, max(ingest_sequence) AS reached
FROM assembly_progress
GROUP BY id
