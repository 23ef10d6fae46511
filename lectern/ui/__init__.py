"""The screens: the server around them, what pages share, and their widgets."""
