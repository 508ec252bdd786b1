-- Bytes a second: Grafana's name of the unit, for columns that differ from their panel's.
SELECT 'Bps' AS unit
