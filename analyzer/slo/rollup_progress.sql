-- Where counting minutes stands: the requests' version it reached, and the version it wrote last.
SELECT requests_version, version FROM rollup_progress FINAL WHERE id = 0
