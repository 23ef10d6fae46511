"""The parts of pages. Each file has one part, with its script and style if it has any."""
