-- Attribute names whose values hold prompt or completion text or name an end user; written at start from the settings.
CREATE TABLE private_attributes (key String) ENGINE = Set
