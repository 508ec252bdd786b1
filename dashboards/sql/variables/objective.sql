-- Names of the objectives in force.
SELECT name FROM current_objectives ORDER BY position
