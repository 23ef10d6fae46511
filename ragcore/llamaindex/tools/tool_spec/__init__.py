"""Classes whose methods are tools."""
