"""Evaluations of a library on its question sets."""
