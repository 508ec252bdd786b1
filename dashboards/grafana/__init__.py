"""A thin typed layer on grafanalib: what it lacks, and its JSON brought to Grafana's current schema."""
