-- The pool of each sending process by its name: as the settings say, and as names commonly tell.
CREATE VIEW process_pools AS
SELECT
    resource_id,
    transform(arrayFirst(p -> p.3 = 1 AND (match(service, p.1) OR match(instance, p.1)), patterns).2, [1, 2, 3, 4], ['prefill', 'decode', 'router', 'colocated'], '') AS configured,
    transform(arrayFirst(p -> p.3 = 0 AND (match(service, p.1) OR match(instance, p.1)), patterns).2, [1, 2, 3, 4], ['prefill', 'decode', 'router', 'colocated'], '') AS guessed
FROM
(
    SELECT
        resource_id, any(toString(service)) AS service, any(instance) AS instance,
        (SELECT groupArray((pattern, role, configured)) FROM process_roles) AS patterns
    FROM resources
    GROUP BY resource_id
)
