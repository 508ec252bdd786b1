"""pdscope's analyzer: rebuilds requests, says why objectives were missed, and serves the answers."""
