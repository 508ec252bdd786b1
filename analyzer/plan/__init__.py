"""What-if planning: KV cost, sizing, step-level simulation, receipts. All its output is labelled modelled."""
