"""Answers as documents to hand on: CSV, Markdown and HTML. Computes nothing."""
