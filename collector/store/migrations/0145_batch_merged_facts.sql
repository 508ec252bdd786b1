-- Facts as names and values, in the order in which they count; `facts` is of earlier releases.
ALTER TABLE batch_merged
    ADD COLUMN IF NOT EXISTS fact_names Array(String),
    ADD COLUMN IF NOT EXISTS fact_values Array(String)
