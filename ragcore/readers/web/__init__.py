"""HTML, XML and downloads."""
