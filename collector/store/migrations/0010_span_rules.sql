-- Which spans are read, written by the analyzer when it starts: their name, the start of it, or scope and kind.
CREATE TABLE span_rules
(
    key String,
    prefix String
)
ENGINE = Memory
