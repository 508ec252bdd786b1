-- What twelve workers export every five seconds: queue, running, KV used, preemptions and tokens.
INSERT INTO signals (metric, series, time_ns, start_ns, resource_id, worker, pool, model, kind, temporality, monotonic, value, ingest_sequence)
SELECT
    metric, cityHash64(metric, worker), ({start:UInt32} + 5 * step) * 1000000000, {start:UInt32} * 1000000000, cityHash64(worker), worker, pool, 'llama-70b',
    if(endsWith(metric, '_total'), 'sum', 'gauge'), if(endsWith(metric, '_total'), 2, 0), endsWith(metric, '_total'),
    multiIf(endsWith(metric, '_perc'), (sipHash64(step, worker) % 100) / 100, endsWith(metric, '_total'), step * 1000, sipHash64(step, worker) % 40), 1
FROM
(
    SELECT number AS step, arrayJoin(arrayConcat(arrayMap(i -> ('prefill', concat('prefill-', toString(i))), range(4)), arrayMap(i -> ('decode', concat('decode-', toString(i))), range(8)))) AS who,
        who.1 AS pool, who.2 AS worker,
        arrayJoin(['vllm:num_requests_waiting', 'vllm:num_requests_running', 'vllm:kv_cache_usage_perc', 'vllm:num_preemptions_total', 'vllm:generation_tokens_total', 'vllm:prompt_tokens_total']) AS metric
    FROM numbers(intDiv({seconds:UInt32}, 5))
)
