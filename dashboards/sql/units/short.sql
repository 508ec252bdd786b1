-- Plain counts: Grafana's name of the unit, for columns that differ from their panel's.
SELECT 'short' AS unit
