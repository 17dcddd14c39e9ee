"""Families of actions: one file each, and a registry."""
