"""The commands `pdscope dashboards`, `pdscope rules` and `pdscope alert-webhook`; called by name only."""
