"""Receives Alertmanager's webhook and says why the alert fires."""
