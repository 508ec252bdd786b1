"""Whether a candidate may be rolled out: observed cohorts against each other and against a receipt."""
