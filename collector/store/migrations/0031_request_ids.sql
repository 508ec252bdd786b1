-- Finds one request by any of its ids without reading the whole table.
ALTER TABLE requests
    ADD INDEX by_request_key request_key TYPE bloom_filter(0.01) GRANULARITY 1,
    ADD INDEX by_request_id request_id TYPE bloom_filter(0.01) GRANULARITY 1,
    ADD INDEX by_client_request_id client_request_id TYPE bloom_filter(0.01) GRANULARITY 1,
    ADD INDEX by_request_trace trace_id TYPE bloom_filter(0.01) GRANULARITY 1
