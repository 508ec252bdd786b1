"""Scraping `/metrics` of configured or discovered workers: pages become OTLP exports and go their way."""

from collector.scrape.config import ScrapeConfig, read_scrape_config
from collector.scrape.scraper import Scraper

__all__ = ["ScrapeConfig", "Scraper", "read_scrape_config"]
