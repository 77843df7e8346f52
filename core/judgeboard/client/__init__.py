"""The client of a Judgeboard server, for the program of an assistant. Import the names from `judgeboard`."""
