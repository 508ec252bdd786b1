-- Bytes, 1 kB is 1,000: Grafana's name of the unit, for columns that differ from their panel's.
SELECT 'decbytes' AS unit
