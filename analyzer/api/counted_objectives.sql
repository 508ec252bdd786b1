-- Objectives by which the minutes of a window were counted, of one tenant's requests or of all.
SELECT DISTINCT objective, ttft_limit_seconds AS ttft, tpot_limit_seconds AS tpot
FROM objective_minutes
WHERE minute >= toDateTime({from_s:UInt32}, 'UTC') AND minute <= toDateTime({to_s:UInt32}, 'UTC')
    AND ({tenant:String} = '' OR tenant = {tenant:String})
