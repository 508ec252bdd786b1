-- Fractions, shown as per cent: Grafana's name of the unit, for columns that differ from their panel's.
SELECT 'percentunit' AS unit
