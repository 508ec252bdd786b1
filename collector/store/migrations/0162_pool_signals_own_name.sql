-- The convention's pool signals, one row per point: SELECT … FROM pool_signals(from_ns = …, to_ns = …, wanted = ['queue_depth']), [] for all.
-- value: a level as it stands, or what a counter grew by since its point before (over `seconds`); null when that can't be known.
-- A counter that fell, or says it started anew, counts from zero: never a negative increase. The point before is looked for up to ten minutes back.
-- A worker named by a label: 'hex:NAME' reads it as a hexadecimal number (requests name it in decimal), a URL is its host and port.
-- Else it is who `pd.worker` says (a page that holds its worker's name as requests know it), else the sender.
-- The pool is what the sender says, else the settings' role of its process, else the metric's own label, else its name, else who exports such a metric.
CREATE OR REPLACE VIEW pool_signals AS
SELECT
    time_ns, toDateTime64(time_ns / 1e9, 3, 'UTC') AS at, pool, worker, model, signal, part,
    multiIf(NOT counter, number, as_rate, increase / seconds, increase) AS value,
    if(counter AND NOT as_rate, increase / seconds, NULL) AS rate,
    if(counter, seconds, NULL) AS seconds,
    counter AND restarted AS reset,
    metric, dialect, resource_id, series, moves
FROM
(
    SELECT
        *,
        number_before > number OR (start_ns > time_before AND start_ns < time_ns) AS restarted_here,
        points_before > 0 AND temporality != 1 AND restarted_here AS restarted,
        multiIf(
            temporality = 1, number,
            points_before = 0, if(start_ns > {from_ns:Int64} - 600000000000 AND start_ns < time_ns, number, NULL),
            restarted_here, number,
            number - number_before) AS increase,
        nullIf(multiIf(
            temporality = 1 AND start_ns > 0, time_ns - start_ns,
            points_before > 0, time_ns - time_before,
            start_ns > 0, time_ns - start_ns,
            0), 0) / 1e9 AS seconds
    FROM
    (
        SELECT
            *,
            count() OVER just_before AS points_before,
            any(time_ns) OVER just_before AS time_before,
            any(number) OVER just_before AS number_before
        FROM
        (
            SELECT
                s.time_ns AS time_ns, s.start_ns AS start_ns, s.temporality AS temporality, s.series AS series, s.resource_id AS resource_id,
                s.metric AS metric, r.dialect AS dialect, r.signal AS signal, r.counter AS counter, r.as_rate AS as_rate, r.rank AS rank, r.moves AS moves,
                r.scale * multiIf(r.reads = 'sum', s.sum, r.reads = 'count', toFloat64(s.count), s.value)
                    * if(empty(r.value_labels), 1, arrayProduct(arrayMap(l -> ifNull(toFloat64OrNull(s.labels[l]), nan), r.value_labels))) AS number,
                trim(concat(s.labels[r.part_label], ' ', r.part)) AS part,
                arrayFirst(w -> w != '', arrayPushBack(arrayMap(l -> if(startsWith(l, 'hex:'),
                    if(match(s.labels[substring(l, 5)], '^[0-9a-fA-F]{1,16}$'), toString(reinterpretAsUInt64(reverse(unhex(leftPad(s.labels[substring(l, 5)], 16, '0'))))), ''),
                    replaceRegexpOne(s.labels[l], '^https?://', '')), r.worker_labels), if(s.labels['pd.worker'] != '', s.labels['pd.worker'], toString(s.worker)))) AS worker,
                if(r.model_label != '', s.labels[r.model_label], toString(s.model)) AS model,
                arrayFirst(p -> p != '', [
                    if(s.pool IN ('router', 'prefill', 'decode', 'colocated'), toString(s.pool), ''),
                    process.configured,
                    transform(s.labels[r.pool_label], ['prefill', 'decode', 'router', 'colocated', 'unified', 'backend', 'frontend'],
                        ['prefill', 'decode', 'router', 'colocated', 'colocated', 'decode', 'router'], ''),
                    process.guessed,
                    toString(r.pool)]) AS pool
            FROM
            (
                SELECT *
                FROM signals FINAL
                WHERE metric IN (SELECT metric FROM signal_rules WHERE empty({wanted:Array(String)}) OR has({wanted:Array(String)}, signal))
                    AND time_ns > {from_ns:Int64} - 600000000000 AND time_ns <= {to_ns:Int64}
            ) AS s
            INNER JOIN signal_rules AS r ON s.metric = r.metric
            LEFT JOIN process_pools AS process ON s.resource_id = process.resource_id
            WHERE (empty({wanted:Array(String)}) OR has({wanted:Array(String)}, r.signal))
                AND if(r.reads = 'value', s.kind IN ('gauge', 'sum'), s.kind IN ('histogram', 'summary'))
                AND (r.counter OR s.temporality != 1)
                AND arrayAll(c -> multiIf(
                    c.2 = '*', s.labels[c.1] != '',
                    startsWith(c.2, '!'), s.labels[c.1] != substring(c.2, 2),
                    endsWith(c.2, '*'), startsWith(s.labels[c.1], substring(c.2, 1, length(c.2) - 1)),
                    s.labels[c.1] = c.2), r.conditions)
                AND arrayAll(l -> s.labels[l] IN ('', '0'), r.repeated_by)
                AND isFinite(number)
        )
        WINDOW just_before AS (PARTITION BY series, signal, part ORDER BY time_ns ROWS BETWEEN 1 PRECEDING AND 1 PRECEDING)
        QUALIFY rank = min(rank) OVER (PARTITION BY worker, signal, part)
    )
)
WHERE time_ns > {from_ns:Int64}
