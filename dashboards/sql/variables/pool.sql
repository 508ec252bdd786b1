-- Roles that pools may have.
SELECT arrayJoin(['prefill', 'decode', 'colocated', 'router']) AS pool
