"""The inner monologue: pure functions on values. No I/O, no clock, no model handle."""
