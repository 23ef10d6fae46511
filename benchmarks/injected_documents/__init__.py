"""Documents that give a model orders, and whether its answers follow them."""
