"""The pages, one file each; app.PAGES lists all pages."""
