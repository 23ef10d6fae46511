"""Word, Excel, PowerPoint, OpenDocument, EPUB and RTF."""
