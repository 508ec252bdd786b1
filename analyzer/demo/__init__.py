"""The demonstration: real captures of real deployments, streamed live into a running pdscope."""
