"""The page served at `/`: static assets that draw what REST answers; no number is computed here."""

from analyzer.web.serve import mount

__all__ = ["mount"]
