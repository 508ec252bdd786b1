"""Two sets of requests side by side: which met more of its objectives, per accelerator, on the same mix."""
