"""Evaluations of a library on its question sets, and of data sets from the terminal."""
