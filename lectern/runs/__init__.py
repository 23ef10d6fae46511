"""Answers being given, what they cost, and replays."""
