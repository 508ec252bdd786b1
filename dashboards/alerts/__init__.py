"""Alert rules for Prometheus, and for Grafana where there is none, from the objectives of `slo.yaml`."""
