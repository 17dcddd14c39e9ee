"""Measuring with the real pipeline."""
