"""Windows of reviewers: one test after the other uses them, so that what every page needs is loaded once into each."""

from judgeboard_dashboard.sign_in import own_cookie

_OPEN = []


def keep_pictures(folder):
    """Keep a picture of each page that is open in ``folder``."""
    for number, window in enumerate(_OPEN):
        for place, page in enumerate(window.pages[1:]):
            page.screenshot(path=f"{folder}/window-{number}-page-{place}.png")


class Windows:
    """Windows at one address, free or taken.

    Each keeps an empty page open: all its pages are then drawn by one process (see `browser`),
    which has compiled their scripts. A process that begins takes a second for that.
    """

    def __init__(self, browser, url):
        self.browser, self.url = browser, url
        self.kept = {}
        self.free = []

    def take(self):
        """Return a window without a page and without cookies; what pages keep on the machine else stays."""
        if self.free:
            return self.free.pop()
        window = self.browser.new_context(base_url=self.url)
        _OPEN.append(window)
        self.kept[window] = window.new_page()
        self.kept[window].goto("/healthz")
        return window

    def give_back(self, window):
        """Close its pages and forget who used it."""
        for page in window.pages:
            if page is not self.kept[window]:
                page.close()
        window.clear_cookies()
        self.free.append(window)

    def forget(self):
        """Forget what pages kept on the machine: the address has another database now."""
        for page in self.kept.values():
            page.evaluate("localStorage.clear()")

    def close(self):
        """Close all windows."""
        for window in self.kept:
            _OPEN.remove(window)
            window.close()


class Reviewers:
    """The browsers of one test, each with cookies of its own."""

    def __init__(self, windows):
        self.windows = windows
        self.taken = []

    def __call__(self, name="", *, width=1440, height=900, scheme="light"):
        """Open a browser window."""
        window = self.windows.take()
        self.taken.append(window)
        if name:
            window.add_cookies(
                [
                    {
                        "name": own_cookie("judgeboard_reviewer", self.windows.url),
                        "value": name,
                        "url": self.windows.url,
                    }
                ]
            )
        page = window.new_page()
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
        page.set_default_timeout(60_000)
        return page

    def close(self):
        """Give all windows back."""
        for window in self.taken:
            self.windows.give_back(window)
