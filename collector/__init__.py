"""pdscope's collector: receives telemetry, keeps it in ClickHouse, and knows each serving system's
dialect.
"""
