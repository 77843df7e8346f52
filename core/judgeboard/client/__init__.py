"""The client of a Judgeboard server, for the program of an assistant; its names are imported from `judgeboard`."""
