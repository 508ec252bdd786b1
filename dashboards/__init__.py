"""Grafana dashboards and alert rules, generated from the product's own views and vocabulary."""
