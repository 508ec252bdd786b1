"""REST: parameters in, answers out. Computes nothing that is not in a view or in `analyzer.slo`."""
