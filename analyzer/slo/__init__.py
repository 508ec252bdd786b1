"""Objectives, and how far requests met them. Reads judged requests; knows nothing of servers."""
