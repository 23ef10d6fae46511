"""Data sets run through the application's own pipeline, and what comes of it in figures: `lectern eval`."""
