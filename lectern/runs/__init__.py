"""Answers in progress, their cost, and replays."""
