-- Prompt lengths in tokens; 1K is 1,024.
SELECT arrayJoin(['0-1K', '1-4K', '4-16K', '16K+']) AS input_bucket
