"""The pages, one file each; app.TABS lists all pages."""
