"""What pages draw: each file one part of a screen, with its script and style beside it where it has them."""
