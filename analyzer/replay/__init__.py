"""Replaying recorded arrivals against an OpenAI-compatible endpoint, and saying what the client measured."""
