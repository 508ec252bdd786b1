"""Whole minutes, counted for the long run: what became of their requests, and why those that missed did.

Dashboards, alerts and long windows read them; they outlive the requests they were counted from.
"""

from analyzer.minutes.minutes import Minutes

__all__ = ["Minutes"]
