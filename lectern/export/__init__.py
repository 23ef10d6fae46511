"""What leaves the library as a file: transcripts, run cards, backups."""
