-- Names of the objectives in force as a list of literals.
SELECT if(count() = 0, '''default''', substring(toString(groupArray(name)), 2, length(toString(groupArray(name))) - 2)) AS names FROM (SELECT name FROM current_objectives ORDER BY position)
