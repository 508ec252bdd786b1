"""What requests missed their objective for. A verdict abstains when the telemetry cannot decide."""
