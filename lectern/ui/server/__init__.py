"""The server around the screens: addresses for uploads, downloads, page pictures and the map, and its
security."""
